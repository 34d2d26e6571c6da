"""The same data in another order, in other blocks and under other names give the same answers.

Rows are sorted by class, reversed, shuffled and dealt out in turn; classes and groups get names that sort the other way
round; files are read in blocks of any size. Values that rest on all rows are the same up to rounding; those of drawn
folds and resampled rows move with their seeds, so of them the level is compared.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import lopsided
from tests.faults.tally import Row, Size, timed

DRAWN = ("group_mixture", "label_leaks")  # their values rest on folds or resampled rows
COUNTED = ["counts", "class_accuracy", "group_accuracy", "duplicates"]
CLASSES, GROUPS = ("ant", "bee", "cat"), ("east", "north", "west")


@dataclass(frozen=True)
class Version:
    """One order of the rows, and names for classes and groups."""

    rows: Any
    classes: tuple[str, ...] = CLASSES
    groups: tuple[str, ...] = GROUPS


@dataclass(frozen=True)
class Sample:
    """Features, codes of classes and groups, logits in the order of the codes, and a classifier."""

    features: np.ndarray
    classes: np.ndarray
    groups: np.ndarray
    logits: np.ndarray
    weights: np.ndarray


def sample(seed: int, rows: int = 600) -> Sample:
    """Three unequal classes and three groups, one of which lies elsewhere and one of which is wider."""
    random = np.random.default_rng(seed)
    classes = random.choice(3, rows, p=[0.55, 0.3, 0.15])
    groups = random.choice(3, rows, p=[0.5, 0.3, 0.2])
    features = random.normal(size=(rows, 6)) * np.where(groups == 2, 1.6, 1.0)[:, None] + 0.7 * classes[:, None]
    features[groups == 1, 0] += 2.0
    logits = random.normal(size=(rows, 3)) + 3.0 * np.eye(3)[classes]
    return Sample(features, classes, groups, logits, random.normal(size=(3, 6)))


def versions(data: Sample, seed: int) -> Mapping[str, Version]:
    """By what was changed."""
    n = len(data.classes)
    plain = Version(np.arange(n))
    sorted_rows = np.argsort(data.classes, kind="stable")
    return {
        "sorted": Version(sorted_rows),
        "reversed": Version(sorted_rows[::-1]),
        "shuffled": Version(np.random.default_rng(seed).permutation(n)),
        "dealt out in turn": Version(np.argsort(np.arange(n) % 7, kind="stable")),
        "classes renamed": replace(plain, classes=("zebra", "moth", "adder")),
        "groups renamed": replace(plain, groups=("z", "m", "a")),
        "all at once": Version(sorted_rows[::-1], ("moth", "zebra", "adder"), ("m", "z", "a")),
    }


def audited(data: Sample, version: Version) -> dict[tuple[str, str], tuple[str, Any]]:
    """(check, subject by its first name) -> (level, value) of every finding that is not healthy; of healthy checks the
    level alone, because which class or group is named as the nearest to a limit may be a tie."""
    order = np.argsort(version.classes)
    found = lopsided.audit(
        data.features[version.rows],
        labels=np.array(version.classes)[data.classes[version.rows]],
        groups={"place": np.array(version.groups)[data.groups[version.rows]]},
        logits=data.logits[version.rows][:, order],
        classifier=data.weights[order],
        weight_decay=1e-3,
    )
    first = dict(zip((*version.classes, *version.groups), (*CLASSES, *GROUPS), strict=True))
    facts: dict[tuple[str, str], tuple[str, Any]] = {}
    for finding in found.findings:
        level, value = finding.level.value, finding.value
        subject = " ".join(first.get(word, word) for word in finding.subject.split())
        if level == "healthy" or finding.id in DRAWN:
            facts[finding.id, subject if level != "healthy" else ""] = (level, None)
        else:
            facts[finding.id, subject] = (level, value)
    facts["broken", ""] = (str(found.broken), None)
    return facts


def same(one: Mapping[Any, tuple[str, Any]], two: Mapping[Any, tuple[str, Any]]) -> str:
    """The first difference in words, or nothing."""
    for key in one.keys() | two.keys():
        if key not in one or key not in two or one[key][0] != two[key][0]:
            return f"{key}: {one.get(key)} and {two.get(key)}"
        values = one[key][1], two[key][1]
        # sums in another order: 1e-7 is a billion roundings; solvers stop at gaps of 1e-8
        if None not in values and not np.isclose(*values, rtol=1e-7, atol=1e-9):
            return f"{key}: {values[0]!r} and {values[1]!r}"
    return ""


def audits(row: Row, size: Size) -> None:
    """Levels, subjects and values of the audit."""
    for seed in range(5 if size == "full" else 1):
        data = sample(seed)
        plain = audited(data, Version(np.arange(len(data.classes))))
        for what, version in versions(data, seed).items():
            wrong = same(plain, audited(data, version))
            row.check(not wrong, f"audit of sample {seed}, {what}: {wrong}")


def scores(row: Row, size: Size) -> None:
    """Scores, ranks and noise matrix, in memory, in blocks and class by class."""
    from lopsided.checkup.streamed import score as module

    most = module.MOST_BYTES
    for seed in range(5 if size == "full" else 1):
        data = sample(seed)
        plain = lopsided.score(data.features, data.classes, noise_matrix=True, resamples=0)
        for what, version in versions(data, seed).items():
            names = np.array(version.classes)[data.classes[version.rows]]
            for rows, limit in ((None, most), (1, most), (97, most), (97, 0)):
                module.MOST_BYTES = limit
                try:
                    whole = limit > 0  # the noise matrix compares classes, so that it needs all of them at once
                    found = lopsided.score(
                        data.features[version.rows], names, block_rows=rows, noise_matrix=whole, resamples=0
                    )
                finally:
                    module.MOST_BYTES = most
                # sums in another order, as above
                good = np.allclose(found.influence.scores, plain.influence.scores[version.rows], rtol=1e-7)
                good &= np.mean(found.ranks == plain.ranks[version.rows]) > 0.99  # equal scores may change places
                if whole:
                    order = np.argsort(version.classes)
                    good &= np.allclose(found.noise.products, plain.noise.products[np.ix_(order, order)], rtol=1e-7)
                row.check(bool(good), f"score of sample {seed}, {what}, blocks of {rows}, {limit} bytes")


def in_parts(row: Row, size: Size) -> None:
    """The audit and the scores in passes over parts of any size, against those in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for seed in range(3 if size == "full" else 1):
        data = sample(seed)
        table = pa.table(
            {
                **{f"x{place}": column for place, column in enumerate(data.features.T)},
                "label": np.array(CLASSES)[data.classes],
                "place": np.array(GROUPS)[data.groups],
                "predictions": np.array(CLASSES)[data.logits.argmax(axis=1)],
            }
        )
        whole = _exact(lopsided.audit(table, labels="label", groups="place", checks=COUNTED), CLASSES, GROUPS)
        scored = lopsided.score(table.drop_columns(["place", "predictions"]), "label").influence.scores
        for what, version in list(versions(data, seed).items())[:: 1 if size == "full" else 3]:
            classes, groups = np.array(version.classes), np.array(version.groups)
            own = table.take(version.rows)
            own = own.set_column(6, "label", [classes[data.classes[version.rows]]])
            own = own.set_column(7, "place", [groups[data.groups[version.rows]]])
            own = own.set_column(8, "predictions", [classes[data.logits[version.rows].argmax(axis=1)]])
            with tempfile.TemporaryDirectory() as folder:
                for start in range(0, own.num_rows, 170):
                    pq.write_table(own.slice(start, 170), Path(folder) / f"{start:06d}.parquet", row_group_size=64)
                audited = lopsided.audit(folder, labels="label", groups="place", checks=COUNTED)
                features = [f"x{place}" for place in range(6)]
                scores = lopsided.score(folder, "label", features=features).influence.scores
            wrong = same(whole, _exact(audited, version.classes, version.groups))
            row.check(not wrong, f"audit in parts of sample {seed}, {what}: {wrong}")
            # sums in another order, as above
            row.check(np.allclose(scores, scored[version.rows], rtol=1e-7), f"score in parts of sample {seed}, {what}")


