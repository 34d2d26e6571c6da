"""The constants of the merging law and of the survival law, fitted again to the measured tasks; those of the regions of
benign overfitting, fitted again to the cells of the claim bo-phase; those of the skill families on groups and curation,
and how near the best the ones are that were chosen by hand.

`lopsided bench fits` prints them beside the committed ones; a test holds the two against each other.
`python -m bench.fits FILE [STORE]` writes the file of measured tasks anew, from a store of the skill benchmark.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.laws import groups_fit, overfitting_fit
from bench.laws.merging_data import FAMILIES, measured_tasks, rows_of, write_measured
from bench.laws.merging_fit import fit_all
from bench.laws.survival_fit import survival_fits

from lopsided.checkup.checks.noise_ratios import CONSTANTS
from lopsided.skill.benchmark import families
from lopsided.theory import merging_law


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows for `lopsided bench`: a set of constants each, with their errors and what is committed."""
    tasks = measured_tasks()
    for name, one in fit_all(tasks).items():
        committed = asdict(getattr(merging_law, name))
        note = _told(asdict(one.law), one.errors_by_name, committed)
        yield {"what": f"{name}, {len(one.without)} tasks", "note": note}
    for name, law in survival_fits(tasks).items():
        yield {"what": f"{name}, {law.tasks} tasks", "note": _told(law.constants, law.errors, law.committed)}
    regions, errors = overfitting_fit.fitted()
    yield {"what": "regions of benign overfitting", "note": _told(asdict(regions), errors, asdict(CONSTANTS))}
    yield from _groups(groups_fit.measured())


def _groups(tasks: groups_fit.Tasks) -> Iterator[dict[str, Any]]:
    found = groups_fit.constants(tasks)
    told = ({name: getattr(one, what) for name, one in found.items()} for what in ("found", "error", "committed"))
    yield {"what": "groups and curation", "note": _told(*told)}
    chosen, mean, deviation = groups_fit.SHRINKAGE, groups_fit.best_mean(tasks), groups_fit.best_deviation(tasks)
    best = {name: vars(mean)[name] for name in ("pull", "scaling")}
    best |= {name: vars(deviation)[name] for name in ("expected", "share", "risk")}
    ratio = groups_fit.mean_error(tasks, chosen) / groups_fit.mean_error(tasks, mean)
    nats = groups_fit.log_likelihood(tasks, deviation) - groups_fit.log_likelihood(tasks, chosen)
    note = f"; errors {ratio:.3f} times the best, {nats:.2g} nats less likely"
    yield {"what": "shrinkage, chosen by hand", "note": _told(best, {}, asdict(chosen)) + note}


def _told(constants: dict[str, float], errors: dict[str, float], committed: dict[str, float]) -> str:
    return "; ".join(
        f"{key} {value:.3g}" + (f" ± {errors[key]:.2g}" if key in errors else "") + f" ({committed[key]:.3g})"
        for key, value in constants.items()
    )


def main(target: str, store: str | None = None) -> None:
    """Write the measured development tasks that the fits read."""
    write_measured([row for name in FAMILIES for row in rows_of(families()[name], store)], Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
