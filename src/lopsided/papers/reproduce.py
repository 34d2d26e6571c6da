"""`lopsided.reproduce`: run claims, reuse what is stored, judge, and keep the verdicts.

A claim that cannot run says why (`not run`); a claim that fails with an error says so and does not affect others. Each
call runs one seed set. The verdict is that of all sets in the store, and the record says in how many of them it is the
same.
"""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lopsided.core.errors import InputError, LopsidedError
from lopsided.core.jsonable import jsonable
from lopsided.core.notebook import notebook_view
from lopsided.core.progress import ProgressStart, counter
from lopsided.core.validation import check_texts
from lopsided.engine.cluster import Cluster, run_on_cluster
from lopsided.engine.device import Device, chosen_device, on_device
from lopsided.engine.needs import DATA_VARIABLE, data_folder, why_absent
from lopsided.engine.runner import Failures, run_here
from lopsided.engine.store import Result, Store
from lopsided.engine.task import PlanError, Row, Task, tasks_of
from lopsided.papers.catalogue import paper_of
from lopsided.papers.claim import MEASUREMENT, SET_SIZE, Claim, Outcome, Scale
from lopsided.papers.cost import estimate
from lopsided.papers.evidence import ShippedEvidence, sets_of, shipped
from lopsided.papers.frozen import AWAITING, frozen, rule_hash
from lopsided.papers.judging import SeedSetRun, judged
from lopsided.papers.register import Registered, load_claim, own_claims, register, select


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """One claim after a run: the verdict, its evidence, and how it was reached; the defaults are the state before the
    run.

    `parts` are the stated parts of the claim (name, verdict, measured effect, power), `power` is that of the part with
    the least power; `seed_sets` says in how many of the sets alone the verdict is the `same`, and `sets` describes
    each; `exploration` and `confirmation` are the separate verdicts of those sets. `rule` is the hash of the rule, and
    `seconds` the processor time of the measurements.
    """

    id: str
    verdict: str = Outcome.NOT_RUN.value
    found: str = ""
    statement: str
    source: dict[str, str]
    reading: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    power: dict[str, Any] | None = None
    seed_sets: dict[str, int] | None = None
    sets: list[dict[str, Any]] = field(default_factory=list)
    exploration: str | None = None
    confirmation: str | None = None
    rule: str | None = None
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


def expand(claim: Claim, home: str, scale: Scale, seed_set: int = 0, seeds: int | None = None) -> list[Task]:
    """Every setting of the scale's plan under every seed of a set, each once; `seeds` is how many, if not the plan's
    number."""
    if scale not in claim.plans:
        raise PlanError(f"Expected a plan for the scale {scale}, but {claim.id} has none; choose the other scale.")
    plan = claim.plans[scale].of_set(seed_set, seeds)
    return tasks_of(claim, home, load_claim, plan.settings, plan.seeds, entry=MEASUREMENT)


