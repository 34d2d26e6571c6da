"""`lopsided.skill`: the published score, or a run of the benchmark itself (new or resumed) with its score.

There is one record per family and split. `tasks` counts the tasks that were measured, `asked` the answers whose
measurement is clear, `decided` those that were forecast (the rest are abstentions) and `right` those that came true.
`baseline` is the best simple rule of the family on the same answers, so a recipe has to beat a rule that was chosen
afterwards. `numbers` has the hit rate of every recipe and rule and the scores of numeric forecasts; each recipe says
whether it is `shipped`. `details` are for the page: reliability, and the worst misses of the development half. Those of
the published score are only in the repository.
"""

import importlib
import json
import os
import pkgutil
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from lopsided import __version__
from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.progress import ProgressStart, counter
from lopsided.core.published_skill import published_details, published_text
from lopsided.core.validation import check_texts
from lopsided.engine.needs import data_folder, why_absent
from lopsided.engine.runner import run_here
from lopsided.engine.store import Store
from lopsided.engine.task import Measurement, Row, Settings, Task, tasks_of
from lopsided.skill.family import SPLITS, Family, Forecaster, Question, Split, split_of
from lopsided.skill.misses import worst_misses
from lopsided.skill.scoring import choice_reliability, hit_rate, number_reliability, number_score

