"""A PyTorch sampler that draws small classes more often: reproducible from (seed, epoch), and correct under DDP.

Each example of a class with rate w comes floor(w) times an epoch, a random share of them once more (see
`remedies.resampling`). All processes draw the same indices of the epoch; process r of W takes every W-th from the r-th
on. If W does not divide them, the first ones are repeated to fill up (at most W - 1), or with `drop_last` the rest is
left out; without that the shards are disjoint and together the whole epoch.

It is a `DistributedSampler`, because trainers do not wrap those: Lightning (`use_distributed_sampler=True`) would wrap
any other sampler and shard it a second time. Rank and world size are read when an epoch begins, so the sampler may be
made before the process group is. A wrapper that would shard again raises an error, and `check_loader` stops a run whose
sampler a trainer silently replaced.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler

from lopsided.core.errors import InputError
from lopsided.core.seeds import check_seed
from lopsided.core.validation import IntArray, check_count
from lopsided.remedies.rates import Rate, Rates, rates_for
from lopsided.remedies.recipe import Recipe
from lopsided.remedies.resampling import resampling_plan
from lopsided.torch.processes import process_group
from lopsided.torch.remedies.label_lookup import dataset_labels, plain_array

# Classes that give every process a share of what an inner sampler yields: Lightning and Catalyst, Ignite, Accelerate.
_SHARDING_WRAPPERS = frozenset({"DistributedSamplerWrapper", "DistributedProxySampler", "BatchSamplerShard"})
# where loaders, batch samplers and wrappers keep what they draw indices from
_INNER = ("sampler", "batch_sampler", "_sampler", "base_dataloader", "base_loader")
_AT_ONCE = 65_536  # indices turned into Python numbers at a time


class OversamplingSampler(DistributedSampler):  # type: ignore[misc]
    """Draw the indices of an epoch with small classes (or cells of class and group) oversampled.

    Parameters
    ----------
    labels : array or data set
        One label per example, or a data set in which they can be found (also a Subset or ConcatDataset).
    groups : array, optional
        One group per example, to oversample cells of class and group.
    rate : "sqrt", "balanced", "forecast", float or dict, default "sqrt"
        "sqrt" repeats each class up to sqrt(its size x the largest); a number is the copies of the minority; a dict has
        a number for each label; "forecast" is the default with a `recipe`. On a long-tailed Fashion-MNIST, the square
        root had a balanced accuracy of 0.690 over three seeds, full balance 0.688 with epochs several times as long,
        the forecast rate 0.674, and no oversampling 0.685.
    recipe : Recipe or dict, optional
        Settings of the forecast, such as {"weight_decay": 5e-4, "step": 0.1, "momentum": 0.9, "batch_size": 128}.
    length : int, optional
        Number of indices per epoch over all processes, in the proportions of the rates.
    seed : int, default 0
        The random seed, the same on all processes.
    shuffle : bool, default True
        Without it, the indices of an epoch come class by class.
    drop_last : bool, default False
        Drop the indices that do not divide evenly among processes, instead of repeating the first ones.
    num_replicas : int, optional
        Number of processes. By default, that of torch.distributed when an epoch begins, else 1.
    rank : int, optional
        Rank of this process. By default, that of torch.distributed when an epoch begins, else 0.
    shard : bool, default True
        False if something else divides the batches among processes (Accelerate, the Hugging Face Trainer).

    `rates` says which rates were chosen and why. In one process every pass is a new epoch; with several, call
    `set_epoch(epoch)` before each, as for any DistributedSampler (Lightning and Accelerate do it).
    """

    def __init__(
        self,
        labels: Any,
        groups: Any = None,
        rate: Rate | None = None,
        *,
        recipe: Recipe | Mapping[str, Any] | None = None,
        length: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        num_replicas: int | None = None,
        rank: int | None = None,
        shard: bool = True,
    ) -> None:
        found = dataset_labels(labels) if isinstance(labels, Dataset) else plain_array(labels)
        rate = ("sqrt" if recipe is None else "forecast") if rate is None else rate
        self.rates: Rates
        self.rates, cells = rates_for(found, None if groups is None else plain_array(groups), rate, recipe=recipe)
        wanted = None if length is None else check_count(length, "the length of an epoch")
        self._plan = resampling_plan(cells.codes, self.rates.rates, length=wanted)
        if wanted is not None:  # losses adjust by what an epoch shows
            shown = self._plan.targets / self.rates.counts
            why = f"{self.rates.why} Scaled to an epoch of {wanted:,} indices."
            self.rates = replace(self.rates, rates=shown, why=why)
        self.examples = int(cells.codes.size)
        self.seed, self.shuffle, self.drop_last, self.shard = check_seed(seed), shuffle, drop_last, shard
        if (num_replicas is None) != (rank is None):
            raise InputError("num_replicas and rank together", "one of them", "give both or neither")
        self._place: tuple[int, int] | None = None  # W and r where they were told
        if num_replicas is not None:
            self._place = check_count(num_replicas, "num_replicas"), check_count(rank, "rank", at_least=0)
            if self._place[1] >= self._place[0]:
                raise InputError(f"a rank below {num_replicas}", rank, "ranks start at 0")
        self.epoch = 0
        self._passes = 0  # since the epoch was set

    @property
    def num_replicas(self) -> int:
        """W, the number of processes."""
        return (self._place or process_group())[0] if self.shard else 1

    @property
    def rank(self) -> int:
        """r, the rank of this process."""
        return (self._place or process_group())[1] if self.shard else 0

    @property
    def total_size(self) -> int:
        """Number of indices per epoch over all processes, after repeating or dropping some."""
        return self.num_samples * self.num_replicas

    @property
    def num_samples(self) -> int:
        """Number of indices per epoch on this process."""
        whole, rest = divmod(self._plan.length, self.num_replicas)
        return whole + (rest > 0 and not self.drop_last)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass."""
        self.epoch = check_count(epoch, "the epoch", at_least=0)
        self._passes = 0

    def epoch_indices(self, epoch: int) -> IntArray:
        """The indices of an epoch, before they are divided among processes."""
        return self._plan.indices(self.seed, epoch, shuffle=self.shuffle)

    def __iter__(self) -> Iterator[int]:
        replicas = self.num_replicas
        if replicas > 1:
            self._refuse_second_sharding()
            if self._passes == 1:
                warnings.warn(
                    f"OversamplingSampler repeats epoch {self.epoch}: call set_epoch(epoch) before every pass.",
                    stacklevel=2,
                )
        elif self._passes:
            self.epoch += 1
        self._passes += 1
        return _numbers(_shard(self.epoch_indices(self.epoch), self.rank, replicas, self.num_samples))

    def state_dict(self) -> dict[str, int]:
        """The state needed to resume."""
        return {"seed": self.seed, "epoch": self.epoch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue from a checkpoint, which must have the same seed."""
        if state["seed"] != self.seed:
            raise InputError(f"a checkpoint with seed {self.seed}", state["seed"], "make the sampler with that seed")
        self.set_epoch(state["epoch"])

    def _refuse_second_sharding(self) -> None:
        """Wrappers iterate their inner sampler, so they stand among the callers."""
        frame = sys._getframe(2)
        for _ in range(12):
            wrapper = type(frame.f_locals.get("self")).__name__
            if wrapper in _SHARDING_WRAPPERS:
                raise InputError(
                    "an OversamplingSampler that nothing else divides among processes",
                    f"one inside {wrapper}, which would give each process only 1/{self.num_replicas} of its share",
                    "make it with shard=False, or keep the wrapper off (Lightning: use_distributed_sampler=False)",
                )
            if frame.f_back is None:
                return
            frame = frame.f_back


def check_loader(loader: Any) -> OversamplingSampler:
    """Check that a loader draws from an OversamplingSampler made for its data set.

    Parameters
    ----------
    loader : DataLoader
        The loader as the trainer uses it, with any wrappers.

    Returns
    -------
    OversamplingSampler
        The sampler that was found. Otherwise, the error says what the loader draws from instead.
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


def _shard(indices: IntArray, rank: int, replicas: int, length: int) -> IntArray:
    """Every W-th index from the r-th on; where that is one short, one of the first indices again."""
    own = indices[rank::replicas][:length]
    if own.size == length:
        return own
    spare = rank - indices.size % replicas  # the ranks that are short take different ones
    return np.append(own, indices[spare % indices.size])


def _numbers(indices: IntArray) -> Iterator[int]:
    """Python numbers, a block at a time: a list of all would take 36 bytes an index."""
    for begin in range(0, indices.size, _AT_ONCE):
        yield from indices[begin : begin + _AT_ONCE].tolist()


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
