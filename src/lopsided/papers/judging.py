"""From the stored measurements of one claim to its record: the verdict of all seed sets together, of each alone, of the
exploration and of the confirmation, part by part and with the rule's power.

A seed set confirms if the rule that judges it now is the one that it was first run for; the default set explores.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lopsided import __version__
from lopsided.core.jsonable import jsonable
from lopsided.engine.store import Result
from lopsided.engine.task import Row
from lopsided.papers.claim import Claim, Outcome, Part, Verdict


@dataclass(frozen=True, kw_only=True)
class SeedSetRun:
    """The results of one claim under one seed set, and the hash of the rule for which the set was first run."""

    number: int
    first_rule: str
    results: Sequence[Result]

    @property
    def rows(self) -> list[Row]:
        """The measurements."""
        return [Row(result.settings, result.seed, result.numbers) for result in self.results]

    @property
    def seeds(self) -> list[int]:
        """Each once."""
        return sorted({result.seed for result in self.results})


@dataclass(frozen=True, kw_only=True)
class PooledVerdict:
    """The fields of a claim's record that are not in its register entry; see `Reproduced`."""

    verdict: str
    found: str
    numbers: dict[str, Any]
    parts: list[dict[str, Any]]
    power: dict[str, Any] | None
    seed_sets: dict[str, int]
    sets: list[dict[str, Any]]
    exploration: str | None
    confirmation: str | None
    seeds: list[int]
    seconds: float
    reading: str
    provenance: dict[str, Any] = field(default_factory=dict)


def judged(claim: Claim, rule: str, runs: Sequence[SeedSetRun]) -> PooledVerdict:
    """Apply the rule. An error on all rows together is raised; an error on a single set means that the set has no
    verdict."""
    rows = [row for run in runs for row in run.rows]
    verdict = claim.judge(rows)
    alone = {run.number: verdict.outcome if len(runs) == 1 else _outcome(claim, run.rows) for run in runs}
    results = [result for run in runs for result in run.results]
    confirming = [run for run in runs if confirms(run.number, run.first_rule, rule)]
    exploring = [run for run in runs if run not in confirming]
    return PooledVerdict(
        verdict=verdict.outcome.value,
        found=verdict.found,
        numbers=jsonable(dict(verdict.numbers)),
        parts=[_part(part) for part in verdict.parts or _named_parts(verdict)],
        power=_power(verdict),
        seed_sets={"same": sum(outcome is verdict.outcome for outcome in alone.values()), "of": len(runs)},
        sets=[
            {
                "set": run.number,
                "verdict": _word(alone[run.number]),
                "seeds": len(run.seeds),
                "first_rule": run.first_rule,
                "role": "confirmation" if run in confirming else "exploration",
            }
            for run in runs
        ],
        exploration=_together(claim, exploring, runs, verdict),
        confirmation=_together(claim, confirming, runs, verdict),
        seeds=sorted({row.seed for row in rows}),
        seconds=sum(result.processor_seconds for result in results),
        reading=_reading(claim, rows),
        provenance=_origin(results),
    )


def confirms(number: int, first_rule: str, rule: str) -> bool:
    """Whether a seed set is a confirmation of the rule."""
    return number > 0 and first_rule == rule


def _together(claim: Claim, chosen: Sequence[SeedSetRun], runs: Sequence[SeedSetRun], verdict: Verdict) -> str | None:
    if not chosen:
        return None
    whole = len(chosen) == len(runs)
    return _word(verdict.outcome if whole else _outcome(claim, [row for run in chosen for row in run.rows]))


def _outcome(claim: Claim, rows: Sequence[Row]) -> Outcome | None:
    try:
        return claim.judge(rows).outcome
    except Exception:  # too few seeds for the rule; the rows together had enough
        return None


def _word(outcome: Outcome | None) -> str | None:
    return None if outcome is None else outcome.value


def _named_parts(verdict: Verdict) -> list[Part]:
    """Those of a rule that only says of each name whether it passes."""
    named = verdict.numbers.get("parts")
    return [Part(str(name), bool(passes)) for name, passes in named.items()] if isinstance(named, dict) else []


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "verdict": part.outcome.value,
        "measured": jsonable(part.measured),
        "power": None if part.power is None else jsonable(asdict(part.power)),
    }


def _power(verdict: Verdict) -> dict[str, Any] | None:
    weakest = verdict.weakest
    if weakest is None or weakest.power is None:
        return None
    return {"part": weakest.name, **jsonable(asdict(weakest.power))}


def _reading(claim: Claim, rows: Sequence[Row]) -> str:
    """The readings that were run, in words."""
    used = readings_run(claim, rows)
    return "; ".join(f"{name}: {claim.readings[name]}" for name in used)


def readings_run(claim: Claim, rows: Sequence[Row]) -> list[str]:
    """Of the claim's readings, those that ran: named by a setting; the first, where a setting names none; all, where
    one measurement takes them at once."""
    if not rows or claim.readings_at_once:
        return list(claim.readings) if rows else []
    named = {value for row in rows for value in row.settings.values() if isinstance(value, str)}
    ran = [name for name in claim.readings if name in named]
    if any(not _named_in(claim, row) for row in rows):
        ran += [name for name in list(claim.readings)[:1] if name not in ran]
    return [name for name in claim.readings if name in ran]


def _named_in(claim: Claim, row: Row) -> bool:
    """Whether a row's settings name a reading."""
    return any(isinstance(value, str) and value in claim.readings for value in row.settings.values())


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
