"""The audit of data larger than memory, in two passes (a third where many rows repeat).

Counts, groups, missing values, accuracy, calibration and duplicates are exact, over all rows, and so are the moments of
the classes. The other checks use a sample of rows, drawn uniformly without replacement, and their findings say so.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lopsided.checkup.audit import AuditFacts, StepProgress, run_checks
from lopsided.checkup.checks.duplicates import REPEATING, repeated_share
from lopsided.checkup.inputs.confidence import Confidence
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.inputs.gather import gather
from lopsided.checkup.inputs.missing import MissingValues
from lopsided.checkup.inputs.parts import is_name
from lopsided.checkup.streamed.cells import CountedCells
from lopsided.checkup.streamed.looks import (
    BIN,
    GUESS,
    LACKS,
    LOSS,
    SQUARES,
    SURE,
    Encode,
    FirstLook,
    SecondLook,
    WhatToCount,
    first_look,
    half_digests,
    nothing_seen,
    refuse_infinite,
    second_look,
)
from lopsided.core.errors import InputError
from lopsided.core.seeds import check_seed, generator
from lopsided.core.validation import IntArray, check_classes, check_count, name_one_of
from lopsided.data.columns import is_list
from lopsided.data.encoding import TableEncoder
from lopsided.data.parts import DataPart, Parts
from lopsided.data.row_digests import DigestFile, Repeats
from lopsided.data.rows import select
from lopsided.data.tables import GROUP_NAMES, LABEL_NAMES, PREDICTION_NAMES, SPLIT_NAMES, Table
from lopsided.engine.threads import one_thread

SAMPLE_ROWS, SAMPLE_NUMBERS, LEAST_SAMPLE = 200_000, 40_000_000, 100
COLUMNS = ("labels", "groups", "features", "probabilities", "logits", "predictions", "split")
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]  # results in the order of the parts


def in_turn(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """One part after the other, here, on one thread as workers do, so that sums round alike."""
    with one_thread():
        for part in parts:
            yield function(part)


@dataclass(frozen=True)
class Given:
    """What was said about the columns: names, or None for those of a usual name."""

    labels: Any = None
    groups: Any = None
    features: Any = None
    classifier: Any = None
    bias: Any = None
    probabilities: Any = None
    logits: Any = None
    predictions: Any = None
    split: Any = None
    weight_decay: Any = None
    classes: Any = None
    many_classes: bool = False
    name: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for what in COLUMNS:
            value = getattr(self, what)
            if value is not None and not is_name(value) and not isinstance(value, os.PathLike):
                got = f"an array as {what}"
                raise InputError("names of columns beside data in parts", got, "write it as a column of the data")
        check_seed(self.seed)

    def names(self, what: str) -> list[str]:
        """The columns that were named as this."""
        value = getattr(self, what)
        return [] if value is None else [str(value)] if not isinstance(value, (list, tuple)) else list(value)


def audit_parts(
    data: Parts,
    given: Given,
    *,
    sample_rows: int = SAMPLE_ROWS,
    checks: Sequence[str] | None = None,
    progress: StepProgress | None = None,
    mapper: Mapper = in_turn,
) -> AuditFacts:
    """Two passes over the parts, then the checks: exact ones over the counts, the others over the sample."""
    began = time.perf_counter()
    check_count(sample_rows, "the rows of the sample", at_least=LEAST_SAMPLE)
    _check_names(data, given)
    roles = _roles(data, given)
    told = partial(_say, progress, 2 * len(data.parts))
    positions = _positions(data, given.seed, sample_rows)
    seen = FirstLook(CountedCells(tuple(dict.fromkeys(name for names in roles.values() for name in names))))
    for place, own in enumerate(mapper(partial(_first, roles=seen.cells.keys, wanted=positions), data.parts)):
        seen.merge(own)
        told(place + 1, "labels, groups and a sample")
    counted = _counted(seen.cells, data, given)
    if counted.classes is not None and not given.many_classes:
        values = np.asarray(seen.cells.table[roles["labels"][0]])
        check_classes(values, len(counted.classes.names), rows=data.rows)
    sample = _sample(seen, positions, data, given, counted)
    ask = _question(given, roles, seen.cells, counted, sample)
    found, repeats = _second(data, ask, counted, mapper, partial(told, words="the features"))
    exact = _exact(found, data, given, sample, repeats)
    if found.moments is not None:
        sample = replace(sample, known_space=replace(sample.space, moments=found.moments))
    settings = {"given": sorted(exact.has | sample.has), "rows": data.rows, "sample": sample.rows}
    settings["weight_decay"] = sample.weight_decay
    facts = run_checks(sample, seed=given.seed, checks=checks, settings=settings, progress=progress, counted=exact)
    return replace(facts, seconds=time.perf_counter() - began)  # the passes take longest


def _say(progress: StepProgress | None, steps: int, done: int, words: str) -> None:
    if progress is not None:
        progress(done, steps, f"reading {words}")


def _check_names(data: Parts, given: Given) -> None:
    for what in COLUMNS:
        for name in given.names(what):
            if name not in data.schema.names:
                have = f"the columns: {', '.join(data.schema.names[:30])}"
                remedy = name_one_of(data.schema.names, name)
                raise InputError(f"{what} under the name {name!r} in {data.source}", have, remedy)


def _roles(data: Parts, given: Given) -> dict[str, list[str]]:
    """Columns beside the features: those named, else the first of a usual name, whole numbers and words before
    fractions (a coordinate may be called y)."""
    from pyarrow import types

    lower = {name.lower(): name for name in reversed(data.schema.names)}
    usual = {"labels": LABEL_NAMES, "groups": GROUP_NAMES, "predictions": PREDICTION_NAMES, "split": SPLIT_NAMES}
    found: dict[str, list[str]] = {}
    for what, names in usual.items():
        known = [lower[name] for name in names if name in lower]
        plain = [name for name in known if not types.is_nested(data.schema.field(name).type)]
        found[what] = (
            given.names(what) or sorted(plain, key=lambda name: types.is_floating(data.schema.field(name).type))[:1]
        )
    return found


def _positions(data: Parts, seed: int, wanted: int) -> IntArray:
    """Rows of the sample, drawn uniformly without replacement, in order."""
    lists = [name for name in data.schema.names if is_list(data.schema.field(name).type)]
    width = len(data.schema.names)
    if lists:
        _, batch = next(data.parts[0].batches(lists))
        width += sum(len(batch[name][0].as_py() or ()) for name in lists)
    size = min(wanted, data.rows, max(LEAST_SAMPLE, SAMPLE_NUMBERS // width))
    drawn = generator(seed, "sample of parts").choice(data.rows, size, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int64)


def _first(part: DataPart, roles: Sequence[str], wanted: IntArray) -> FirstLook:
    low, high = np.searchsorted(wanted, (part.start, part.start + part.rows))
    return first_look(part, roles, wanted[low:high])


def _counted(cells: CountedCells, data: Parts, given: Given) -> Evidence:
    """The evidence of counts alone: one row a cell."""
    if not any(name in data.schema.names for name in cells.keys):
        return Evidence(given.name or data.source, len(cells.times), times=cells.times)
    names = [name for name in cells.keys if name in data.schema.names]
    named = {what: getattr(given, what) for what in ("labels", "groups", "predictions", "split", "classes", "seed")}
    rows = cells.columns(names)
    return gather(rows, times=cells.times, many_classes=True, name=given.name or data.source, **named)


def _sample(seen: FirstLook, positions: IntArray, data: Parts, given: Given, counted: Evidence) -> Evidence:
    """The sampled rows as the audit of a small table would see them; classes are those of all rows."""
    import pyarrow as pa

    table = pa.concat_tables(seen.drawn).combine_chunks()
    seen.drawn.clear()
    refuse_infinite(table, given.names("features") or table.column_names, positions)
    scored = {name for what in ("probabilities", "logits", "predictions") for name in given.names(what)}
    named = {what: getattr(given, what) for what in ("labels", "groups", "features", "classifier", "bias", "split")}
    found = gather(
        table.drop_columns(sorted(scored)),
        weight_decay=given.weight_decay,
        many_classes=True,
        name=given.name or data.source,
        seed=given.seed,
        **named,
    )
    if found.classes is not None and counted.classes is not None:
        place = {name: code for code, name in enumerate(counted.classes.names)}
        codes = np.array([place[name] for name in found.classes.names], dtype=np.int64)[found.classes.codes]
        found = replace(found, classes=replace(found.classes, codes=codes, names=counted.classes.names))
    roles = {**found.columns.roles, **{role: names for role, names in counted.columns.roles.items() if names}}
    roles |= {"predictions": sorted(scored)} if scored else {}
    used_so = {name for names in roles.values() for name in names}
    ignored = tuple(entry for entry in found.columns.ignored if entry[0] not in used_so)
    notes = list(dict.fromkeys((*counted.notes, *found.notes)))
    if len(positions) < data.rows:
        notes.append(
            "Counts, missing values, accuracy, calibration, duplicates and class moments are those of all "
            f"{data.rows:,} rows; the other checks use {len(positions):,} rows drawn at random (seed {given.seed})."
        )
    return replace(
        found,
        table=found.table if found.table is None or found.table.origins is not None else found.table.held(),
        drawn_from=data.rows,
        positions=positions,
        notes=tuple(notes),
        aside=tuple(dict.fromkeys((*counted.aside, *found.aside))),
        columns=replace(found.columns, roles=roles, ignored=ignored),
    )


def _encode(table: Table) -> Encode:
    if table.used is None:
        return Encode((table.array,), True, None, None)
    if table.origins is not None:
        return Encode(table.used, False, None, TableEncoder().fit(select(table.frame, table.used)))
    return Encode(table.used, False, np.median(table.features(), axis=0), None)


def _question(
    given: Given, roles: dict[str, list[str]], cells: CountedCells, counted: Evidence, sample: Evidence
) -> WhatToCount:
    table, mapping = sample.table, None
    if table is not None:
        with contextlib.suppress(InputError):  # the checks that need it will say why there is none
            mapping = sample.space.map
    encode = None if table is None else _encode(table)
    return WhatToCount(
        roles=cells.keys,
        classes=counted.classes,
        labels=_key(cells, roles["labels"], None if counted.classes is None else counted.classes.codes),
        tests=_key(cells, roles["split"], counted.is_test),
        features=() if encode is None else encode.features,
        lists=encode is not None and encode.lists,
        described=tuple(name for name in sample.described_by if encode is not None and name not in encode.features),
        encode=encode,
        mapping=mapping,
        probabilities=given.probabilities,
        logits=given.logits,
        stated=given.classes is not None,
    )


def _key(cells: CountedCells, names: Sequence[str], codes: Any) -> tuple[str, Any, Any] | None:
    """(column, its distinct values, the code of each)."""
    if codes is None or not names:
        return None
    column = cells.table[names[0]].combine_chunks()
    encoded = column.dictionary_encode(null_encoding="encode")
    first = np.unique(np.asarray(encoded.indices), return_index=True)[1]
    return names[0], encoded.dictionary, codes[first]


def _second(
    data: Parts, ask: WhatToCount, counted: Evidence, mapper: Mapper, told: Callable[[int], None]
) -> tuple[SecondLook, Repeats | None]:
    """What the second pass found, and the repeats among all rows."""
    found, kept = nothing_seen(ask), DigestFile(data.rows)
    try:
        for place, own in enumerate(mapper(partial(second_look, ask=ask), data.parts)):
            found.merge(own)
            for start, digests, training, codes in own.digests:
                kept.add(digests, start, training, codes)
            told(len(data.parts) + place + 1)
        if ask.encode is None:
            return found, None
        repeats = kept.repeats(labelled=ask.labels is not None)
    finally:
        kept.close()
    many = repeated_share(repeats, counted.total(counted.training)) > REPEATING
    wide = ask.lists or len(ask.features) > 1
    return found, replace(repeats, halves=_halves(data, ask, mapper)) if many and wide else repeats


def _halves(data: Parts, ask: WhatToCount, mapper: Mapper) -> tuple[int, int]:
    """How many different left and right halves of rows there are: a third pass."""
    left, right = DigestFile(data.rows), DigestFile(data.rows)
    try:
        for own in mapper(partial(half_digests, ask=ask), data.parts):
            for start, *both in own:
                for kept, digests in zip((left, right), both, strict=True):
                    kept.add(digests, start, np.ones(len(digests), dtype=bool), None)
        return left.repeats(labelled=False).distinct, right.repeats(labelled=False).distinct
    finally:
        left.close()
        right.close()


def _exact(found: SecondLook, data: Parts, given: Given, sample: Evidence, repeats: Repeats | None) -> Evidence:
    """The evidence of counts with what the second pass adds."""
    cells = found.cells
    exact = replace(_counted(cells, data, given), table=sample.table, repeats=repeats)
    if found.missing:
        order = sorted(found.missing, key=lambda name: -found.missing[name])
        lacking = np.asarray(cells.table[LACKS], dtype=bool)
        exact = replace(exact, missing=MissingValues(lacking, {name: found.missing[name] for name in order}))
    if found.question.scored:
        guess = cells.codes(GUESS)
        sums = cells.total(SURE), cells.total(LOSS), cells.total(SQUARES)
        exact = replace(exact, confidence=Confidence(guess, cells.codes(BIN), *sums, single=False))
        exact = exact if exact.predictions is not None else replace(exact, predictions=guess)
    return exact
