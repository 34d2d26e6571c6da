"""The constants of the recall law, fitted to the development half of the family `recall-early`, and to tasks of an
earlier draw that were held out until they were scored (`recall_tasks.used_up`).

Every class of every run at every mark is an observation of its final recall r. At each cut the event r <= c_j is fitted
by logistic regression with slopes common to all cuts and a ridge on them; classes of a task share a weight, so that a
task of a hundred classes counts as ten of one. The ridge, how far the law trusts the validation examples, and s are
values that no other of a few beats by more than 0.1 % of the ranked probability score of tasks left out of the fit.
Boosted trees, trends between marks, the schedule and the plan's features one by one were no better in the same
comparison.

    python -m bench.laws.recall_fit              writes theory/recall_law.json from docs/measured
    python -m bench.laws.recall_fit STORE        writes docs/measured/recall_development.json.gz first
    python -m bench.laws.recall_fit --left-out   prints how well tasks are forecast that are left out of the fit
    python -m bench.laws.recall_fit --choices    prints the scores that ridges and trust were chosen by (ten minutes)
"""

import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bench.laws.merging_data import rows_of
from scipy.optimize import minimize

from lopsided.core.files import write_atomically
from lopsided.core.seeds import generator
from lopsided.skill.families import recall_early
from lopsided.skill.recall_questions import before_of, inputs_at
from lopsided.skill.recall_tasks import used_up
from lopsided.theory import recall_law
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.theory.recall_law import CUTS, FINE, LOST, REFERENCE, TRUST, WIDER, RecallLaw, Trust, sharpened

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "docs/measured/recall_development.json.gz"
COMMITTED = ROOT / "src/lopsided/theory/recall_law.json"
RIDGE = 3.0
RIDGES = (1.0, 3.0, 10.0, 30.0)
TRUSTS = [Trust(*values) for values in product((0.35, 0.5, 0.7, 1.0), (1.0, 2.0, 3.0, 4.0), (25.0, 50.0, 100.0, 200.0))]
NO_TRUST = Trust(0.0, 1.0, 1.0)
WIDERS = (1.0, 1.15, 1.3, 1.5)
MARKS = (0.05, 0.1, 0.2, 0.5, 1.0)
UNKNOWN, BEFORE = ", unknown length", ", before"
KINDS = ("training", "held out")
# the law before training first: its score is a feature of others
VARIANTS = ("before", *(f"{kind}{suffix}" for kind in KINDS for suffix in ("", UNKNOWN, BEFORE)))
# the columns of each variant in the law, in their order
TRAINING_NAMES = (
    "log count",
    "log count over mean",
    "log classes",
    "logit train recall",
    "log train loss",
    "arcsinh train margin",
    "logit train AUC",
    "logit adjusted train recall",
    "logit nearest-mean recall",
    "logit train accuracy",
)
HELD_OUT_NAMES = (
    *TRAINING_NAMES,
    "logit held-out recall",
    "log held-out loss",
    "logit held-out AUC",
    "logit adjusted held-out recall",
    "logit held-out nearest-mean recall",
    "logit held-out balanced accuracy",
)
BEFORE_NAMES = (
    "log count",
    "log count over mean",
    "logit nearest-mean recall",
    "logit nearest-neighbour recall",
    "logit linear recall",
    "log classes",
    "logit linear balanced accuracy",
    "logit nearest-neighbour balanced accuracy",
    "logit linear accuracy",
    "log passes",
    "adaptive",
    "log rate x steps, adaptive",
    "log rate x steps, SGD",
    "batch normalisation",
    "attention",
)
BEFORE_SCORE = "score before training"  # the name of the column that `before` adds
NAMES = {"training": TRAINING_NAMES, "held out": HELD_OUT_NAMES, "before": BEFORE_NAMES}


def measured_rows(path: Path = MEASURED) -> list[dict[str, Any]]:
    """Settings, seen and truth of every task that the law is fitted to."""
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def observations(
    rows: Sequence[dict[str, Any]], variant: str, before: RecallLaw | None = None
) -> tuple[Any, Any, Any, Any]:
    """Features, times, final recalls and weights; `before` is the law whose score is a feature."""
    parts = []
    for row in rows:
        truth = np.array(row["truth"]["recall"], dtype=float)
        for mark in marks_of(variant):
            found, _ = features_at(row, mark, variant, before)
            time = 0.0 if mark == 0 or variant.endswith(UNKNOWN) else np.log(mark / REFERENCE)
            parts.append((found, np.full(len(found), time), truth, np.full(len(found), len(found) ** -0.5)))
    features, times, recalls, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return features, times, recalls, weights


