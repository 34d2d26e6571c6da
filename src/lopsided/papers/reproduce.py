"""`lopsided.reproduce`: run claims, reuse what is stored, judge, and keep the verdicts.

A claim that cannot run says why (`not run`); a claim that breaks says so and spoils no other.
"""

import os
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lopsided import __version__
from lopsided.core.errors import InputError, LopsidedError
from lopsided.core.jsonable import jsonable
from lopsided.core.notebook import notebook_view
from lopsided.core.progress import ProgressStart, counter
from lopsided.core.validation import check_texts
from lopsided.engine.cluster import Cluster, run_on_cluster
from lopsided.engine.needs import DATA_VARIABLE, data_folder, why_absent
from lopsided.engine.runner import Failures, run_here
from lopsided.engine.store import Result, Store
from lopsided.engine.task import PlanError, Row, Task, tasks_of
from lopsided.papers.catalogue import paper_of
from lopsided.papers.claim import Claim, Outcome, Scale
from lopsided.papers.register import Registered, load_claim, own_claims, register, select


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """One claim after a run: the verdict, what it rests on, and how it was reached; as it stands before the run."""

    id: str
    verdict: str = Outcome.NOT_RUN.value
    found: str = ""
    statement: str
    source: dict[str, str]
    reading: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    seconds: float = 0.0
    scale: str
    tasks: int = 0
    reused: int = 0
    version: int | None
    time: str
    broken: bool = False
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The letters before the first dash of the id."""
        return paper_of(self.id)


@dataclass(frozen=True)
class Run:
    """All claims of one call; `rows` keeps the measured numbers of each for plots and tables."""

    claims: list[Reproduced]
    rows: dict[str, list[Row]]
    registered: dict[str, Registered]
    seconds: float

    def _repr_html_(self) -> str:
        """For notebooks: the verdict of every claim."""
        rows = [[claim.id, claim.verdict, claim.found] for claim in self.claims]
        return notebook_view(
            f"{len(rows)} claims, {self.seconds:.1f} s", (("claim", "verdict", "what was found"), rows)
        )

    @property
    def broken(self) -> bool:
        """Whether any claim broke."""
        return any(claim.broken for claim in self.claims)


def expand(claim: Claim, home: str, scale: Scale) -> list[Task]:
    """Every setting of the scale's plan under every seed, each once."""
    if scale not in claim.plans:
        raise PlanError(f"Expected a plan for the scale {scale}, but {claim.id} has none; choose the other scale.")
    plan = claim.plans[scale]
    return tasks_of(claim, home, load_claim, plan.settings, plan.seeds)


