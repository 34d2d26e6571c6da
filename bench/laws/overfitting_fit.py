"""Where the regions of Theorem 1 of Xu and Chen 2025 begin: the constants that the check `noise_ratios` reads them by.

The theorem gives no values. These are the widest regions that the cells of the claim bo-phase allow (its evidence that
ships, quick scale, first seed set), with the losses of a cell averaged over the seeds: of one seed alone, losses of
harmful cells, near 1/2, fall below the limit of 0.4 by chance. Errors are half of the range over fits that leave one
seed out. The seed sets that confirm the claim hold the constants to account.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from lopsided.engine.task import Row
from lopsided.papers.claim import SET_SIZE
from lopsided.papers.evidence import shipped
from lopsided.theory.overfitting_bounds import Cell, FitQuality, TheoremConstants, check_constants, fit_constants
from lopsided.worlds.patch_runs import BENIGN, HARMFUL, phase_cell


def fit_regions(rows: Sequence[Row]) -> TheoremConstants:
    """The constants of all cells, each the mean of its seeds."""
    return fit_constants(_means(rows), benign=BENIGN, harmful=HARMFUL)


def held_to_account(constants: TheoremConstants) -> FitQuality:
    """Which promises of the constants are kept by the seeds that they were not fitted on."""
    fresh = [row for row in shipped("bo-phase")[0].rows if row.seed >= SET_SIZE]
    return check_constants(_means(fresh), constants, benign=BENIGN)


def _means(rows: Sequence[Row]) -> list[Cell]:
    cells: dict[str, list[Cell]] = defaultdict(list)
    for row in rows:
        cells[json.dumps(row.settings, sort_keys=True)].append(phase_cell(row))
    return [_mean(runs) for runs in cells.values()]


def _mean(runs: Sequence[Cell]) -> Cell:
    loss, tail = (np.mean(found, axis=0) for found in ([run.loss for run in runs], [run.tail() for run in runs]))
    return Cell(runs[0].terms, loss, sum(run.tests for run in runs), tail)


def fitted() -> tuple[TheoremConstants, dict[str, float]]:
    """The constants, and their errors by name."""
    rows = [row for row in shipped("bo-phase")[0].rows if row.seed < SET_SIZE]
    seeds = sorted({row.seed for row in rows})
    without = [asdict(fit_regions([row for row in rows if row.seed != seed])) for seed in seeds]
    constants = fit_regions(rows)
    return constants, {name: float(np.ptp([one[name] for one in without])) / 2 for name in asdict(constants)}
