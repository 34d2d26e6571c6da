"""Is the sampler still in use? Trainers rebuild loaders; this stops a run whose sampler was silently replaced."""

from collections.abc import Iterator
from typing import Any

from lopsided.core.errors import InputError
from lopsided.torch.remedies.oversampling_sampler import OversamplingSampler

# where loaders, batch samplers and wrappers keep what they draw indices from
_INNER = ("sampler", "batch_sampler", "_sampler", "base_dataloader", "base_loader")


def samplers_inside(loader: Any) -> Iterator[Any]:
    """The loader's samplers, batch samplers and those inside their wrappers, outermost first."""
    seen, waiting = set(), [loader]
    while waiting:
        holder = waiting.pop(0)
        if holder is None or id(holder) in seen:
            continue
        seen.add(id(holder))
        if holder is not loader:
            yield holder
        waiting += [getattr(holder, name, None) for name in _INNER]
        wrapped = getattr(holder, "dataset", None)  # Lightning keeps the sampler it wraps in the wrapper's data set
        waiting.append(getattr(wrapped, "_sampler", None))


def check_loader(loader: Any) -> OversamplingSampler:
    """The OversamplingSampler that the loader draws from, with as many labels as the data set has examples.

    Anything else raises the sentence that says what the loader draws from instead.
    """
    inside = list(samplers_inside(loader))
    ours = [sampler for sampler in inside if isinstance(sampler, OversamplingSampler)]
    if not ours:
        names = [type(sampler).__name__ for sampler in inside if type(sampler).__name__ != "BatchSampler"]
        raise InputError(
            "a loader that draws from an OversamplingSampler",
            f"one that draws from {' and '.join(dict.fromkeys(names)) or 'no sampler'}",
            "the trainer replaced it: in Lightning leave overfit_batches off; with Hugging Face override "
            "_get_train_sampler",
        )
    examples = len(loader.dataset) if hasattr(loader, "dataset") and hasattr(loader.dataset, "__len__") else None
    if examples is not None and examples != ours[0].examples:
        raise InputError(
            f"a sampler for the loader's {examples} examples",
            f"one for {ours[0].examples}",
            "make it from the labels of that data set (of the Subset, not of its parent)",
        )
    return ours[0]