def marks_of(variant: str) -> tuple[float, ...]:
    """The shares of the training that a variant is fitted to."""
    return (0.0,) if variant == "before" else MARKS


def features_at(
    row: dict[str, Any], mark: float, variant: str, before: RecallLaw | None
) -> tuple[Any, tuple[Any, Any] | None]:
    """Features of a task at a mark, and its validation examples as (right, all) where the variant reads them."""
    if mark == 0:
        return recall_law.before_features(*before_of(row["settings"], row["seen"])), None
    told, inputs = inputs_at(row["seen"], mark)
    score = {}
    if before is not None:
        score["before_score"] = before.score(recall_law.before_features(*before_of(row["settings"], inputs)))
    evidence, scored = ClassEvidence.of(told | score, seen=mark), variant.endswith(BEFORE)
    if variant.startswith("training"):
        return recall_law.training_features(evidence, before=scored), None
    shown = np.nan_to_num(evidence.held_out_counts)
    answers = (np.nan_to_num(evidence.held_out_recall) * shown, shown)
    return recall_law.held_out_features(evidence, before=scored), answers


def fit(
    features: Any,
    times: Any,
    recalls: Any,
    weights: Any,
    names: Sequence[str],
    ridge: float = RIDGE,
    start: RecallLaw | None = None,
) -> RecallLaw:
    """The law of these observations. The problem is convex: from another law to `start` from, it comes to the same."""
    centre, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    x = (features - centre) / scale
    timed = bool(np.any(times))
    design = np.hstack([x, x * times[:, None]]) if timed else x
    below = (recalls[:, None] <= np.array(CUTS) + 1e-9).astype(float)
    below[:, CUTS.index(LOST)] = recalls < LOST  # 0.2 itself is kept
    cuts = len(CUTS)

    def loss(vector: Any) -> tuple[float, Any]:
        a = vector[:cuts] + (times[:, None] * vector[cuts : 2 * cuts] if timed else 0.0)
        b = vector[2 * cuts :]
        z = a - (design @ b)[:, None]
        value = np.sum(weights[:, None] * (np.logaddexp(0, z) - below * z)) + 0.5 * ridge * np.sum(b**2)
        residual = weights[:, None] * (1.0 / (1.0 + np.exp(-z)) - below)
        moved = (residual * times[:, None]).sum(axis=0) if timed else np.zeros(cuts)
        return value, np.concatenate([residual.sum(axis=0), moved, ridge * b - design.T @ residual.sum(axis=1)])

    width = x.shape[1]
    first = np.concatenate([np.linspace(-1, 2, cuts), np.zeros(cuts + design.shape[1])])
    if start is not None:
        first = np.concatenate([start.cuts, start.cuts_by_time, start.slopes, start.slopes_by_time])[: first.size]
    options = {"maxiter": 3000, "ftol": 1e-13, "gtol": 1e-7}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options).x
    b = found[2 * cuts :]
    by_time = b[width:] if timed else np.zeros(width)
    return RecallLaw(tuple(names), centre, scale, found[:cuts], found[cuts : 2 * cuts], b[:width], by_time)


def fit_all(rows: Sequence[dict[str, Any]]) -> dict[str, RecallLaw]:
    """Every variant."""
    found: dict[str, RecallLaw] = {}
    for variant in VARIANTS:
        found[variant] = fit_variant(rows, variant, found.get("before"))
    return found


def fit_variant(
    rows: Sequence[dict[str, Any]],
    variant: str,
    before: RecallLaw | None = None,
    ridge: float = RIDGE,
    start: RecallLaw | None = None,
) -> RecallLaw:
    """One variant; `before` is the law before training."""
    features, times, recalls, weights = observations(rows, variant, before)
    names = NAMES[variant.removesuffix(UNKNOWN).removesuffix(BEFORE)]
    names = (*names, BEFORE_SCORE) if variant.endswith(BEFORE) else names
    return fit(features, times, recalls, weights, names, ridge, start)


LeftOut = tuple[float, Any, RecallLaw, Any, tuple[Any, Any] | None]  # mark, recalls, law, features, answers


