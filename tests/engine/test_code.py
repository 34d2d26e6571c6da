"""A result's name covers the code it came from: every file of lopsided that the measurement can reach by import."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import lopsided
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.run import Entry, TrialRun
from lopsided.core.partition import Partition
from lopsided.data.labelled_set import LabelledSet
from lopsided.engine.code import closure, closure_hash, code_of
from lopsided.engine.definitions import CodeEntry, reached
from lopsided.engine.store import Result, Store
from lopsided.engine.task import Task
from lopsided.engine.work import Failure, attempt
from lopsided.measure.metrics import METRICS
from lopsided.papers.claim import MEASUREMENT
from lopsided.papers.register import load_claim, register
from lopsided.papers.reproduce import expand, reproduce
from lopsided.remedies.ldam import Ldam
from lopsided.remedies.own import own_arm
from lopsided.remedies.plain import Plain
from lopsided.remedies.tau_normalisation import TauNormalisation
from lopsided.skill.benchmark import families
from tests.engine.conftest import TOYS, measured

SHIPPED = Path(lopsided.__file__).resolve().parent
CLAIM = register()["gi-fraction-small"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of lopsided whose files may be changed."""
    copied = tmp_path / "lopsided"
    shutil.copytree(SHIPPED, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def edit(path: Path, text: str = "\nADDED = 1\n") -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_what_the_claim_measures_with_is_in_its_key_and_the_web_pages_are_not(package: Path) -> None:
    before = closure_hash(CLAIM.home, package)
    assert before == code_of(CLAIM.home)  # the copy is the package
    reached = closure(CLAIM.home, package)
    assert not [name for name in reached if name.split(".")[1] in ("web", "cli", "checkup", "torch", "skill")]
    edit(package / "web/app.py")
    assert closure_hash(CLAIM.home, package) == before
    edit(package / "learners/teacher_student.py")  # imported inside functions only
    assert closure_hash(CLAIM.home, package) != before


def test_a_change_of_the_measurement_makes_the_claim_run_again_and_one_of_its_rule_does_not(
    package: Path, monkeypatch
) -> None:
    """End to end as far as the store sees it: the key of every task changes, so nothing old is found."""
    shared = package.parent / f"{CLAIM.claim.judge.__globals__['risk_numbers'].__module__.replace('.', '/')}.py"
    monkeypatch.setattr("lopsided.engine.task.code_of", lambda home, entry: closure_hash(home, package, entry))
    before = expand(CLAIM.claim, CLAIM.home, "quick")
    for old, new, same in (
        ("average == wanted, average ==", "average != wanted, average ==", True),  # the rule
        ('Figure(title, panels, "Bands', 'Figure(title, panels, "No bands', True),  # the picture
        ('"""Entropy, excess in both', '"""Excess in both', True),  # a docstring
        ("STEPS, FACTOR, DISTANCE = 100", "STEPS, FACTOR, DISTANCE = 200", False),  # a constant of the measurement
        ("law = FisherLaw(problem)", "law = 2 * FisherLaw(problem)", False),  # its formula
    ):
        text = shared.read_text(encoding="utf-8")
        assert old in text
        shared.write_text(text.replace(old, new), encoding="utf-8")
        after = expand(CLAIM.claim, CLAIM.home, "quick")
        assert ([task.key for task in before] == [task.key for task in after]) == same, old
        shared.write_text(text, encoding="utf-8")
    edit(package / "learners/teacher_student.py")  # what the measurement calls, in another room
    assert not {task.key for task in before} & {task.key for task in expand(CLAIM.claim, CLAIM.home, "quick")}


def test_every_edge_of_the_closure_counts(package: Path) -> None:
    """Imports at the top, inside a function, for type checkers, of a module out of its package, and through others."""
    for name, text in {
        "top": "from lopsided.made.far import value\n",
        "inside": "def f():\n    from lopsided.made import far\n    return far\n",
        "types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lopsided.made.far\n",
        "through": "import lopsided.made.top\n",
        "apart": "import json\n",
    }.items():
        (package / "made").mkdir(exist_ok=True)
        (package / f"made/{name}.py").write_text(text)
    (package / "made/__init__.py").write_text("")
    (package / "made/far.py").write_text("value = 1\n")
    names = ("top", "inside", "types", "through", "apart")
    before = {name: closure_hash(f"lopsided.made.{name}", package) for name in names}
    edit(package / "made/far.py")
    changed = [name for name in names if closure_hash(f"lopsided.made.{name}", package) != before[name]]
    assert changed == ["top", "inside", "types", "through"]
    edit(package / "made/__init__.py")  # a folder's own file counts for every module in it
    assert closure_hash("lopsided.made.apart", package) != before["apart"]


def test_a_user_s_own_claim_file_counts_with_all_that_it_imports(package: Path, tmp_path: Path) -> None:
    own = tmp_path / "my_claim.py"
    shutil.copy(TOYS / "toy_sum.py", own)
    before = closure_hash(str(own), package)
    assert {"my_claim.py", "lopsided.papers.claim", "lopsided.core.figure"} <= closure(str(own), package).keys()
    edit(package / "core/figure.py")
    between = closure_hash(str(own), package)
    edit(own)
    assert len({before, between, closure_hash(str(own), package)}) == 3


def test_an_edited_claim_runs_again_in_the_same_process_and_an_untouched_one_does_not(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = laboratory / "own"
    own.mkdir()
    claim = own / "toy_sum.py"
    shutil.copy(TOYS / "toy_sum.py", claim)
    monkeypatch.setenv("LOPSIDED_CLAIMS", str(own))
    assert reproduce(["toy-sum"], jobs=1).claims[0].reused == 0
    assert reproduce(["toy-sum"], jobs=1).claims[0].reused == 12
    claim.write_text(claim.read_text().replace('settings["x"] + seed,', 'settings["x"] + seed + 1,'))
    os.utime(claim, ns=(1, 1))
    again = reproduce(["toy-sum"], jobs=1).claims[0]
    assert (again.reused, again.verdict) == (0, "fails")  # the new formula, and no old number
    assert len(measured(laboratory)) == 24


def test_a_worker_with_other_code_is_refused_with_a_sentence(laboratory: Path) -> None:
    home = str(TOYS / "toy_sum.py")
    task = Task("toy-sum", 1, home, load_claim, '{"x":4}', 3, code_of(home))
    assert isinstance(attempt(task), Result)
    other = replace(task, code="0123456789abcdef")
    assert other.key != task.key
    outcome = attempt(other)
    assert isinstance(outcome, Failure)
    assert outcome.sentence == (
        f"Expected the code 0123456789abcdef of toy-sum on the worker, but it has {task.code}; "
        f"install the same lopsided everywhere."
    )
    assert len(measured(laboratory)) == 1  # it measured nothing


@pytest.mark.parametrize("facade", ["lopsided", "lopsided.torch", "lopsided.remedies"])
def test_names_that_a_package_loads_when_asked_are_reached(facade: str, tmp_path: Path) -> None:
    module = __import__(facade, fromlist=["__all__"])
    names = [name for name in module.__all__ if not name.startswith("__")]
    own = tmp_path / "my_claim.py"
    own.write_text(
        f"def measure(settings, seed):\n    from {facade} import {', '.join(names)}\n    return {names[0]}\n"
    )
    made = [getattr(module, name) for name in names]
    homes = {getattr(entry, "__module__", entry.__name__) for entry in made}  # `skill` is a module itself
    assert homes <= closure(str(own), SHIPPED).keys()
    assert reached(str(own), CodeEntry("measure"), SHIPPED).modules >= {facade}


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("seed: int", "seed: float", True),
        ("-> int", "-> float", True),
        ("    size: int = 1", "    size: float = 1", True),
        ("    size: int = 1", "    size: int = 2", False),
        ("    shared: ClassVar[int]", "    shared: int", False),  # it becomes a field
        ("*, seed", "seed", False),
    ],
)
def test_annotations_are_left_out_where_asked(old: str, new: str, same: bool, tmp_path: Path) -> None:
    own = tmp_path / "my_claim.py"
    text = "class Kept:\n    size: int = 1\n    shared: ClassVar[int] = 1\n\n\n"
    text += "def measure(settings, *, seed: int) -> int:\n    return Kept(seed).size\n"

    def digest(content: str, annotations: bool) -> str:
        own.write_text(content)
        return reached(str(own), CodeEntry("measure", annotations=annotations), SHIPPED).digest

    assert old in text
    assert (digest(text, False) == digest(text.replace(old, new), False)) == same
    assert digest(text, True) != digest(text.replace(old, new), True)


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("torch/remedies/ldam_loss.py", {"LDAM", "tau-normalisation"}),  # one module registers all forms
        ("torch/remedies/head_fits.py", {"LDAM", "tau-normalisation"}),
        ("torch/remedies/forms.py", {"LDAM", "tau-normalisation"}),
        ("remedies/own.py", {"bayes"}),
        ("remedies/mended.py", {"plain", "LDAM", "tau-normalisation", "bayes"}),  # trains every arm
        ("web/app.py", set()),
    ],
)
def test_the_code_that_an_arm_runs_is_in_the_keys_of_its_folds(
    file: str, changed: set[str], package: Path, monkeypatch
) -> None:
    """The task imports neither the PyTorch forms, which register themselves, nor the arms that a user brings."""
    pytest.importorskip("torch")
    for module in ("lopsided.engine.task", "lopsided.checkup.trial.run"):
        monkeypatch.setattr(f"{module}.code_of", lambda home, entry=None: closure_hash(home, package, entry))
    entries = [Entry(remedy) for remedy in (Plain(), Ldam(), TauNormalisation(), own_arm(("bayes", GaussianNB())))]
    training = LabelledSet(np.arange(4), Partition("class", np.arange(4) % 2, ("a", "b")), None, np.eye(4))
    run = TrialRun(
        training, entries, Plan([]), "deep", {}, METRICS["balanced"], 2, 1, 0, Store(package.parent), forecasts=False
    )

    def keys() -> dict[str, str]:
        return {entry.remedy.name: run._task(entry, 0, 1).key for entry in entries}

    before = keys()
    assert keys() == before
    edit(package / file)
    assert {name for name, key in keys().items() if key != before[name]} == changed


