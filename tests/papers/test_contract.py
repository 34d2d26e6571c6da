"""The contract that every claim file keeps. Adding a file to a paper's folder adds its tests; nothing else is needed.

Each claim runs at quick scale, or in its smoke plan where it has one, on one core and one thread: its first and its
last setting under the first seed, beside the shipped rows of everything else; all settings under the first seeds where
no evidence of the present settings ships. `lopsided reproduce --all` runs the rest, and says what it cost.
"""

import math
import os
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lopsided.core.figure import Figure
from lopsided.core.jsonable import dump_json
from lopsided.engine.needs import why_absent
from lopsided.engine.store import Result, Store
from lopsided.engine.task import Row, Task
from lopsided.engine.threads import one_thread
from lopsided.engine.work import Failure, attempt
from lopsided.papers.catalogue import PAPERS, catalogue, paper_of
from lopsided.papers.claim import Claim, Outcome
from lopsided.papers.evidence import shipped
from lopsided.papers.frozen import rule_hash
from lopsided.papers.register import Registered, register
from lopsided.papers.reproduce import expand
from lopsided.report.page import panel_table, script_json
from lopsided.report.plotly import figure_json

REFERENCES = Path(__file__).parents[2] / "papers" / "refs.bib"
MOST_SEEDS = 3  # of a claim whose evidence does not ship: rule and plot are the same for more
FILES = {claim_id: entry for claim_id, entry in register().items() if entry.home is not None}


@dataclass(frozen=True)
class Measured:
    """A claim as it was tested: what was run here, and those rows together with the shipped ones of other seeds."""

    claim: Claim
    tasks: Sequence[Task]
    results: Sequence[Result]
    rows: Sequence[Row]


