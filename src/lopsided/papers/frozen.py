"""A rule is frozen before it is confirmed: its hash is in `frozen.csv`, and a confirmation is a run of the same rule on
seeds that nobody had looked at.

The hash covers the code of the rule and of the measurement in `papers` and `worlds` (for the rule, also in
`core.statistics`), the settings of the scale and the number of its seeds. Formatting, comments, annotations, words and
pictures do not count. `papers/ship` rewrites the table; a claim whose rule has changed since its last confirmation is
marked `awaiting confirmation` there, and its verdict is shown as exploratory.
"""

import csv
import hashlib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from lopsided.core.jsonable import jsonable
from lopsided.engine.definitions import reached
from lopsided.engine.task import canonical
from lopsided.papers.claim import MEASUREMENT, Claim, Scale

AWAITING = "awaiting confirmation"
CONFIRMED = "confirmed"
COLUMNS = ("id", "rule", "status")
_RULE = replace(
    MEASUREMENT,
    ignored=tuple("measure" if name == "judge" else name for name in MEASUREMENT.ignored),
    inside=("lopsided.papers", "lopsided.worlds", "lopsided.core.statistics"),
    outside=False,
    annotations=False,
)
_MEASUREMENT = replace(MEASUREMENT, outside=False, annotations=False)
_PACKAGE = Path(__file__).resolve().parent.parent


def rule_hash(claim: Claim, home: str, scale: Scale = "quick") -> str:
    """12 digits that change when rule, measurement or settings do."""
    plan = claim.plans[scale]
    settings = sorted(canonical(jsonable(entry)) for entry in plan.settings)
    content = [_code(home, Path(home).stat().st_mtime_ns if home.endswith(".py") else None)]
    content += [str(claim.version), str(len(list(plan.seeds))), *settings]
    return hashlib.sha256("\x1f".join(content).encode()).hexdigest()[:12]


@cache
def _code(home: str, modified: int | None) -> str:
    return " ".join(reached(home, entry, _PACKAGE).digest for entry in (_RULE, _MEASUREMENT))


@cache
def frozen() -> dict[str, dict[str, str]]:
    """The table by claim: the hash of its rule at quick scale, and whether that rule has been confirmed."""
    text = files("lopsided.papers").joinpath("frozen.csv").read_text(encoding="utf-8")
    return {line["id"]: line for line in csv.DictReader(text.splitlines())}