def reproduce(
    ids: Sequence[str] = (),
    *,
    papers: Sequence[str] = (),
    everything: bool = False,
    scale: Scale = "quick",
    jobs: int | None = None,
    cluster: Cluster | None = None,
    store: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    progress: ProgressStart | None = None,
) -> Run:
    """Run the named claims and judge them; what the store holds is reused unless `fresh`."""
    if scale not in ("quick", "paper"):
        raise InputError("quick or paper as scale", repr(scale), "choose one of those")
    ids, papers = check_texts(ids, "the id of a claim"), check_texts(papers, "the name of a paper")
    start = time.perf_counter()
    keeper = Store(store)
    keeper.sweep()
    with data_folder(data):
        known = register(own_claims())
        chosen = {claim_id: known[claim_id] for claim_id in select(known, ids, papers, everything)}
        plans = {claim_id: _Planned.make(entry, scale) for claim_id, entry in chosen.items()}
        wanted = [task for plan in plans.values() for task in plan.tasks]
        if fresh:
            for task in wanted:
                keeper.forget(task)
        stored = {task.key: result for task in wanted if (result := keeper.load(task)) is not None}
        missing = [task for task in wanted if task.key not in stored]
        failures = _run(missing, keeper, jobs, cluster, progress)
        ended = {claim_id: _judge(plan, keeper, scale, failures, stored) for claim_id, plan in plans.items()}
    for claim_id, (record, _) in ended.items():
        if record.verdict != Outcome.NOT_RUN.value:
            keeper.save_verdict(claim_id, scale, jsonable(record))
    return Run(
        claims=[record for record, _ in ended.values()],
        rows={claim_id: rows for claim_id, (_, rows) in ended.items()},
        registered=chosen,
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class _Planned:
    """A chosen claim with its tasks, or with the reason why it has none."""

    registered: Registered
    tasks: list[Task]
    why: str | None = None
    broken: bool = False

    @classmethod
    def make(cls, registered: Registered, scale: Scale) -> "_Planned":
        claim, home = registered.claim, registered.home
        if claim is None or home is None:
            return cls(registered, [], registered.problem, registered.broken)
        needs = [*claim.needs, *(claim.paper_needs if scale == "paper" else ())]
        absent = why_absent(needs, claim.packages)
        if absent is not None:
            return cls(registered, [], absent)
        try:
            return cls(registered, expand(claim, home, scale))
        except LopsidedError as error:
            return cls(registered, [], str(error), scale in claim.plans)


def _run(
    missing: list[Task], store: Store, jobs: int | None, cluster: Cluster | None, progress: ProgressStart | None
) -> Failures:
    if not missing:
        return {}
    count = counter(progress, len(missing))
    if cluster is not None:
        data = os.environ.get(DATA_VARIABLE)
        return run_on_cluster(missing, store, cluster=cluster, data=data, progress=count)
    return run_here(missing, store, jobs=jobs, progress=count)


def _judge(
    plan: _Planned, store: Store, scale: Scale, failures: Failures, stored: dict[str, Result]
) -> tuple[Reproduced, list[Row]]:
    claim = plan.registered.claim
    record = _blank(plan.registered, scale)
    if claim is None or plan.why is not None:
        return replace(record, found=plan.why or "", broken=plan.broken), []
    failed = [failures[task.key] for task in plan.tasks if task.key in failures]
    if failed:
        if all(failure.missing_package for failure in failed):
            return replace(record, found=failed[0].sentence), []
        path = store.save_traceback(claim.id, failed[0].traceback)
        found = f"{len(failed)} of {len(plan.tasks)} tasks broke: {failed[0].sentence} (traceback: {path})"
        return replace(record, found=found, broken=True), []
    results = [stored.get(task.key) or store.load(task) for task in plan.tasks]
    whole = [result for result in results if result is not None]
    if len(whole) < len(results):
        found = f"{len(results) - len(whole)} results vanished from the store during the run; run it again."
        return replace(record, found=found, broken=True), []
    rows = [Row(result.settings, result.seed, result.numbers) for result in whole]
    try:
        verdict = claim.judge(rows)
    except Exception as error:
        path = store.save_traceback(claim.id, traceback.format_exc())
        found = f"Its rule broke: {type(error).__name__}: {' '.join(str(error).split())} (traceback: {path})"
        return replace(record, found=found, broken=True), rows
    store.clear_traceback(claim.id)
    judged = replace(
        record,
        verdict=verdict.outcome.value,
        found=verdict.found,
        numbers=jsonable(dict(verdict.numbers)),
        seeds=sorted({row.seed for row in rows}),
        seconds=sum(result.seconds for result in whole),
        tasks=len(plan.tasks),
        reused=sum(task.key in stored for task in plan.tasks),
        reading=_reading(claim, rows),
        provenance=_origin(whole),
    )
    return judged, rows


def _blank(registered: Registered, scale: Scale) -> Reproduced:
    claim = registered.claim
    return Reproduced(
        id=registered.id,
        statement=registered.statement,
        source=asdict(registered.source),
        scale=scale,
        version=claim.version if claim is not None else None,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _reading(claim: Claim, rows: Sequence[Row]) -> str:
    """The readings that the settings name, in words; a claim with a single reading needs no key."""
    used = [name for name in claim.readings if any(row.settings.get("reading") == name for row in rows)]
    return "; ".join(f"{name}: {claim.readings[name]}" for name in used or claim.readings)


def _origin(results: Sequence[Result]) -> dict[str, Any]:
    """Versions, machines and dates of the tasks, and the code that all of them come from."""
    origins = [result.provenance for result in results]
    return {
        "lopsided": __version__,
        "versions": _distinct([{"lopsided": origin["version"], **origin["packages"]} for origin in origins]),
        "machines": _distinct([origin["machine"] for origin in origins]),
        "first": min((origin["time"] for origin in origins), default=None),
        "last": max((origin["time"] for origin in origins), default=None),
        "code": results[0].code if results else None,
    }


def _distinct(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({repr(value): value for value in values}.values())