def test_every_check_is_reached_by_what_runs_them_all() -> None:
    from lopsided.checkup.checks import all_checks

    reached = closure("lopsided.checkup.audit", SHIPPED)
    assert {check.run.__module__ for check in all_checks()} <= reached.keys()


def test_a_module_alone_does_not_pull_in_what_its_package_names_in_strings(package: Path) -> None:
    before = closure_hash("lopsided.remedies.logit_adjustment", package)
    edit(package / "remedies/oversampler.py")
    assert closure_hash("lopsided.remedies.logit_adjustment", package) == before


def test_constants_in_a_data_file_are_part_of_the_code_that_names_them(package: Path) -> None:
    """A prior that was fitted again makes the remedy tasks new, a new recall law those that watch a run; the published
    score, which is what results say, makes nothing new."""
    homes = {name: family.measure.__module__ for name, family in families().items()}

    def keys() -> dict[str, str]:
        claim = {"claim": closure_hash(CLAIM.home, package, MEASUREMENT)}
        return {name: closure_hash(home, package) for name, home in homes.items()} | claim

    before = keys()
    for file, reached_by in (
        ("checkup/decision/prior.json", {"skill-remedies"}),
        ("theory/recall_law.json", {"skill-recall-early", "skill-recall-before", "skill-recall-cause"}),
        ("core/published_skill.json", set()),
    ):
        text = (package / file).read_text()
        edit(package / file, "\n")
        assert {name for name, key in keys().items() if key != before[name]} == reached_by, file
        (package / file).write_text(text)
    assert keys() == before


def test_constants_count_where_the_definitions_that_are_reached_name_them(package: Path) -> None:
    home, entry = "lopsided.made", CodeEntry("measure", inside=("lopsided.made",))
    (package / "made.py").write_text(
        'def measure():\n    return open("made.json")\n\n\ndef judge():\n    return open("made.csv")\n'
    )
    for name in ("made.json", "made.csv"):
        (package / name).write_text("1")
    before = closure_hash(home, package, entry), closure_hash(home, package)
    edit(package / "made.csv", "2")  # named by the rule alone
    assert closure_hash(home, package, entry) == before[0]
    assert closure_hash(home, package) != before[1]
    edit(package / "made.json", "2")
    assert closure_hash(home, package, entry) != before[0]