def reproduce(
    ids: Sequence[str] = (),
    *,
    papers: Sequence[str] = (),
    everything: bool = False,
    scale: Scale = "quick",
    seeds: int | None = None,
    seed_set: int = 0,
    confirm: bool = False,
    jobs: int | None = None,
    cluster: Cluster | None = None,
    store: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    device: Device | None = None,
    fresh: bool = False,
    progress: ProgressStart | None = None,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """Run the named claims and judge them; stored results are reused unless `fresh`.

    Parameters
    ----------
    ids : list of str, default ()
        The claims, by id.
    papers : list of str, default ()
        All claims of these papers.
    everything : bool, default False
        All claims.
    scale : {"quick", "paper"}, default "quick"
        Seconds a claim, or the paper's sizes.
    seeds : int, optional
        How many seeds. By default, each claim's own number.
    seed_set : int, default 0
        Which seeds: no two sets share a seed. Sets that the store holds are judged together.
    confirm : bool, default False
        Run the claims that await confirmation (all of them unless some are named), each on a seed set that was never
        run for it.
    jobs : int, optional
        Processes on this machine. By default, all cores.
    cluster : Cluster, optional
        A Dask scheduler in place of processes here.
    store : path, optional
        The folder of results. By default, $LOPSIDED_STORE or ./lopsided-results.
    data : path, optional
        The folder of the data sets. By default, $LOPSIDED_DATA or ./lopsided-data.
    device : {"cpu", "cuda"}, optional
        Where networks are trained. By default, what $LOPSIDED_DEVICE names, or the CPU.
    fresh : bool, default False
        Do not reuse stored results.
    progress : callable, optional
        Called with the number of tasks. Returns a function that is called with the number of finished tasks.
    tell : callable, optional
        Called with a sentence on the time that the tasks will take, before they run; at paper scale only.
    """
    if scale not in ("quick", "paper"):
        raise InputError("quick or paper as scale", repr(scale), "choose one of those")
    if confirm and seed_set:
        raise InputError("either a seed set or a confirmation", "both", "leave the seed set out")
    ids, papers = check_texts(ids, "the id of a claim"), check_texts(papers, "the name of a paper")
    start = time.perf_counter()
    keeper = Store(store)
    keeper.sweep()
    with data_folder(data), on_device(device, here=cluster is None):
        known = register(own_claims())
        named = select(known, ids, papers, everything or (confirm and not ids and not papers))
        chosen = {claim_id: known[claim_id] for claim_id in named if not confirm or _awaits(known[claim_id])}
        earlier = {str(found["id"]): found for found in keeper.verdicts() if found["scale"] == scale}
        plans = {
            claim_id: _Planned.make(entry, scale, _next_set(claim_id, earlier) if confirm else seed_set, seeds)
            for claim_id, entry in chosen.items()
        }
        wanted = [task for plan in plans.values() for task in plan.tasks]
        if fresh:
            for task in wanted:
                keeper.forget(task)
        stored = {task.key: result for task in wanted if (result := keeper.load(task)) is not None}
        missing = [task for task in wanted if task.key not in stored]
        if tell is not None and scale == "paper" and missing and (cluster is None or chosen_device() == "cpu"):
            cost = estimate(task.settings for task in missing)
            if cost.estimated:
                tell(cost.words)
        failures = _run(missing, keeper, jobs, cluster, progress)
        ended = {
            claim_id: _judge(plan, keeper, scale, failures, stored, earlier.get(claim_id, {}))
            for claim_id, plan in plans.items()
        }
    for claim_id, (record, _) in ended.items():
        if record.verdict != Outcome.NOT_RUN.value:
            keeper.save_verdict(claim_id, scale, jsonable(record))
    return Run(
        claims=[record for record, _ in ended.values()],
        rows={claim_id: rows for claim_id, (_, rows) in ended.items()},
        registered=chosen,
        seconds=time.perf_counter() - start,
    )


def _awaits(registered: Registered) -> bool:
    return frozen().get(registered.id, {}).get("status", AWAITING) == AWAITING


def _next_set(claim_id: str, earlier: dict[str, dict[str, Any]]) -> int:
    """The first seed set that was never run for the claim: not in this store, nor for the evidence that ships."""
    known = [earlier.get(claim_id, {}), *(found.record for found in shipped(claim_id))]
    used = {one.number for record in known for one in sets_of(record)}
    return max(used, default=0) + 1


def rejudged(store: Store) -> Iterator[tuple[Reproduced, list[Row]]]:
    """Every claim for which the store has a verdict and all measurements, judged by the present rule together with the
    shipped seed sets that the store lacks, if their rule is the present one."""
    known = register(own_claims())
    for earlier in store.verdicts():
        entry, scale = known.get(str(earlier["id"])), earlier["scale"]
        if entry is None or entry.claim is None or entry.home is None:
            continue
        for first in sets_of(earlier):
            tasks = expand(entry.claim, entry.home, scale, first.number, first.seeds)
            plan = _Planned(entry, tasks, seed_set=first.number)
            rule = rule_hash(entry.claim, entry.home, scale)
            same = [one for one in shipped(entry.id) if (one.record["scale"], one.record["rule"]) == (scale, rule)]
            packed = [run for one in same for run in _shipped_runs(one)]
            record, rows = _judge(plan, store, scale, {}, {}, earlier, packed)
            if rows and not record.broken:
                yield replace(record, time=str(earlier["time"])), rows
                break


@dataclass(frozen=True)
class _Planned:
    """A chosen claim with its tasks, or with the reason why it has none."""

    registered: Registered
    tasks: list[Task]
    why: str | None = None
    broken: bool = False
    seed_set: int = 0

    @classmethod
    def make(cls, registered: Registered, scale: Scale, seed_set: int, seeds: int | None) -> "_Planned":
        claim, home = registered.claim, registered.home
        if claim is None or home is None:
            return cls(registered, [], registered.problem, registered.broken)
        needs = [*claim.needs, *(claim.paper_needs if scale == "paper" else ())]
        absent = why_absent(needs, claim.packages)
        if absent is not None:
            return cls(registered, [], absent)
        try:
            return cls(registered, expand(claim, home, scale, seed_set, seeds), seed_set=seed_set)
        except InputError:
            raise
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
    plan: _Planned,
    store: Store,
    scale: Scale,
    failures: Failures,
    stored: dict[str, Result],
    earlier: dict[str, Any],
    packed: Sequence[SeedSetRun] = (),
) -> tuple[Reproduced, list[Row]]:
    claim, home = plan.registered.claim, plan.registered.home
    record = _blank(plan.registered, scale)
    if claim is None or home is None or plan.why is not None:
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
    rule = rule_hash(claim, home, scale)
    runs = _seed_sets(
        claim, home, scale, SeedSetRun(number=plan.seed_set, first_rule=rule, results=whole), store, earlier
    )
    known = {run.number for run in runs}
    runs = sorted([*runs, *(run for run in packed if run.number not in known)], key=lambda run: run.number)
    rows = [row for run in runs for row in run.rows]
    try:
        verdict = judged(claim, rule, runs)
    except Exception as error:
        path = store.save_traceback(claim.id, traceback.format_exc())
        found = f"Its rule broke: {type(error).__name__}: {' '.join(str(error).split())} (traceback: {path})"
        return replace(record, found=found, broken=True), rows
    store.clear_traceback(claim.id)
    own = {name: getattr(verdict, name) for name in verdict.__dataclass_fields__}
    reused = sum(task.key in stored for task in plan.tasks)
    return replace(record, **own, rule=rule, tasks=len(plan.tasks), reused=reused), rows


