"""Stored results belong to one learner: its code, its parameters and the version it comes from."""

import importlib
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.task import measure
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.errors import InputError
from lopsided.learners.learner_identity import learner_identity
from lopsided.learners.named_learner import make_learner
from tests.checkup.trial.helpers import two_gaussians

OWN = """from sklearn.linear_model import LogisticRegression

STRENGTH = {strength}


class Mine(LogisticRegression):
    def __init__(self, random_state=None):
        super().__init__(random_state=random_state)

    def fit(self, X, y, sample_weight=None):
        self.C = STRENGTH
        return super().fit(X, y, sample_weight)
"""


@pytest.fixture
def write_module(tmp_path, monkeypatch):
    """Writes a module and forgets what was imported, as a new process would."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # byte code knows an edit by the second

    def write(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()

    return write


def test_an_edited_learner_is_trained_again(tmp_path, write_module) -> None:
    given = two_gaussians([60, 20], 3.0, np.random.default_rng(0))
    options = {"learner": "edited_learner:Mine", "store": tmp_path / "store", "repeats": 1, "forecasts": False}
    write_module("edited_learner", OWN.format(strength=1e-9))
    first = run_trial(given, Plan([]), **options)
    again = run_trial(given, Plan([]), **options)
    write_module("edited_learner", OWN.format(strength=1e3))
    edited = run_trial(given, Plan([]), **options)
    assert (first.reused, again.reused, edited.reused) == (0, 5, 0)
    recalls = [outcome["plain"].metrics["worst class recall"].estimate.value for outcome in (first, again, edited)]
    assert recalls[0] == recalls[1] == 0.0  # all weight on the penalty: the frequent class is always said
    assert recalls[2] > 0.5
    write_module("edited_learner", OWN.format(strength=1e-9))
    assert run_trial(given, Plan([]), **options).reused == 5


def test_what_decides_a_learner() -> None:
    import sklearn

    logistic = learner_identity(make_learner("logistic"))
    assert logistic["versions"]["scikit-learn"] == sklearn.__version__
    assert "max_iter': 1000" in logistic["parameters"]
    assert logistic["files"] == {}
    assert logistic == learner_identity(make_learner("logistic"))
    assert logistic != learner_identity(make_pipeline(StandardScaler(), LogisticRegression(max_iter=999)))
    long = [
        LogisticRegression(class_weight={code: 1.0 + (code == place) for code in range(500)}) for place in (300, 400)
    ]
    assert repr(long[0]) == repr(long[1])  # scikit-learn shortens what it prints
    assert learner_identity(long[0]) != learner_identity(long[1])


def test_files_of_bases_steps_and_functions_count(write_module) -> None:
    def identity():
        made = make_pipeline(
            FunctionTransformer(importlib.import_module("own_function").twice),
            importlib.import_module("own_child").Child(),
        )
        return learner_identity(made)["files"]

    child = "from own_base import Base\n\n\nclass Child(Base):\n    pass\n"
    texts = {
        "own_base": "from sklearn.dummy import DummyClassifier\n\n\nclass Base(DummyClassifier):\n    pass\n",
        "own_child": child,
        "own_function": "def twice(x):\n    return 2 * x\n",
    }
    for name, text in texts.items():
        write_module(name, text)
    before = identity()
    assert before.keys() == texts.keys()
    for edited in texts:
        for name, text in texts.items():
            write_module(name, text + ("\n# edited\n" if name == edited else ""))
        after = identity()
        assert {name for name in texts if before[name] != after[name]} == {edited}


def test_the_same_in_another_process() -> None:
    """Sets have another order there, and objects other addresses."""
    code = (
        "import numpy as np; from sklearn.dummy import DummyClassifier; "
        "from lopsided.learners.learner_identity import learner_identity; "
        "print(learner_identity(DummyClassifier(strategy={'a', 'b', 'c', 'd'}, constant=np.arange(3), "
        "random_state=np.random.RandomState(0))))"
    )
    run = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    assert len({one.stdout for one in run}) == 1


def test_a_worker_with_older_code_refuses(tmp_path, write_module) -> None:
    write_module("older_learner", OWN.format(strength=1.0))
    given = two_gaussians([30, 20], 1.0, np.random.default_rng(0))
    from lopsided.checkup.inputs.training_set import training_set
    from lopsided.checkup.trial.task import held

    with held("key", training_set(given), "older_learner:Mine"):
        plain = {"kind": "plain", "parameters": {}}
        settings = {"data": "key", "folds": 5, "repeat": 0, "fold": 0, "remedy": plain, "held_back": None}
        settings |= {"learner": "older_learner:Mine", "identity": learner_identity(make_learner("older_learner:Mine"))}
        assert measure(settings, 0)["predicted"]
        settings["identity"] = {**settings["identity"], "files": {"older_learner": "0" * 32}}
        with pytest.raises(InputError, match="start the trial again"):
            measure(settings, 0)
