"""`lopsided.skill`: the published score at once, or the benchmark itself, run or resumed and scored.

One record per family and split. `tasks` were measured; `asked` answers were measured clearly, `decided` of them were
forecast (the rest are abstentions), `right` came true. `baseline` is the best of the family's simple rules on the same
answers, so a recipe has to beat a rule chosen after the fact. `numbers` scores the family's numeric forecasts.
"""

import importlib
import json
import os
import pkgutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from lopsided import __version__
from lopsided.core.errors import InputError
from lopsided.experiments.claim import Row
from lopsided.experiments.needs import data_folder, why_absent
from lopsided.experiments.runner import run_here
from lopsided.experiments.skill.family import (
    SPLITS,
    ChoiceForecaster,
    ChoiceQuestion,
    Family,
    NumberForecaster,
    NumberQuestion,
    Split,
    split_of,
)
from lopsided.experiments.skill.scoring import HitRate, NumberScore, hit_rate, number_score
from lopsided.experiments.store import Store
from lopsided.experiments.tasks import Task, canonical, jsonable_exactly

_PACKAGE = "lopsided.experiments.skill.families"
_PUBLISHED = "published.json"
ProgressStart = Callable[[int], Callable[[int], None]]


@dataclass(frozen=True)
class FamilyScore:
    """One family on one split."""

    family: str
    title: str
    split: Split
    question: str
    recipe: str
    tasks: int
    asked: int
    decided: int
    right: int
    rate: float | None
    interval: tuple[float, float] | None
    ties: int
    baseline: str
    baseline_rate: float | None
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Skill:
    """Every family and split; where it comes from."""

    version: str
    date: str
    scores: list[FamilyScore]
    not_run: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `scores` is the list that `lopsided skill --json` prints."""
        return asdict(self)


def families() -> dict[str, Family]:
    """Every family by id."""
    package = importlib.import_module(_PACKAGE)
    found = [importlib.import_module(f"{_PACKAGE}.{entry.name}") for entry in pkgutil.iter_modules(package.__path__)]
    return {module.FAMILY.id: module.FAMILY for module in found if hasattr(module, "FAMILY")}


def _home(family: Family) -> str:
    return family.measure.__module__


def skill(
    *,
    run: bool = False,
    only: Sequence[str] = (),
    split: Split | None = None,
    jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    most_tasks: int | None = None,
    progress: ProgressStart | None = None,
) -> Skill:
    """The published score; with `run`, measure what the store lacks and score all of it.

    only: families by id (without the leading "skill-" will do). split: measure and score one half. most_tasks: the
    first so many of each family and split, for a trial run.
    """
    if not run:
        return published()
    known = families()
    wanted = [_named(name, known) for name in only] or list(known)
    keeper = Store(store)
    not_run: dict[str, str] = {}
    with data_folder(data):
        plans: dict[str, list[tuple[Split, Task]]] = {}
        for name in wanted:
            absent = why_absent(known[name].needs, known[name].packages)
            if absent is not None:
                not_run[name] = absent
            else:
                plans[name] = _plan(known[name], split, most_tasks)
        tasks = [task for plan in plans.values() for _, task in plan]
        missing = [task for task in tasks if keeper.load(task) is None]
        if missing:
            count = progress(len(missing)) if progress is not None else _silent
            failures = run_here(missing, keeper, jobs=jobs, progress=count)
            for task in missing:
                if task.key in failures:
                    not_run[task.claim] = failures[task.key].sentence
    scores = []
    for name, plan in plans.items():
        for half in SPLITS:
            rows = [
                Row(result.settings, result.seed, result.numbers)
                for own, task in plan
                if own == half and (result := keeper.load(task)) is not None
            ]
            if rows:
                scores.append(score_family(known[name], half, rows))
    return Skill(__version__, time.strftime("%Y-%m-%d", time.gmtime()), scores, not_run)


def _silent(ended: int) -> None:
    """No progress is shown."""


def _named(name: str, known: dict[str, Family]) -> str:
    for candidate in (name, f"skill-{name}"):
        if candidate in known:
            return candidate
    short = ", ".join(entry.removeprefix("skill-") for entry in known)
    raise InputError(f"a family among {short}", repr(name), "name one of those")


def _plan(family: Family, split: Split | None, most: int | None) -> list[tuple[Split, Task]]:
    chosen: list[tuple[Split, Task]] = []
    for half in SPLITS:
        if split is not None and half != split:
            continue
        own = [settings for settings in family.tasks() if split_of(family.id, settings) == half]
        for settings in own[:most]:
            text = canonical(jsonable_exactly(settings))
            chosen.append((half, Task(family.id, _home(family), family.version, text, 0)))
    return chosen


def score_family(family: Family, split: Split, rows: Sequence[Row]) -> FamilyScore:
    """Hit rate of the family's question, its best baseline, and the misses of its numbers."""
    first = family.question
    hits = _hits(first, rows, first.recipes[first.default])
    rates = {name: _hits(first, rows, baseline).rate for name, baseline in first.baselines.items()}
    best = max(rates, key=lambda name: -1.0 if (rate := rates[name]) is None else rate)
    numbers: dict[str, Any] = {
        "recipes": {name: _hits(first, rows, recipe).rate for name, recipe in first.recipes.items()},
        "baselines": rates,
    }
    for question in family.numbers:
        numbers[question.name] = {
            "recipe": question.default,
            "miss": question.miss,
            "recipes": {name: asdict(_misses(question, rows, recipe)) for name, recipe in question.recipes.items()},
            "baselines": {name: asdict(_misses(question, rows, rule)) for name, rule in question.baselines.items()},
        }
    return FamilyScore(
        family=family.id,
        title=family.title,
        split=split,
        question=first.name,
        recipe=first.default,
        tasks=len(rows),
        asked=hits.asked,
        decided=hits.decided,
        right=hits.right,
        rate=hits.rate,
        interval=hits.interval,
        ties=hits.ties,
        baseline=best,
        baseline_rate=rates[best],
        numbers=numbers,
    )


def _hits(question: ChoiceQuestion, rows: Sequence[Row], recipe: ChoiceForecaster) -> HitRate:
    pairs = [
        (question.truth(row.settings, row.numbers["truth"]), recipe(row.settings, row.numbers["seen"])) for row in rows
    ]
    return hit_rate(pairs)


def _misses(question: NumberQuestion, rows: Sequence[Row], recipe: NumberForecaster) -> NumberScore:
    pairs = [
        (question.truth(row.settings, row.numbers["truth"]), recipe(row.settings, row.numbers["seen"])) for row in rows
    ]
    return number_score(pairs, question.miss)


def published() -> Skill:
    """The score that came with this version."""
    text = files("lopsided.experiments.skill").joinpath(_PUBLISHED).read_text(encoding="utf-8")
    fields = json.loads(text)
    scores = [FamilyScore(**{**entry, "interval": _pair(entry["interval"])}) for entry in fields["scores"]]
    return Skill(fields["version"], fields["date"], scores, fields["not_run"])


def _pair(value: list[float] | None) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])
