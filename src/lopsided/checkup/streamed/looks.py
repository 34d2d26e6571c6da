"""What one pass over the data keeps of it: records with `update(batch)` and `merge(other)`, so that parts may be read
one after the other here or by the workers of a cluster. Parts are merged in their order, so that sums round alike.

First look: every combination of labels, groups, predictions and split with its count, and a sample of rows drawn
uniformly without replacement. Second look, with the classes and the feature space of the sample known: which rows lack
a value, confidence and log loss, moments of the classes, and a digest of every row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lopsided.checkup.inputs.class_scores import class_probabilities
from lopsided.checkup.inputs.confidence import confidence_of
from lopsided.checkup.inputs.feature_space import FeatureMap
from lopsided.checkup.inputs.sources import DataSource
from lopsided.checkup.streamed.cells import CountedCells
from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.arrow_tables import column_values, plain_numbers
from lopsided.data.columns import decoded, gaps, is_number
from lopsided.data.encoding import TableEncoder
from lopsided.data.parts import DataPart
from lopsided.data.row_digests import Digests, digest_numbers, digest_words, empty_digests
from lopsided.measure.class_moments import LARGEST_FEATURE, ClassMoments, empty_moments, rows_at

LACKS, GUESS, BIN, SURE, LOSS, SQUARES = "\0lacks", "\0guess", "\0bin", "\0sure", "\0loss", "\0squares"
_BLOCK_NUMBERS, _BLOCK_CLASS_ROWS = 400_000, 64


@dataclass
class FirstLook:
    """The cells of the columns beside the features, and the sampled rows as Arrow tables."""

    cells: CountedCells
    drawn: list[Any] = field(default_factory=list)

    def update(self, batch: Any, start: int, wanted: IntArray) -> None:
        """A batch that begins at row `start`; `wanted` are the sampled positions, sorted."""
        self.cells.update(batch)
        low, high = np.searchsorted(wanted, (start, start + batch.num_rows))
        if high > low:
            self.drawn.append(batch.take(wanted[low:high] - start))

    def merge(self, other: "FirstLook") -> None:
        """What the next part gave."""
        self.cells.merge(other.cells)
        self.drawn += other.drawn


def first_look(part: DataPart, roles: Sequence[str], wanted: IntArray) -> FirstLook:
    """All batches of a part; `wanted` are positions in all data."""
    found = FirstLook(CountedCells(tuple(roles)))
    for start, batch in part.batches():
        found.update(batch, start, wanted)
    return found


@dataclass(frozen=True)
class Encode:
    """Features of a batch as a matrix. Plain numbers as they are, with the sample's medians in their gaps; all else by
    the encoder that the sample taught."""

    features: tuple[str, ...]
    lists: bool
    medians: FloatArray | None
    encoder: TableEncoder | None

    def __call__(self, batch: Any) -> FloatArray:
        """n x width."""
        if self.encoder is not None:
            found: FloatArray = self.encoder.transform(batch.select(list(self.features)))
            return found
        block = plain_numbers(batch, self.features, self.lists)
        if self.medians is None or not np.isnan(block.max()):
            return block
        return np.where(np.isnan(block), self.medians, block)


@dataclass(frozen=True)
class WhatToCount:
    """What the second look needs to know.

    `labels` and `tests` turn values of the columns of labels and split into class codes and parts: (column, values,
    code of each). `features` are the columns used, `lists` says that it is one of lists, `described` the columns that
    describe an example beside them; `encode` makes a matrix of a batch's features, which `mapping` brings into the
    feature space.
    """

    roles: tuple[str, ...]
    classes: Partition | None
    labels: tuple[str, Any, IntArray] | None
    tests: tuple[str, Any, BoolArray] | None
    features: tuple[str, ...]
    lists: bool
    described: tuple[str, ...]
    encode: Encode | None
    mapping: FeatureMap | None
    probabilities: Any = None
    logits: Any = None
    stated: bool = False

    @property
    def scored(self) -> bool:
        """Are there probabilities to judge?"""
        return self.classes is not None and (self.probabilities is not None or self.logits is not None)


@dataclass
class SecondLook:
    """Cells with what each row lacks and how sure the model was; moments; missing values; digests in order."""

    question: WhatToCount
    cells: CountedCells
    moments: ClassMoments | None
    missing: dict[str, int] = field(default_factory=dict)
    digests: list[tuple[int, Digests, BoolArray, IntArray | None]] = field(default_factory=list)

    def update(self, batch: Any, start: int) -> None:
        """A batch that begins at row `start`."""
        ask = self.question
        codes = _coded(batch, ask.labels, start)
        test = _coded(batch, ask.tests, start)
        training = np.ones(batch.num_rows, dtype=bool) if test is None else ~test.astype(bool)
        extra: dict[str, Any] = {LACKS: self._lacking(batch)}
        if ask.scored and codes is not None:
            extra |= _confidences(batch, ask, codes, start)
        self.cells.update(batch, extra)
        if ask.encode is not None:
            digests, size = empty_digests(batch.num_rows), self._block_rows(batch)
            for low in range(0, batch.num_rows, size):
                here = slice(low, low + size)
                own = None if codes is None else codes[here]
                self._features(batch.slice(low, size), start + low, training[here], own, digests[here])
            self.digests.append((start, digests, training, codes))

    def _block_rows(self, batch: Any) -> int:
        """Rows whose numbers stay in the processor's cache; more where there are many classes, each with its sums."""
        width: int = max(1, batch.nbytes // (8 * batch.num_rows))
        classes = 0 if self.moments is None else self.moments.classes
        return max(1, _BLOCK_NUMBERS // width, _BLOCK_CLASS_ROWS * classes)

    def _features(self, block: Any, start: int, training: BoolArray, codes: IntArray | None, digests: Digests) -> None:
        """Moments of some rows of a batch; their digests go into `digests`."""
        ask = self.question
        assert ask.encode is not None
        if ask.encode.encoder is not None:
            refuse_infinite(block, ask.features, start + np.arange(block.num_rows))
        rows = ask.encode(block)
        _check_finite(rows, start, ask)
        _digest(digests, block, rows, ask)
        if self.moments is not None and ask.mapping is not None and codes is not None and training.any():
            trained = rows if training.all() else rows_at(rows, training)
            self.moments.add(ask.mapping.apply(trained), codes[training])

    def _lacking(self, batch: Any) -> BoolArray:
        lacking = np.zeros(batch.num_rows, dtype=bool)
        for name in () if self.question.lists else self.question.features:
            own = gaps(batch[name])
            count = int(own.sum())
            if count:
                self.missing[name] = self.missing.get(name, 0) + count
                lacking |= own
        return lacking

    def merge(self, other: "SecondLook") -> None:
        """What the next part gave; digests stay with whoever wrote them down."""
        self.cells.merge(other.cells)
        if self.moments is not None and other.moments is not None:
            self.moments.merge(other.moments)
        for name, count in other.missing.items():
            self.missing[name] = self.missing.get(name, 0) + count


def nothing_seen(ask: WhatToCount) -> SecondLook:
    """The record before the first batch."""
    keys = (*ask.roles, LACKS, *((GUESS, BIN) if ask.scored else ()))
    moments = None
    if ask.mapping is not None and ask.classes is not None:
        moments = empty_moments(len(ask.classes.names), ask.mapping.width)
    return SecondLook(ask, CountedCells(keys, (SURE, LOSS, SQUARES) if ask.scored else ()), moments)


def second_look(part: DataPart, ask: WhatToCount) -> SecondLook:
    """All batches of a part."""
    found = nothing_seen(ask)
    for start, batch in part.batches():
        found.update(batch, start)
    return found


def half_digests(part: DataPart, ask: WhatToCount) -> list[tuple[int, Digests, Digests]]:
    """(first row, digests of the left and of the right half of the features) of every batch."""
    assert ask.encode is not None
    found = []
    for start, batch in part.batches(ask.features):
        block = ask.encode(batch)
        half = block.shape[1] // 2
        both = []
        for columns in (block[:, :half], block[:, half:]):
            both.append(empty_digests(len(block)))
            digest_numbers(both[-1], columns)
        found.append((start, both[0], both[1]))
    return found


def _coded(batch: Any, key: tuple[str, Any, Any] | None, start: int) -> Any:
    """The code of every row's value."""
    import pyarrow.compute as pc

    if key is None:
        return None
    name, values, codes = key
    found = pc.index_in(decoded(batch[name]), value_set=values)
    if found.null_count:
        row = start + int(np.flatnonzero(np.asarray(found.is_null()))[0])
        raise InputError(
            f"the same {name} in both passes", f"another in row {row}", "do not change the data while they are read"
        )
    return codes[np.asarray(found, dtype=np.int64)]


def _confidences(batch: Any, ask: WhatToCount, codes: IntArray, start: int) -> Mapping[str, Any]:
    assert ask.classes is not None
    given = ask.probabilities if ask.probabilities is not None else ask.logits
    names = [given] if isinstance(given, str) else list(given)
    source = DataSource(None, {name: partial(column_values, batch[name]) for name in names}, "the data")
    try:
        chances, _ = class_probabilities(
            source, ask.probabilities, ask.logits, ask.classes, batch.num_rows, stated=ask.stated
        )
    except InputError as error:
        raise InputError(f"{error.expected} (rows from {start:,} on)", error.got, error.remedy) from None
    assert chances is not None
    known = confidence_of(chances, codes)
    return {GUESS: known.guess, BIN: known.bin, SURE: known.sure, LOSS: known.loss, SQUARES: known.squares}


def refuse_infinite(table: Any, names: Sequence[str], rows: IntArray) -> None:
    """A sentence where a column of fractions holds an infinite one; `rows` are the places of the table's rows."""
    import pyarrow.compute as pc
    from pyarrow import types

    for name in names:
        if types.is_floating(table.schema.field(name).type):
            infinite = np.flatnonzero(np.asarray(pc.is_inf(table[name]).fill_null(False)))
            if infinite.size:
                got = f"inf in row {int(rows[infinite[0]])}, column {name}"
                raise InputError("finite numbers as features", got, "remove or fill such entries first")


def _check_finite(block: FloatArray, start: int, ask: WhatToCount) -> None:
    if max(float(block.max()), -float(block.min())) <= LARGEST_FEATURE:  # not so where one is NaN
        return
    bad = np.argwhere(~np.isfinite(block))
    if bad.size:
        row, column = (int(at) for at in bad[0])
        name = f" ({ask.features[column]})" if column < len(ask.features) and not ask.lists else ""
        got = f"{block[row, column]} in row {start + row}, column {column}{name}"
        raise InputError("finite numbers as features", got, "remove or fill such entries first")
    largest = float(np.abs(block).max())
    if largest > LARGEST_FEATURE:
        expected = f"features of at most {LARGEST_FEATURE:.0e} in size"
        raise InputError(expected, f"{largest:.2g}", "rescale them: their squares overflow")


def _digest(found: Digests, batch: Any, block: FloatArray, ask: WhatToCount) -> None:
    """Numbers by their bits, words as text, then the columns that describe an example."""
    kinds = {} if ask.lists else {name: is_number(batch.schema.field(name).type) for name in ask.features}
    words = [name for name, number in kinds.items() if not number]
    if not words and (
        ask.lists or (block.shape[1] == len(kinds) and not any(batch[name].null_count for name in kinds))
    ):
        digest_numbers(found, block)
    else:
        for name in (name for name, number in kinds.items() if number):
            digest_numbers(found, plain_numbers(batch, [name]))
    for name in (*words, *ask.described):
        digest_words(found, batch[name])
