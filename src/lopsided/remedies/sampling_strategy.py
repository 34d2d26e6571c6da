"""imbalanced-learn's `sampling_strategy` for oversampling, read as the number of examples to add to each class."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.validation import check_count, check_in_range

Strategy = str | float | Mapping[Any, int] | Callable[[Any], Mapping[Any, int]]


def examples_to_add(strategy: Strategy, labels: Any, counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    """Class -> examples to add, with the meanings of imbalanced-learn's user guide.

    'auto' and 'not majority', 'minority', 'not minority', 'all': raise those classes to the largest; a number (two
    classes): the size of the minority over the majority afterwards; a dict, or a function of the labels that gives one:
    the size of each class afterwards.
    """
    largest, smallest = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
    if callable(strategy):
        strategy = strategy(labels)
    if isinstance(strategy, Mapping):
        return _by_class(strategy, counts)
    if isinstance(strategy, str):
        left_out = {"auto": {largest}, "not majority": {largest}, "all": set(), "not minority": {smallest}}
        left_out["minority"] = set(counts) - {smallest}
        if strategy not in left_out:
            raise InputError(f"a sampling_strategy among {', '.join(left_out)}", repr(strategy), "or give a dict")
        return {label: counts[largest] - size for label, size in counts.items() if label not in left_out[strategy]}
    share = check_in_range(strategy, "sampling_strategy", 0.0, 1.0, remedy="it is minority over majority")
    if len(counts) != 2:
        raise InputError("two classes for a number as sampling_strategy", f"{len(counts)} classes", "give a dict")
    added = int(counts[largest] * share - counts[smallest])
    if added <= 0:
        raise InputError(
            f"a sampling_strategy above {counts[smallest] / counts[largest]:.3g}, the ratio now", share, "raise it"
        )
    return {smallest: added}


def _by_class(strategy: Mapping[Any, int], counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    unknown = [label for label in strategy if label not in counts]
    if unknown:
        raise InputError("classes that occur in sampling_strategy", unknown[0], "check its keys")
    added: dict[Hashable, int] = {}
    for label, wanted in strategy.items():
        if check_count(wanted, f"the size of class {label}") < counts[label]:
            raise InputError(f"at least the {counts[label]} examples of class {label}", wanted, "this only adds copies")
        added[label] = int(wanted) - counts[label]
    return added