def _exact(found: Any, classes: tuple[str, ...], groups: tuple[str, ...]) -> dict[Any, tuple[str, Any]]:
    """Counts and rates by their first names, and the repeats."""
    first = dict(zip((*classes, *groups), (*CLASSES, *GROUPS), strict=True))
    facts: dict[Any, tuple[str, Any]] = {("broken", ""): (str(found.broken), None)}
    for name, count in found.measures["counts"]["classes"].items():
        facts["count", first[name]] = ("", count)
    for name, entry in found.measures["class_accuracy"]["recall"].items():
        facts["recall", first[name]] = ("", entry["value"])
    for name, entry in found.measures["group_accuracy"]["place"]["accuracy"].items():
        facts["accuracy", first[name]] = ("", entry["value"])
    facts["repeats", ""] = ("", found.measures["duplicates"]["repeated_training_rows"])
    return facts


def many_sorted_classes(row: Row, size: Size) -> None:
    """More classes than the noise ratios compare, in order: whole blocks hold none of those that are."""
    from lopsided.data import tables

    classes, each, width = (1000, 20, 512) if size == "full" else (210, 4, 5)
    labels = np.repeat(np.arange(classes), each)
    features = np.random.default_rng(0).normal(size=(labels.size, width)).astype(np.float32)
    checks, usual = ["counts", "noise_ratios", "separability"], tables._BLOCK_NUMBERS
    tables._BLOCK_NUMBERS = 2 * each * width  # two classes in a block
    try:
        found = lopsided.audit(features, labels=labels, checks=checks)
    finally:
        tables._BLOCK_NUMBERS = usual
    row.check(not found.broken and set(found.checked) == set(checks), f"sorted classes: {found.skipped}")


def run(size: Size) -> list[Row]:
    """One row per command."""
    rows = []
    for what, trial in (
        ("audit: sorted, shuffled, renamed", audits),
        ("score: sorted, shuffled, renamed, in blocks", scores),
        ("audit, score: parquet parts, sorted, shuffled, renamed", in_parts),
        ("audit: many sorted classes", many_sorted_classes),
    ):
        row = Row("rearranged", what)
        rows.append(row)
        with timed(row):
            trial(row, size)
    return rows
