"""Finds every claim: the catalogue's entries, the files of the papers' folders and a folder of the user's own; and
`lopsided.claims`, the register with the latest verdict of each claim, as stored.

A claim file is named by its id with underscores (`lp/lp_etf.py` for lp-etf) and defines `CLAIM`; the other files of a
paper's folder are what its claims share.
A file that cannot be loaded affects only its own claim: the register keeps the error message.
"""

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from lopsided.core.errors import InputError, LopsidedError, MissingPackage
from lopsided.core.notebook import notebook_view
from lopsided.engine.needs import data_folder, why_absent
from lopsided.engine.store import Store
from lopsided.papers.catalogue import PAPERS, CatalogueEntry, Source, catalogue, paper_of
from lopsided.papers.claim import Claim, Outcome
from lopsided.papers.evidence import shipped
from lopsided.papers.frozen import AWAITING, frozen

_PACKAGE = "lopsided.papers"
OWN_CLAIMS_VARIABLE = "LOPSIDED_CLAIMS"


class ClaimFileError(LopsidedError):
    """A claim file does not define a valid claim."""


@dataclass(frozen=True)
class Registered:
    """What is known about a claim: its entry in the catalogue, its experiment, or why there is none."""

    id: str
    entry: CatalogueEntry | None
    claim: Claim | None
    home: str | None
    problem: str | None = None
    broken: bool = False

    @property
    def statement(self) -> str:
        """The claim in a sentence; none for a file of the user's that could not be loaded."""
        known = self.claim or self.entry
        return known.statement if known else ""

    @property
    def source(self) -> Source:
        """Where the paper makes the claim."""
        known = self.claim or self.entry
        return known.source if known else Source("", "")


@dataclass(frozen=True)
class ClaimStatus:
    """A line of the register; `scale` and `time` are None as long as there is no verdict.

    `own` says whether the verdict is of a run in this store or ships with lopsided `lopsided`; `seeds` is how many it
    comes from, `seed_sets` in how many sets of them it is the `same`, `seconds` the processor time that one set of the
    plan's seeds takes by the measured ones, and `exploratory` that its rule awaits confirmation.
    """

    id: str
    paper: str
    statement: str
    place: str
    verdict: str
    found: str
    scale: str | None
    time: str | None
    seeds: int = 0
    seed_sets: dict[str, int] | None = None
    parts: list[dict[str, Any]] = field(default_factory=list)
    power: dict[str, Any] | None = None
    exploratory: bool = False
    seconds: float | None = None
    own: bool = False
    lopsided: str | None = None


class ClaimStatuses(list[ClaimStatus]):
    """The lines of the register, shown as a table in notebooks."""

    def _repr_html_(self) -> str:
        rows = [[line.id, line.verdict, line.statement] for line in self]
        return notebook_view(f"{len(rows)} claims", (("claim", "verdict", "statement"), rows))


def own_claims() -> Path | None:
    """The user's own folder of claim files, if the environment names one."""
    folder = os.environ.get(OWN_CLAIMS_VARIABLE)
    return Path(folder) if folder else None


def register(own: Path | None = None) -> dict[str, Registered]:
    """All claims by id: the catalogue's order, then what only files know; `own` is a folder of further files."""
    found = {name.replace("_", "-"): _registered(name, home) for name, home in _homes(own)}
    why = "Its experiment is not written yet."
    listed = {name: Registered(name, entry, None, None, why) for name, entry in catalogue().items()}
    return listed | found


def load_claim(home: str) -> Claim:
    """The claim of a module (`lopsided.papers.lp.lp_etf`) or of a file (`.../my_claim.py`)."""
    return _load(home, Path(home).stat().st_mtime_ns if home.endswith(".py") else None)


def claims(*, store: str | os.PathLike[str] | None = None, data: str | os.PathLike[str] | None = None) -> ClaimStatuses:
    """Every claim in the register's order, with the latest verdict of the store, or else the one that ships: that of
    the paper's scale where it was run.

    Parameters
    ----------
    store : path, optional
        The folder of results. By default, $LOPSIDED_STORE or ./lopsided-results.
    data : path, optional
        The folder of the data sets. By default, $LOPSIDED_DATA or ./lopsided-data.
    """
    latest: dict[str, dict[str, Any]] = {}
    for verdict in sorted(Store(store).verdicts(), key=lambda stored: str(stored["time"])):
        latest[str(verdict["id"])] = verdict
    with data_folder(data):
        return ClaimStatuses(_status(entry, latest.get(entry.id)) for entry in register(own_claims()).values())