@pytest.fixture(params=sorted(FILES))
def entry(request: pytest.FixtureRequest) -> Registered:
    return FILES[request.param]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Shared by the processes of pytest-xdist, so that a claim is measured once a session."""
    folder = tmp_path_factory.getbasetemp()
    return Store((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "claims")


@pytest.fixture
def measured(entry: Registered, store: Store, request: pytest.FixtureRequest) -> Measured:
    """Every setting of the quick scale, under the seeds that are tested."""
    claim = entry.claim
    assert claim is not None, entry.problem
    assert entry.home is not None
    if claim.needs:
        request.getfixturevalue("data_folder")  # skips, or fails in CI, where there are no data sets
        assert why_absent(claim.needs) is None, claim.needs
    for package in claim.packages:
        pytest.importorskip(package)
    tasks, others = _as_tested(claim, entry.home)
    results = []
    with one_thread():
        for task in tasks:
            outcome = store.load(task) or attempt(task)
            assert isinstance(outcome, Result), outcome.traceback if isinstance(outcome, Failure) else outcome
            store.save(task, outcome)
            results.append(outcome)
    return Measured(claim, tasks, results, [*(Row(one.settings, one.seed, one.numbers) for one in results), *others])


def _as_tested(claim: Claim, home: str) -> tuple[Sequence[Task], list[Row]]:
    """The tasks that are run here, and the shipped rows of all others."""
    if claim.smoke is not None:
        return expand(replace(claim, quick=claim.smoke), home, "quick"), []
    tasks = expand(claim, home, "quick")
    first = [task for task in tasks if task.seed == claim.quick.seeds[0]]
    tested = list({_name(task): task for task in (first[0], first[-1])}.values())
    shipped_here = [row for one in shipped(claim.id) if one.record["scale"] == "quick" for row in one.rows]
    rows = {_name(row): row for row in shipped_here}
    others = {_name(task): task for task in tasks if task not in tested}
    if all(name in rows for name in others):
        return tested, [rows[name] for name in others]
    seeds = tuple(claim.quick.seeds)[:MOST_SEEDS]
    return [task for task in tasks if task.seed in seeds], []


def _name(one: Task | Row) -> tuple[str, int]:
    return dump_json(one.settings), one.seed


def test_the_file_says_what_it_must(entry: Registered) -> None:
    claim = entry.claim
    assert claim is not None, entry.problem
    assert claim.id in catalogue(), "not in papers/register.csv"
    assert claim.source.key in PAPERS[paper_of(claim.id)].keys, "the source is another paper"
    assert re.search(rf"^@\w+\{{{re.escape(claim.source.key)},", REFERENCES.read_text(), re.MULTILINE)
    for words in (claim.statement, claim.source.place, claim.rule, claim.paper_says):
        assert words.strip()
    assert set(claim.plans) == {"quick", "paper"}
    assert claim.version >= 1
    assert 0 < claim.quick_budget_seconds <= 60
    for scale in ("quick", "paper"):
        tasks = expand(claim, "", scale)
        assert tasks
        for task in tasks:
            assert task.settings.get("reading") in {None, *claim.readings}, "a setting names an unknown reading"


def test_a_seed_gives_the_same_numbers(measured: Measured) -> None:
    with one_thread():
        again = attempt(measured.tasks[0])
    assert isinstance(again, Result)
    assert dump_json(again.numbers) == dump_json(measured.results[0].numbers)


def test_the_rule_and_the_plot_work(measured: Measured) -> None:
    claim, rows = measured.claim, measured.rows
    verdict = claim.judge(rows)
    assert verdict.outcome is not Outcome.NOT_RUN
    assert verdict.found.strip()
    assert verdict.numbers
    dump_json(verdict.numbers)
    assert claim.judge(list(reversed(rows))).outcome is verdict.outcome, "the rule depends on the order of the rows"
    figure = claim.plot(rows)
    assert isinstance(figure, Figure)
    assert figure.panels
    script_json(figure_json(figure))
    for panel in figure.panels:
        assert panel_table(panel)["rows"], f"the panel {panel.title} shows nothing"


def test_the_rule_can_fail(measured: Measured) -> None:
    """Inverted numbers must not say `holds`, nor must missing ones: a rule that passes anything is no rule."""
    claim, rows = measured.claim, measured.rows
    outcomes = {name: _outcome(claim, list(corrupt(rows))) for name, corrupt in _INVERSIONS.items()}
    # Rules on errors (small is good) see through a reciprocal, rules on signs through a negation, rules on trends
    # through both or a shuffle; a rule that says holds to all three looks at nothing.
    assert any(outcomes[name] is not Outcome.HOLDS for name in ("negated", "reciprocal", "shuffled")), outcomes
    assert outcomes["missing"] is not Outcome.HOLDS


def test_the_strongest_alternative_law_is_rejected(measured: Measured) -> None:
    """The rows as another plausible law would have them must not say `holds`: neither the few that are measured here
    nor the evidence that ships, which has the power to tell."""
    claim = measured.claim
    home = str(FILES[claim.id].home)
    ships = [one.rows for one in shipped(claim.id) if one.record["rule"] == rule_hash(claim, home, one.record["scale"])]
    for rows in (measured.rows, *ships):
        for name, law in claim.alternatives.items():
            altered = list(law(rows))
            assert _outcome(claim, altered) is not Outcome.HOLDS, name
            assert rows is measured.rows or repr(altered) != repr(list(rows)), f"{name} changes nothing"


def test_every_claim_names_the_strongest_alternative(entry: Registered) -> None:
    assert entry.claim is not None
    assert entry.claim.alternatives


def _outcome(claim: Claim, rows: list[Row]) -> Outcome | None:
    try:
        return claim.judge(rows).outcome
    except Exception:  # a rule may refuse such numbers outright
        return None


def _changed(rows: Sequence[Row], change: Callable[[Any], Any]) -> Iterator[Row]:
    def deep(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: deep(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [deep(entry) for entry in value]
        return change(value)

    for row in rows:
        yield Row(row.settings, row.seed, deep(row.numbers))


def _negated(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return -value if isinstance(value, (int, float)) else value


def _reciprocal(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return math.copysign(1 / max(abs(value), 1e-30), value)
    return value


def _shuffled(rows: Sequence[Row]) -> Iterator[Row]:
    """Each row gets the numbers of another; lists are shuffled within."""
    stream = random.Random(0)
    numbers = [row.numbers for row in rows]
    stream.shuffle(numbers)

    def deep(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: deep(entry) for key, entry in value.items()}
        return stream.sample(value, len(value)) if isinstance(value, list) else value

    for row, other in zip(rows, numbers, strict=True):
        yield Row(row.settings, row.seed, deep(other))


_INVERSIONS: dict[str, Callable[[Sequence[Row]], Iterator[Row]]] = {
    "negated": lambda rows: _changed(rows, _negated),
    "reciprocal": lambda rows: _changed(rows, _reciprocal),
    "shuffled": _shuffled,
    "missing": lambda rows: _changed(rows, lambda value: None),
}