def _seed_sets(
    claim: Claim, home: str, scale: Scale, new: SeedSetRun, store: Store, earlier: dict[str, Any]
) -> list[SeedSetRun]:
    """The set that was just run and those that the store still holds whole, in order; a set keeps the rule that it was
    first run for, here or for the evidence that ships: seeds that were looked at once confirm nothing later."""
    first = {one.number: one.first_rule for one in sets_of(earlier)}
    first |= {one.number: one.first_rule for found in shipped(claim.id) for one in sets_of(found.record)}
    runs = {new.number: replace(new, first_rule=first.get(new.number, new.first_rule))}
    for known in sets_of(earlier):
        if known.number == new.number:
            continue
        results = [store.load(task) for task in expand(claim, home, scale, known.number, known.seeds)]
        whole = [result for result in results if result is not None]
        if whole and len(whole) == len(results):
            runs[known.number] = SeedSetRun(number=known.number, first_rule=first[known.number], results=whole)
    return [runs[number] for number in sorted(runs)]


def _shipped_runs(evidence: ShippedEvidence) -> Iterator[SeedSetRun]:
    """The seed sets of packed evidence; a row's cost is the mean of them all."""
    record, rows = evidence.record, evidence.rows
    origin = record["provenance"]
    packages = dict(origin["versions"][-1])
    provenance = {"version": packages.pop("lopsided"), "packages": packages, "machine": origin["machines"][-1]}
    shared = {"name": record["id"], "version": record["version"], "code": origin["code"]}
    seconds = record["seconds"] / len(rows)
    results = [
        Result(
            **shared,
            settings=dict(row.settings),
            seed=row.seed,
            numbers=dict(row.numbers),
            seconds=seconds,
            processor_seconds=seconds,
            provenance={**provenance, "time": origin["last" if place else "first"]},
        )
        for place, row in enumerate(rows)
    ]
    for known in sets_of(record):
        own = [result for result in results if result.seed // SET_SIZE == known.number]
        yield SeedSetRun(number=known.number, first_rule=known.first_rule, results=own)


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