def left_out_tasks(
    rows: Sequence[dict[str, Any]], variant: str, ridge: float = RIDGE, folds: int = 6
) -> Iterator[LeftOut]:
    """Every task at every mark, with the law of the tasks of other folds."""
    fold = generator(0, "recall law left out").permutation(len(rows)) % folds
    for number in range(folds):
        inside = [row for row, own in zip(rows, fold, strict=True) if own != number]
        before = fit_variant(inside, "before") if variant.endswith(BEFORE) else None
        law = fit_variant(inside, variant, before, ridge)
        for row, own in zip(rows, fold, strict=True):
            if own == number:
                recalls = np.array(row["truth"]["recall"], dtype=float)
                for mark in marks_of(variant):
                    yield mark, recalls, law, *features_at(row, mark, variant, before)


def choices(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Any, float]]:
    """The ranked probability score of tasks left out, for every ridge of a variant, for every trust and every s."""
    scored = KINDS[1] + BEFORE
    for variant, ridge in product(("before", KINDS[1], scored), RIDGES):
        yield variant, ridge, ranked_probability(left_out_tasks(rows, variant, ridge), NO_TRUST)
    tasks = list(left_out_tasks(rows, scored))
    for trust in TRUSTS:
        yield scored, trust, ranked_probability(tasks, trust)
    for wider in WIDERS:
        yield scored, f"s = {wider}", ranked_probability(tasks, TRUST, wider)


def ranked_probability(tasks: Iterator[LeftOut] | Sequence[LeftOut], trust: Trust, wider: float = WIDER) -> float:
    """The mean over classes, weighted as in the fit, of the integral over c of (P(r <= c) - [r <= c])^2."""
    found, weights, steps = 0.0, 0.0, np.diff(FINE, append=1.0)
    for mark, recalls, law, features, answers in tasks:
        time = np.log(mark / REFERENCE) if mark else 0.0
        right, shown = np.zeros((2, recalls.size)) if answers is None else answers
        chances = sharpened(law.distribution(law.score(features, time), time, wider), right, shown, mark, trust)
        found += recalls.size**-0.5 * np.sum(np.square(chances - (recalls[:, None] <= FINE + 1e-9)) @ steps)
        weights += recalls.size**0.5
    return found / weights


def left_out(rows: Sequence[dict[str, Any]], variant: str) -> Iterator[dict[str, float]]:
    """Mark by mark, how well a variant forecasts tasks that had no part in its fit."""
    from sklearn.metrics import roc_auc_score

    parts = []
    for mark, recalls, law, features, answers in left_out_tasks(rows, variant):
        found = law.forecast(features, float(np.log(mark / REFERENCE)), mark, answers)
        held = (recalls >= found.low) & (recalls <= found.high)
        parts.append((np.full(recalls.size, mark), recalls, found.chance_lost, found.recall, held))
    marks, recalls, chances, forecast, held = (np.concatenate(part) for part in zip(*parts, strict=True))
    for mark in np.unique(marks):
        own, lost = marks == mark, recalls[marks == mark] < LOST
        yield {
            "mark": float(mark),
            "AUC": float(roc_auc_score(lost, chances[own])),
            "hit rate": float(np.mean((chances[own] > 0.5) == lost)),
            "error": float(np.mean(np.abs(forecast[own] - recalls[own]))),
            "intervals hold": float(np.mean(held[own])),
        }


def as_json(laws: dict[str, RecallLaw], tasks: int) -> str:
    """The committed form: five significant digits."""
    plain = {
        variant: {"names": list(law.names)}
        | {name: [float(f"{v:.5g}") for v in getattr(law, name)] for name in list(law.__dataclass_fields__)[1:]}
        for variant, law in laws.items()
    }
    return json.dumps({"tasks": tasks, "laws": plain}, indent=1) + "\n"


def main(store: str | None = None) -> None:
    """Write the measured tasks if a store is given, then the constants; or print scores of tasks left out."""
    if store == "--left-out":
        for variant in KINDS[1], KINDS[1] + BEFORE:
            for row in left_out(measured_rows(), variant):
                print(variant, {name: round(value, 3) for name, value in row.items()}, flush=True)
        return
    if store == "--choices":
        for variant, value, score in choices(measured_rows()):
            print(
                variant,
                value,
                f"{score:.5f}",
                "(committed)" if value in (TRUST, RIDGE, f"s = {WIDER}") else "",
                flush=True,
            )
        return
    if store is not None:
        kept = rows_of(recall_early.FAMILY, store, also=used_up())
        rows = [{"settings": dict(row.settings), **row.numbers} for row in kept]
        write_atomically(MEASURED, gzip.compress(json.dumps(rows, separators=(",", ":")).encode(), mtime=0))
    rows = measured_rows()
    write_atomically(COMMITTED, as_json(fit_all(rows), len(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
