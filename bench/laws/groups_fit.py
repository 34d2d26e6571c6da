"""The constants of the skill families on groups and on curation, from their measured development tasks.

    lopsided bench fits                            the constants with their errors
    python -m bench.laws.groups_fit FILE [STORE]   writes the file of measured tasks, from a store

    WIDTH (group_adult, group_images, curation)   the deviations that nine of ten changes need
    SECOND_ORDER, SPREAD (group_mixtures)         `second_order` and `spread`

Errors are deviations over bootstrap samples of the tasks. The constants of `Shrinkage` were chosen by hand; `best_mean`
and `best_deviation` say what a search would give instead, and how much better that would be:

    pull, scaling            the smallest product of the two families' mean absolute errors (their changes differ in
                             size fivefold)
    expected, share, risk    the largest likelihood of the measured changes under normal laws
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from bench.laws.merging_data import rows_of
from scipy.optimize import minimize

from lopsided.core.files import write_atomically
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.engine.task import Row
from lopsided.skill.benchmark import families
from lopsided.skill.families import curation, group_adult, group_images, group_mixtures
from lopsided.skill.group_questions import SHRINKAGE, Shrinkage, thinned_and_law
from lopsided.skill.scoring import Z90, number_score

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured" / "groups_development.json.gz"
WIDTHS = {
    "skill-group-adult": group_adult.WIDTH,
    "skill-group-images": group_images.WIDTH,
    "skill-curation": curation.WIDTH,
}
MIXTURES = "skill-group-mixtures"
GROUPS = ("skill-group-adult", "skill-group-images")
DIGITS = 6
SAMPLES = 200  # of the bootstrap
Tasks = dict[str, list[Row]]


@dataclass(frozen=True)
class Constant:
    """What the tasks give, its error, and what is committed."""

    found: float
    error: float
    committed: float


def write_measured(rows: Tasks, path: Path) -> None:
    """Settings and numbers to six digits, by family."""
    content = {name: [[row.settings, _rounded(row.numbers)] for row in own] for name, own in rows.items()}
    text = json.dumps(content, separators=(",", ":"))
    write_atomically(path, gzip.compress(text.encode(), mtime=0))


def measured(path: Path = MEASURED) -> Tasks:
    """The development tasks as they stand in the repository."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    return {name: [Row(settings, 0, numbers) for settings, numbers in own] for name, own in content.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


def constants(tasks: Tasks) -> dict[str, Constant]:
    """Widths by family, and both constants of the mixtures."""
    found = {
        f"{name} WIDTH": _constant(tasks[name], lambda rows, name=name: needed(name, rows), committed)
        for name, committed in WIDTHS.items()
    }
    own = tasks[MIXTURES]
    found["SECOND_ORDER"] = _constant(own, second_order, group_mixtures.SECOND_ORDER)
    found["SPREAD"] = _constant(own, spread, group_mixtures.SPREAD)
    return found


def _with_law(rows: Sequence[Row]) -> Iterator[tuple[tuple[FloatArray, FloatArray], dict[str, Any]]]:
    for row in rows:
        law = group_mixtures.excesses(group_mixtures.seen_problem, row.settings, row.numbers["seen"])
        if law is not None and row.numbers["truth"]["now"] is not None:
            yield law, row.numbers["truth"]


def second_order(rows: Sequence[Row]) -> float:
    """`SECOND_ORDER` from measured tasks: the median of log(truth / law) / law over their groups."""
    found = [np.log(np.array(truth["now"]) / now) / now for (now, _), truth in _with_law(rows)]
    return float(np.median(np.concatenate(found)))


def spread(rows: Sequence[Row]) -> float:
    """`SPREAD` from measured tasks: the deviation of a normal law with their median error of a change. A mean square
    would be dominated by a few tasks in which neurons trade places."""
    found = [
        np.abs(later - now - (np.array(truth["later"]) - np.array(truth["now"]))) / now
        for (now, later), truth in _with_law(rows)
        if truth["later"] is not None
    ]
    return float(np.median(np.concatenate(found))) / NormalDist().inv_cdf(0.75)


def needed(name: str, rows: Sequence[Row]) -> float:
    """The width with which the intervals of a family's numbers would hold nine of ten."""
    (question,) = families()[name].numbers
    recipe = question.recipes[question.default]
    pairs = [
        (question.truth(row.settings, row.numbers["truth"]), recipe(row.settings, row.numbers["seen"])) for row in rows
    ]
    factor = number_score(pairs, question.miss).width_needed
    assert factor is not None
    return WIDTHS[name] * factor


def _constant(rows: Sequence[Row], fit: Callable[[Sequence[Row]], float], committed: float) -> Constant:
    draws = generator(0, "bootstrap").integers(len(rows), size=(SAMPLES, len(rows)))
    again = [fit([rows[place] for place in draw]) for draw in draws]
    return Constant(fit(rows), float(np.std(again, ddof=1)), committed)


def mean_error(tasks: Tasks, how: Shrinkage) -> float:
    """Geometric mean over the families of the mean absolute error of a change."""
    return float(np.exp(np.mean([np.log(np.abs(_misses(tasks[name], how)[0]).mean()) for name in GROUPS])))


def log_likelihood(tasks: Tasks, how: Shrinkage) -> float:
    """Of all measured changes, each normal about its forecast."""
    total = 0.0
    for name in GROUPS:
        miss, deviation = _misses(tasks[name], how)
        scale = deviation * WIDTHS[name] / Z90
        total -= float(np.sum(0.5 * (miss / scale) ** 2 + np.log(scale)))
    return total


def _misses(rows: Sequence[Row], how: Shrinkage) -> tuple[FloatArray, FloatArray]:
    found = [(*thinned_and_law(row.settings, row.numbers["seen"], how), row.numbers["truth"]["change"]) for row in rows]
    misses = [change - np.array(truth) for change, _, truth in found]
    return np.concatenate(misses), np.concatenate([deviation for _, deviation, _ in found])


def best_mean(tasks: Tasks) -> Shrinkage:
    """`pull` and `scaling` with the smallest error."""
    return _searched(("pull", "scaling"), lambda how: np.log(mean_error(tasks, how)))


def best_deviation(tasks: Tasks) -> Shrinkage:
    """`expected`, `share` and `risk` with the largest likelihood."""
    return _searched(("expected", "share", "risk"), lambda how: -log_likelihood(tasks, how))


def _searched(names: Sequence[str], loss: Callable[[Shrinkage], float]) -> Shrinkage:
    def at(place: FloatArray) -> Shrinkage:
        return replace(SHRINKAGE, **dict(zip(names, np.exp(place).tolist(), strict=True)))

    start = np.log([getattr(SHRINKAGE, name) for name in names])
    return at(minimize(lambda place: loss(at(place)), start, method="Nelder-Mead").x)


def main(target: str, store: str | None = None) -> None:
    """Write the measured development tasks that the fits read."""
    names = (MIXTURES, *WIDTHS)
    write_measured({name: rows_of(families()[name], store) for name in names}, Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