_PACKAGE = "lopsided.skill.families"
STRICTER = "stricter"  # the key of stricter measures in `numbers`


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
    """The scores of every family and split, and their source."""

    version: str
    date: str
    scores: list[FamilyScore]
    not_run: dict[str, str]
    details: list[dict[str, Any]] = field(default_factory=list)  # as `family_details` gives them

    def _repr_html_(self) -> str:
        """For notebooks: how often the forecasts of every family came true."""
        heads = ("family", "split", "right", "rate", "best simple rule", "its rate")
        rows = [
            [one.title, one.split, f"{one.right} of {one.decided}", one.rate, one.baseline, one.baseline_rate]
            for one in self.scores
        ]
        return notebook_view(f"Forecasts that came true, lopsided {self.version}, {self.date}", (heads, rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `scores` is the list that `lopsided skill --json` prints."""
        return asdict(self)


def families() -> dict[str, Family]:
    """Every family by id."""
    package = importlib.import_module(_PACKAGE)
    found = [importlib.import_module(f"{_PACKAGE}.{entry.name}") for entry in pkgutil.iter_modules(package.__path__)]
    return {module.FAMILY.id: module.FAMILY for module in found if hasattr(module, "FAMILY")}


def _loaded(family: str, home: str) -> Family:
    return families()[family]


def skill(
    *,
    run: bool = False,
    only: Sequence[str] = (),
    split: Split | None = None,
    jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    most_tasks: int | None = None,
    index: int | None = None,
    progress: ProgressStart | None = None,
) -> Skill:
    """How often the forecasts came true: the published score, or one that is measured here.

    Parameters
    ----------
    run : bool, default False
        Measure the tasks that are not in the store, then score all of them.
    only : list of str, default ()
        Families by id; the leading "skill-" may be left out.
    split : {"development", "held-out"}, optional
        One half of the tasks.
    jobs : int, optional
        Processes on this machine. By default, all cores.
    store : path, optional
        The folder of results. By default, $LOPSIDED_STORE or ./lopsided-results.
    data : path, optional
        The folder of the data sets. By default, $LOPSIDED_DATA or ./lopsided-data.
    most_tasks : int, optional
        Use only the first tasks of each family and split, up to this number, for a trial run.
    index : int, optional
        Only the task with this number.
    progress : callable, optional
        Called with the number of tasks. Returns a function that is called with the number of finished tasks.
    """
    only = check_texts(only, "the name of a family")
    if not run:
        if most_tasks is not None or index is not None:
            raise InputError("tasks to run", "the published score, which is stored without its tasks", "add --run")
        told = published()
        chosen = {_named(name, [entry.family for entry in told.scores]) for name in only}
        scores = [one for one in told.scores if one.family in (chosen or {one.family}) and split in (None, one.split)]
        return replace(told, scores=scores)
    known = families()
    wanted = [_named(name, known) for name in only] or list(known)
    keeper = Store(store)
    keeper.sweep()
    not_run: dict[str, str] = {}
    with data_folder(data):
        plans: dict[str, list[tuple[Split, Task]]] = {}
        for name in wanted:
            absent = why_absent(known[name].needs, known[name].packages, purpose="this skill family")
            if absent is not None:
                not_run[name] = absent
            else:
                plans[name] = _plan(known[name], split, most_tasks, index)
        if not plans:
            raise not_run_error("families that can run here", not_run)
        tasks = [task for plan in plans.values() for _, task in plan]
        if index is not None and plans and not tasks:
            raise InputError("the number of a task", index, "look at one of the worst misses of lopsided skill --out")
        # families that ask about the same measurements share them
        missing = list({task.key: task for task in tasks if keeper.load(task) is None}.values())
        if missing:
            failures = run_here(missing, keeper, jobs=jobs, progress=counter(progress, len(missing)))
            for task in tasks:
                if task.key in failures:
                    not_run[task.name] = failures[task.key].sentence
    scores, details = [], []
    for name, plan in plans.items():
        for half in SPLITS:
            rows = _rows([task for own, task in plan if own == half], keeper)
            if rows:
                scores.append(score_family(known[name], half, rows))
                shown = {"runs": [_opened(known[name], row) for row in rows]} if index is not None else {}
                details.append({**family_details(known[name], half, rows), **shown})
    return Skill(__version__, time.strftime("%Y-%m-%d", time.gmtime()), scores, not_run, details)


def _rows(tasks: Sequence[Task], keeper: Store) -> list[Row]:
    found = [result for task in tasks if (result := keeper.load(task)) is not None]
    return [Row(result.settings, result.seed, result.numbers) for result in found]


def _named(name: str, known: Collection[str]) -> str:
    for candidate in (name, f"skill-{name}"):
        if candidate in known:
            return candidate
    short = ", ".join(dict.fromkeys(entry.removeprefix("skill-") for entry in known))
    raise InputError(f"a family among {short}", repr(name))


def _plan(family: Family, split: Split | None, most: int | None, index: int | None) -> list[tuple[Split, Task]]:
    chosen: list[tuple[Split, Task]] = []
    for half in SPLITS:
        if split is not None and half != split:
            continue
        own = [settings for settings in family.tasks() if split_of(family.measured_as or family.id, settings) == half]
        if index is not None:
            own = [settings for settings in own if settings["index"] == index]
        chosen += [(half, task) for task in _tasks(family, own[:most])]
    return chosen


def _tasks(family: Family, settings: Sequence[Settings]) -> list[Task]:
    measured = Measurement(family.measured_as or family.id, family.version, family.measure)
    return tasks_of(measured, family.measure.__module__, partial(_loaded, measured.id), settings)


def score_family(family: Family, split: Split, rows: Sequence[Row]) -> FamilyScore:
    """Hit rate of the family's question, its best baseline, and the errors of its numeric forecasts."""
    first = family.question
    numbers: dict[str, Any] = _scored(first, rows, hit_rate)
    if family.stricter:
        numbers[STRICTER] = {question.name: _scored(question, rows, hit_rate) for question in family.stricter}
    for question in family.numbers:
        scores = _scored(question, rows, partial(number_score, miss=question.miss))
        numbers[question.name] = {"recipe": question.default, "miss": question.miss, **scores}
    hits = numbers["recipes"][first.default]
    rates = {name: found["rate"] for name, found in numbers["baselines"].items()}
    best = max(rates, key=lambda name: -1.0 if rates[name] is None else rates[name])
    return FamilyScore(
        family=family.id,
        title=family.title,
        split=split,
        question=first.name,
        recipe=first.default,
        tasks=len(rows),
        baseline=best,
        baseline_rate=rates[best],
        numbers=numbers,
        **{name: hits[name] for name in ("asked", "decided", "right", "rate", "interval", "ties")},
    )


def number_questions(numbers: dict[str, Any]) -> dict[str, Any]:
    """The scored numbers among a family's `numbers`."""
    return {name: found for name, found in numbers.items() if name not in ("recipes", "baselines", STRICTER)}


def _scored(question: Question[Any], rows: Sequence[Row], score: Callable[[list[Any]], Any]) -> dict[str, Any]:
    """Every recipe and every simple rule of a question."""
    return {
        "recipes": {
            name: {**asdict(score(_pairs(question, rows, recipe))), "shipped": name not in question.unshipped}
            for name, recipe in question.recipes.items()
        },
        "baselines": {name: asdict(score(_pairs(question, rows, rule))) for name, rule in question.baselines.items()},
    }


def family_details(family: Family, split: Split, rows: Sequence[Row]) -> dict[str, Any]:
    """Reliability of the default recipe of every question, and the worst misses if the half may be looked at."""
    first = family.question
    reliability = {
        first.name: [asdict(bin) for bin in choice_reliability(_pairs(first, rows, first.recipes[first.default]))]
    }
    for question in family.numbers:
        pairs = _pairs(question, rows, question.recipes[question.default])
        reliability[question.name] = [asdict(level) for level in number_reliability(pairs, question.miss)]
    return {
        "family": family.id,
        "split": split,
        "reliability": reliability,
        "misses": [asdict(miss) for miss in worst_misses(family, rows)] if split == "development" else [],
    }


def _opened(family: Family, row: Row) -> dict[str, Any]:
    """One task in full: its numbers, its outcome, and the forecasts of every recipe and simple rule."""
    asked: dict[str, Any] = {}
    questions: list[Question[Any]] = [family.question, *family.numbers]
    for question in questions:
        happened: Sequence[Any] = question.truth(row.settings, row.numbers["truth"])
        asked[question.name] = {"happened": [asdict(answer) for answer in happened]}
        for name, forecaster in {**question.recipes, **question.baselines}.items():
            said: Sequence[Any] = forecaster(row.settings, row.numbers["seen"])
            asked[question.name][name] = [asdict(answer) for answer in said]
    return {"settings": row.settings, "seed": row.seed, "numbers": row.numbers, "answers": asked}


def _pairs(question: Question[Any], rows: Sequence[Row], recipe: Forecaster[Any]) -> list[Any]:
    """(truth, forecast) of every task."""
    return [
        (question.truth(row.settings, row.numbers["truth"]), recipe(row.settings, row.numbers["seen"])) for row in rows
    ]


def not_run_error(expected: str, not_run: dict[str, str]) -> InputError:
    """Names the families that did not run, with the reason of the first."""
    absent = ", ".join(name.removeprefix("skill-") for name in not_run)
    remedy = next(iter(not_run.values())).rstrip(".")
    return InputError(expected, f"none of {absent}", remedy[0].lower() + remedy[1:])


def published() -> Skill:
    """The score that came with this version."""
    fields = json.loads(published_text())
    scores = [FamilyScore(**{**entry, "interval": _pair(entry["interval"])}) for entry in fields["scores"]]
    return Skill(fields["version"], fields["date"], scores, fields["not_run"], published_details())


def with_published(found: Skill) -> Skill:
    """The same, with the published entries of the families that were not run."""
    before, fresh = published(), {(entry.family, entry.split) for entry in found.scores}
    scores = [*found.scores, *(entry for entry in before.scores if (entry.family, entry.split) not in fresh)]
    details = [*found.details, *(one for one in before.details if (one["family"], one["split"]) not in fresh)]
    order = {name: place for place, name in enumerate(families())}
    return replace(
        found,
        scores=sorted(scores, key=lambda entry: (order[entry.family], entry.split)),
        details=sorted(details, key=lambda one: (order[one["family"]], one["split"])),
    )


def _pair(value: list[float] | None) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])
