"""Repeated stratified folds: every class, and within it every group, is dealt out evenly.

The examples of a class stand in a row, group after group and shuffled within each, and are dealt to the folds like
cards; the deal goes on where the last class ended. So the folds hold every class, and every class within a group,
evenly to within one example, and a class with fewer examples than folds is tested in as many folds as it has examples.

Examples that belong together (a customer's) go to one fold: units are dealt out in random order, the largest first,
each to the fold that has the least of what it brings, sum_c F_fc u_c / N_c^2 over cells c of class and group with N_c
examples. By time, the examples are cut into folds + 1 blocks of about equal size; fold k tests block k + 1 after
training on all earlier ones, and the first block is never tested. If all examples have the same time, it is ignored.

Classes, groups and units stand in the order in which they first appear, so their names do not matter. The order of the
examples does: it says which of them are drawn together, as another seed would.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError
from lopsided.core.partition import by_appearance
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, FloatArray, IntArray

TRAINED, TESTED = 1, 2  # in `Design.given`; 0 is left out


@dataclass(frozen=True)
class Design:
    """How examples may be divided, and how much each counts in training.

    Examples with one code in `together` are never divided; `time` ranks examples, and training comes before testing;
    `given` (repeats x folds x n) says which are trained on and tested, in place of folds of our own; `weights` are the
    user's.
    """

    together: IntArray | None = None
    time: IntArray | None = None
    weights: FloatArray | None = None
    given: NDArray[np.int8] | None = None

    def at(self, chosen: IntArray) -> "Design":
        """The design of some of the examples; given folds apply to all of them and are dropped."""
        return Design(**{name: array[chosen] for name, array in self.arrays().items() if name != "given"})

    def arrays(self) -> dict[str, Any]:
        """The parts that were given, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}


@dataclass(frozen=True)
class Folds:
    """The fold that tests each example, -1 where none does; `trained` (folds x n) where that is not all the others."""

    fold: IntArray
    trained: BoolArray | None = None

    def inside(self, number: int) -> BoolArray:
        """The examples to train on for that fold."""
        return np.asarray(self.fold != number if self.trained is None else self.trained[number])


def folds_of(
    classes: IntArray, groups: IntArray | None, design: Design, folds: int, seed: int, repeat: int = 0
) -> Folds:
    """The folds of repeat number `repeat` under a design."""
    if design.given is not None:
        given = design.given[repeat]
        tested = given == TESTED
        return Folds(np.where(tested.any(axis=0), tested.argmax(axis=0), -1), given == TRAINED)
    fold = None if design.time is None else _blocks(design.time, folds) - 1
    if fold is not None and fold.max() >= 0:
        trained = fold[None, :] < np.arange(folds)[:, None]
        if design.together is not None:  # who is tested is not trained on, even on earlier examples
            for number in range(folds):
                trained[number] &= ~np.isin(design.together, design.together[fold == number])
        return Folds(fold, trained)
    if design.together is not None:
        return Folds(_deal_together(classes, groups, design.together, folds, seed, repeat))
    return Folds(deal(classes, groups, folds, seed, repeat))


def deal(classes: IntArray, groups: IntArray | None, folds: int, seed: int, repeat: int) -> IntArray:
    """The fold of every example in repeat number `repeat`."""
    random = generator(seed, "folds", repeat)
    fold = dealt(random, folds, classes, groups)
    names = random.permutation(folds)  # else the first fold would always get the odd example
    return names[fold].astype(np.int64)


def dealt(random: np.random.Generator, folds: int, classes: IntArray, groups: IntArray | None = None) -> IntArray:
    """The fold of every example by one deal, which begins with the first fold."""
    shuffled = random.permutation(classes.size)
    classes = by_appearance(classes)
    within = np.zeros_like(classes) if groups is None else by_appearance(groups)
    fold = np.empty(classes.size, dtype=np.int64)
    fold[shuffled[np.lexsort((within[shuffled], classes[shuffled]))]] = np.arange(classes.size) % folds
    return fold


def _deal_together(
    classes: IntArray, groups: IntArray | None, together: IntArray, folds: int, seed: int, repeat: int
) -> IntArray:
    random = generator(seed, "folds", repeat)
    unit = by_appearance(together)
    cell = by_appearance(classes if groups is None else classes * (int(groups.max()) + 1) + groups)
    totals = np.bincount(cell)
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    order = sorted(random.permutation(len(members)).tolist(), key=lambda one: -members[one].size)
    held, names = np.zeros((folds, totals.size)), random.permutation(folds)
    fold = np.empty(classes.size, dtype=np.int64)
    for one in order:
        own, brings = np.unique(cell[members[one]], return_counts=True)
        load = (held[:, own] * (brings / totals[own] ** 2.0)).sum(axis=1)
        chosen = int(np.lexsort((held.sum(axis=1), load))[0])  # of equal folds the smallest
        held[chosen, own] += brings
        fold[members[one]] = names[chosen]
    return fold


def _blocks(time: IntArray, folds: int) -> IntArray:
    """The block of every example. Those of one time are in one block, so with few times there are fewer blocks."""
    _, rank, sizes = np.unique(time, return_inverse=True, return_counts=True)
    before = np.cumsum(sizes) - sizes
    _, block = np.unique((before * (folds + 1)) // time.size, return_inverse=True)
    return np.asarray(block[rank], dtype=np.int64)


def given_folds(splits: Iterable[Any], rows: int) -> NDArray[np.int8]:
    """Pairs (train, test) of positions as `Design.given`: splits that test the same row twice are different repeats."""
    found: list[list[NDArray[np.int8]]] = []
    for number, pair in enumerate(splits):
        roles = np.zeros(rows, dtype=np.int8)
        try:
            train, test = (np.asarray(part, dtype=None if len(part) else np.int64) for part in pair)
            roles[train], overlap = TRAINED, np.intersect1d(np.arange(rows)[train], np.arange(rows)[test]).size
            roles[test] = TESTED
        except (TypeError, ValueError, IndexError) as error:
            got = f"{error} in split {number + 1}"
            raise InputError(f"pairs (train, test) of positions among {rows:,} rows", got, "check cv") from None
        if overlap or not train.size or not test.size:
            got = f"{overlap:,} rows on both sides of split {number + 1}" if overlap else f"an empty split {number + 1}"
            raise InputError("rows to train on and other rows to test in every split", got, "check cv")
        tested = roles == TESTED
        if not found or any((tested & (other == TESTED)).any() for other in found[-1]):
            found.append([])
        found[-1].append(roles)
    covered = [np.stack(repeat).max(axis=0) == TESTED for repeat in found]
    uneven = any(len(repeat) != len(found[0]) for repeat in found)
    if not found or uneven or any((one != covered[0]).any() for one in covered):
        raise InputError(
            "splits that test the same rows in every repeat",
            f"{sum(map(len, found))} splits that do not",
            "use a splitter such as RepeatedStratifiedKFold instead of random splits",
        )
    return np.stack([np.stack(repeat) for repeat in found])