def evidence_of(claim_id: str, store: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
    """The record that `claims` shows: the store's latest, if it is of the present experiment, or what ships."""
    entry = register(own_claims())[claim_id]
    stored = [found for found in Store(store).verdicts() if found["id"] == claim_id]
    return _shown(entry, max(stored, key=lambda found: str(found["time"]), default=None))


def same_text(seed_sets: dict[str, int] | None) -> str:
    """`2 of 3` seed sets; nothing where there is no verdict."""
    return "" if seed_sets is None else f"{seed_sets['same']} of {seed_sets['of']}"


def select(known: dict[str, Registered], ids: list[str], papers: list[str], everything: bool) -> list[str]:
    """The requested ids, in the register's order and each once."""
    if not (ids or papers or everything):
        remedy = "name ids (lopsided claims lists them), a paper (--paper lp) or --all"
        raise InputError("claims to run", "none", remedy)
    for claim_id in ids:
        if claim_id not in known:
            near = get_close_matches(claim_id.lower(), list(known), n=3, cutoff=0.6)
            remedy = f"perhaps {' or '.join(near)} is meant" if near else "lopsided claims lists them all"
            raise InputError("the id of a claim", repr(claim_id), remedy)
    groups = sorted({paper_of(claim_id) for claim_id in known})
    for paper in papers:
        if paper not in groups:
            raise InputError(f"a paper among {', '.join(groups)}", repr(paper), "name one of those")
    return [claim_id for claim_id in known if everything or claim_id in ids or paper_of(claim_id) in papers]


def _homes(own: Path | None) -> Iterator[tuple[str, str]]:
    for paper in PAPERS:
        package = importlib.import_module(f"{_PACKAGE}.{paper}")
        for module in pkgutil.iter_modules(package.__path__):
            if module.name.startswith(f"{paper}_"):
                yield module.name, f"{package.__name__}.{module.name}"
    if own is not None:
        if not own.is_dir():
            raise InputError("a folder of claim files", str(own), "check the path")
        for file in sorted(own.glob("[!_]*.py")):
            yield file.stem, str(file.resolve())


def _registered(name: str, home: str) -> Registered:
    claim_id = name.replace("_", "-")
    entry = catalogue().get(claim_id)
    try:
        claim = load_claim(home)
        if claim.id != claim_id:
            raise ClaimFileError(f"Expected the claim {claim_id} in {name}.py, but it says {claim.id}; rename one.")
    except MissingPackage as error:
        return Registered(claim_id, entry, None, home, str(error))
    except Exception as error:  # a claim file can fail in any way, and must spoil only its own claim
        sentence = str(error) if isinstance(error, LopsidedError) else f"{type(error).__name__}: {error}"
        return Registered(claim_id, entry, None, home, f"The file {name}.py could not be loaded: {sentence}", True)
    return Registered(claim_id, entry, claim, home)


@cache
def _load(home: str, modified: int | None) -> Claim:
    module = _from_file(Path(home)) if home.endswith(".py") else importlib.import_module(home)
    claim = getattr(module, "CLAIM", None)
    if not isinstance(claim, Claim):
        raise ClaimFileError(f"Expected {home} to define CLAIM, but it does not; see papers/claim.py.")
    return claim


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"lopsided_own_claims.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ClaimFileError(f"Expected a Python file at {path}, but it cannot be loaded; check its name.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _shown(entry: Registered, own: dict[str, Any] | None) -> dict[str, Any] | None:
    if entry.claim is None:
        return None
    known = [*([own] if own is not None else []), *(found.record for found in reversed(shipped(entry.id)))]
    return next((found for found in known if found.get("version") == entry.claim.version), None)


def _status(entry: Registered, own: dict[str, Any] | None) -> ClaimStatus:
    found = _shown(entry, own)
    line = ClaimStatus(
        id=entry.id,
        paper=paper_of(entry.id),
        statement=entry.statement,
        place=entry.source.place,
        verdict=Outcome.NOT_RUN.value,
        found=_why_not(entry),
        scale=None,
        time=None,
    )
    if found is None and own is not None and entry.claim is not None:
        return replace(line, found=f"Its experiment has changed since the verdict of {str(own['time'])[:10]}.")
    if found is None:
        return line
    return replace(
        line,
        verdict=str(found["verdict"]),
        found=str(found.get("found", "")),
        scale=str(found["scale"]),
        time=str(found["time"]),
        **_sound(found),
        exploratory=found.get("confirmation") is None or (found is not own and _awaits(entry.id)),
        seconds=_seconds(entry, found),
        own=found is own,
    )


def _sound(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record other than its verdict; records of earlier versions, or damaged ones, have fewer."""
    origin, same = found.get("provenance"), found.get("seed_sets")
    lists = {name: found[name] if isinstance(found.get(name), list) else [] for name in ("seeds", "parts")}
    return {
        "seeds": len(lists["seeds"]),
        "parts": lists["parts"],
        "seed_sets": same if isinstance(same, dict) and {"same", "of"} <= same.keys() else None,
        "power": found["power"] if isinstance(found.get("power"), dict) else None,
        "lopsided": origin.get("lopsided") if isinstance(origin, dict) else None,
    }


def _awaits(claim_id: str) -> bool:
    """Whether the rule has changed since what ships was confirmed, or never was."""
    return frozen().get(claim_id, {}).get("status") == AWAITING


def _seconds(entry: Registered, found: dict[str, Any]) -> float | None:
    """The time of one seed set; None if the record does not have it."""
    spent, seeds, plans = found.get("seconds"), found.get("seeds"), entry.claim.plans if entry.claim else {}
    plan = plans.get(found["scale"])
    if plan is None or not isinstance(spent, float | int) or not isinstance(seeds, list) or not seeds:
        return None
    return spent / len(seeds) * len(plan.seeds)


def _why_not(entry: Registered) -> str:
    if entry.claim is None:
        return entry.problem or ""
    return why_absent(entry.claim.needs, entry.claim.packages) or f"Not run yet: lopsided reproduce {entry.id}"
