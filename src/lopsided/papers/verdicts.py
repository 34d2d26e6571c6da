"""`lopsided.claims`: the register with the latest verdict of each claim, as stored."""

import os
from dataclasses import dataclass
from typing import Any

from lopsided.engine.needs import data_folder, why_absent
from lopsided.engine.store import Store
from lopsided.papers.catalogue import paper_of
from lopsided.papers.claim import Outcome
from lopsided.papers.register import Registered, register
from lopsided.papers.reproduce import own_claims


@dataclass(frozen=True)
class ClaimStatus:
    """A line of the register; `scale` and `time` are None as long as there is no verdict."""

    id: str
    paper: str
    statement: str
    place: str
    verdict: str
    found: str
    scale: str | None
    time: str | None


def claims(
    *, store: str | os.PathLike[str] | None = None, data: str | os.PathLike[str] | None = None
) -> list[ClaimStatus]:
    """Every claim in the register's order; at two scales the later verdict counts."""
    latest: dict[str, dict[str, Any]] = {}
    for verdict in sorted(Store(store).verdicts(), key=lambda stored: str(stored["time"])):
        latest[str(verdict["id"])] = verdict
    with data_folder(data):
        return [_status(entry, latest.get(entry.id)) for entry in register(own_claims()).values()]


def _status(entry: Registered, verdict: dict[str, Any] | None) -> ClaimStatus:
    shown, found, scale, time = Outcome.NOT_RUN.value, _why_not(entry), None, None
    if verdict is not None and entry.claim is not None:
        if verdict.get("version") == entry.claim.version:
            shown, found = str(verdict["verdict"]), str(verdict.get("found", ""))
            scale, time = str(verdict["scale"]), str(verdict["time"])
        else:
            found = f"Its experiment has changed since the verdict of {str(verdict['time'])[:10]}."
    return ClaimStatus(entry.id, paper_of(entry.id), entry.statement, entry.place, shown, found, scale, time)


def _why_not(entry: Registered) -> str:
    if entry.claim is None:
        return entry.problem or ""
    return why_absent(entry.claim.needs, entry.claim.packages) or f"Not run yet: lopsided reproduce {entry.id}"
