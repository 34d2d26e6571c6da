"""Calls of every public function and class with generated arguments, and of what their results can do.

A call must return, or raise a `LopsidedError` that is one sentence. The estimators with scikit-learn's interface may
also raise what scikit-learn's own validation raises, as its conventions ask.
"""

import re
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import lopsided
from tests.faults.call_values import ANYTHING, NUMBERS, TEXT, labels, matrices, mostly
from tests.faults.console import QUIET
from tests.faults.hostile_objects import (
    ARMS,
    BUDGETS,
    COSTS,
    LEARNERS,
    METRICS,
    SAMPLERS,
    SOUND_METRICS,
    SOUND_SPLITTERS,
    SPLITTERS,
    TIMES,
    WEIGHTS,
)

Report = Callable[[int, str, str, str], None]
_ROWS = st.sampled_from((0, 1, 2, 3, 12, 12, 30, 30))
_SKLEARN = ("MendedClassifier", "Oversampler", "TeacherStudentClassifier")
_COUNTS = st.one_of(
    st.sampled_from(("5000*5,50*5", "9,8", "100*3,1", "1*2,2", "1e5,1", "10*1000,1")),
    st.lists(st.integers(1, 10_000), min_size=2, max_size=6),
    st.dictionaries(TEXT, st.integers(1, 99), min_size=2, max_size=4),
    st.lists(NUMBERS, max_size=5),
)


def _options(draw: st.DrawFn, usual: dict[str, st.SearchStrategy[Any]], most: int = 3) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(usual)), max_size=most, unique=True))
    return {name: draw(mostly(usual[name])) for name in names}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """(public name, what it is called with)."""
    name = draw(st.sampled_from(sorted(_MAKERS)))
    return name, _MAKERS[name](draw)


def _collapse(draw: st.DrawFn) -> dict[str, Any]:
    numbers = dict.fromkeys(
        ("feature_energy", "weight_energy", "tau", "multiplier", "weight_decay", "feature_decay", "target_cosine"),
        st.one_of(st.sampled_from((0.3, 1.0, 5.0, 5e-4, -0.1)), NUMBERS),
    )
    more = {
        "features": st.sampled_from(("free", "relu", "x")),
        "class_weights": st.lists(st.floats(0.1, 9), max_size=5),
        "plan": st.booleans(),
        "tolerance": NUMBERS,
    }
    usual = draw(st.sampled_from(({"tau": 3.0}, {"weight_decay": 5e-4}, {"feature_energy": 5, "weight_energy": 1}, {})))
    return {"counts": draw(mostly(_COUNTS)), **usual, **_options(draw, numbers | more, 2)}


def _rates(draw: st.DrawFn) -> dict[str, Any]:
    recipe = st.dictionaries(st.sampled_from(("weight_decay", "step", "batch_size", "tau", "safety", "odd")), NUMBERS)
    rate = st.one_of(st.sampled_from(("forecast", "balanced", "sqrt", "x")), NUMBERS, st.dictionaries(TEXT, NUMBERS))
    return {"counts": draw(mostly(_COUNTS)), "rate": draw(mostly(rate)), **_options(draw, {"recipe": recipe}, 1)}


def _mixture(draw: st.DrawFn) -> dict[str, Any]:
    entry = st.one_of(
        NUMBERS, st.lists(NUMBERS, max_size=2), st.just([[1.0, 0.2], [0.2, 1.0]]), st.just(1.0), st.just(0)
    )
    group = st.fixed_dictionaries(
        {"fraction": mostly(st.just(0.5)), "mean": mostly(entry), "covariance": mostly(entry)}
    )
    teacher = st.one_of(
        st.just({"weights": [[1.0, 0.0], [0.0, 1.0]]}),
        st.just({"neurons": 2, "dimension": 2}),
        st.dictionaries(st.sampled_from(("weights", "neurons", "seed", "scale", "activation")), ANYTHING, max_size=3),
    )
    whole = st.fixed_dictionaries({"group": st.lists(group, min_size=2, max_size=2), "teacher": teacher})
    return {"specification": draw(mostly(whole)), "samples": draw(mostly(st.sampled_from((1000, 10**6, 1))))}


def _audit(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(_ROWS)
    more = {
        "groups": st.one_of(labels(rows), st.just({"a": np.arange(rows) % 2, "b": np.arange(rows) % 3}), TEXT),
        "classifier": matrices(3, st.sampled_from((2, 3))),
        "bias": st.lists(NUMBERS, min_size=3, max_size=3),
        "probabilities": st.just(np.full((rows, 3), 1 / 3)),
        "logits": matrices(rows, st.just(3)),
        "predictions": labels(rows),
        "split": st.sampled_from((None, np.arange(rows) % 2 > 0, ["train", "test"] * (rows // 2))),
        "weight_decay": NUMBERS,
        "classes": st.just([0, 1, 2]),
        "checks": st.sampled_from((["counts"], ["duplicates", "counts"], ["x"], [])),
        "seed": st.integers(-1, 9),
    }
    data = draw(mostly(matrices(rows, st.sampled_from((0, 1, 2, 3, 5)))))
    return {"data": data, "labels": draw(mostly(labels(rows))), **_options(draw, more, 2)}


ODD_ARMS = ([], ["x"], [3], "smoot", [("x", None)], ["os:system"], [object()])
ASKED_ARMS = (*ODD_ARMS, *([one] for one in (*SAMPLERS, *ARMS)))


def _plan(draw: st.DrawFn) -> dict[str, Any]:
    made = _audit(draw)
    made = {key: value for key, value in made.items() if key in ("data", "labels", "groups", "split", "weight_decay")}
    more = {
        "metric": st.sampled_from(("x", "cost", "recall:0", *SOUND_METRICS)),
        "group": TEXT,
        "recipe": st.dictionaries(st.sampled_from(("weight_decay", "tau", "odd")), NUMBERS, max_size=2),
        "arms": st.sampled_from(ASKED_ARMS),
        "seed": st.integers(-1, 9),
    }
    return made | _options(draw, more, 1)


def _trial(draw: st.DrawFn) -> dict[str, Any]:
    more = {
        "learner": st.sampled_from(("x", "os:system", "network(-1)", *LEARNERS)),
        "folds": st.sampled_from((0, 1, 2.5, 1000)),
        "repeats": st.sampled_from((0, -1)),
        "jobs": st.sampled_from((0, -1)),
        "arms": st.sampled_from(ASKED_ARMS),
        "cv": st.sampled_from(
            ("x", -1, [], [1], [([0], [0])], [([0, 1], [10**9])], object(), *SPLITTERS, *SOUND_SPLITTERS)
        ),
        "split_by": TEXT | st.just([[1]]) | st.just([None]),
        "time": TEXT | st.just([float("nan")]) | st.sampled_from(TIMES),
        "sample_weight": TEXT | st.just([-1.0]) | st.sampled_from(WEIGHTS),
        "budget": st.sampled_from(BUDGETS),
        "costs": st.sampled_from(COSTS),
    }
    few = {"folds": 3, "repeats": 1, "jobs": 1, "arms": ["class weights"], "forecasts": False}
    return _plan(draw) | few | (_options(draw, more, 2) or {"folds": 0})


def _mended(draw: st.DrawFn) -> dict[str, Any]:
    more = {
        "estimator": st.sampled_from(("x", "logistic", *LEARNERS)),
        "metric": st.sampled_from(("f1", "brier", *METRICS)),
        "costs": st.sampled_from(COSTS),
        "budget": st.sampled_from(BUDGETS),
        "recalibrate": st.booleans(),
        "seed": st.integers(-1, 3),
    }
    rows = draw(_ROWS)
    known = ("auto", "logit adjustment", "threshold moving", "SMOTE", "group DRO", "logit", ["class weights"], [])
    about = {"estimator": LogisticRegression(), "remedy": draw(mostly(st.sampled_from((None, *known, *SAMPLERS))))}
    fit = {"groups": labels(rows), "sample_weight": st.sampled_from((np.ones(rows), *WEIGHTS))}
    return {
        "make": about | {"budget": 1e-6} | _options(draw, more, 1),
        "X": draw(mostly(matrices(rows, st.sampled_from((0, 2, 3))))),
        "y": draw(mostly(labels(rows))),
        "fit": _options(draw, fit, 1),
    }


def _score(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(_ROWS)
    more = {
        "features": TEXT,
        "convention": st.sampled_from(("n", "n-1", "x")),
        "noise_matrix": st.booleans(),
        "estimator": st.sampled_from(("auto", "sample", "shrunk", "unbiased", "x")),
        "resamples": st.sampled_from((0, 1, 20, -1)),
        "extremes": st.integers(-1, 9),
        "block_rows": st.sampled_from((1, 7, 1000, 0)),
        "seed": st.integers(-1, 9),
    }
    data = draw(mostly(matrices(rows, st.sampled_from((0, 1, 2, 3, 5)))))
    return {"data": data, "labels": draw(mostly(labels(rows))), **_options(draw, more, 2)}


def _fit(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(_ROWS)
    more = {
        "samples": st.integers(-1, 100),
        "neurons": st.integers(-1, 3),
        "groups": st.integers(-1, 3),
        "components": st.integers(-1, 3),
        "label": TEXT,
        "positive": TEXT,
        "seed": st.integers(-1, 3),
    }
    return {"data": draw(mostly(st.builds(_frame, st.just(rows), st.integers(1, 3)))), **_options(draw, more, 2)}


def _frame(rows: int, columns: int) -> Any:
    import pandas

    random = np.random.default_rng(rows + columns)
    values = {f"x{place}": random.normal(size=rows) for place in range(columns)}
    return pandas.DataFrame(values | {"label": np.arange(rows) % 2, "group": np.arange(rows) % 3})


def _oversampler(draw: st.DrawFn) -> dict[str, Any]:
    rate = st.one_of(st.none(), st.sampled_from(("balanced", "sqrt", "forecast", "x")), NUMBERS)
    more = {
        "sampling_strategy": st.sampled_from(("auto", "all", "minority", "x", 0.5, {0: 50}, {1: -1})),
        "recipe": st.just({"tau": 3.0}),
        "random_state": st.sampled_from((0, None, -1)),
        "group_columns": st.sampled_from((0, [0, 1], 99)),
    }
    rows = draw(_ROWS)
    about = {"rate": draw(mostly(rate)), **_options(draw, more, 1)}
    return {"make": about, "X": draw(mostly(matrices(rows, st.just(2)))), "y": draw(mostly(labels(rows)))}


def _mover(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(_ROWS)
    about = {"objective": draw(mostly(st.sampled_from(("balanced", "worst")))), "seed": draw(mostly(st.integers(0, 3)))}
    chances = np.random.default_rng(rows).dirichlet(np.ones(3), size=rows)
    more = {"parts": labels(rows), "classes": st.just([0, 1, 2])}
    return {"make": about, "probabilities": draw(mostly(st.just(chances))), "labels": draw(mostly(labels(rows)))} | {
        "fit": _options(draw, more, 1)
    }


def _classifier(draw: st.DrawFn) -> dict[str, Any]:
    more = {
        "activation": st.sampled_from(("sigmoid", "tanh", "erf", "x")),
        "initialisation": st.sampled_from(("random", "tensor", "given", "x")),
        "optimiser": st.sampled_from(("newton", "descent", "x")),
        "step": NUMBERS,
        "steps": st.integers(-1, 30),
        "tolerance": NUMBERS,
        "random_state": st.sampled_from((0, None)),
    }
    rows = draw(_ROWS)
    about = {"neurons": draw(mostly(st.integers(-1, 3))), "steps": 30, **_options(draw, more, 2)}
    return {"make": about, "X": draw(mostly(matrices(rows, st.just(2)))), "y": draw(mostly(labels(rows)))}


_PATHS = st.sampled_from(("nowhere.pt", "", ".", "/dev/null", "/dev/zero", "x\0y", "a" * 300, "/proc/self/mem"))
_MAKERS: dict[str, Callable[[st.DrawFn], dict[str, Any]]] = {
    "collapse": _collapse,
    "CollapseForecast": _collapse,
    "oversampling_rates": _rates,
    "mixture": _mixture,
    "mixture_fit": _fit,
    "audit": _audit,
    "Audit": _audit,
    "plan": _plan,
    "trial": _trial,
    "score": _score,
    "Oversampler": _oversampler,
    "ThresholdMover": _mover,
    "TeacherStudentClassifier": _classifier,
    "MendedClassifier": _mended,
    "compare": lambda draw: {"before": draw(mostly(_PATHS)), "after": draw(mostly(_PATHS))},
    "claims": lambda draw: _options(draw, {"store": _PATHS, "data": _PATHS}, 2),
    "results": lambda draw: {"question": draw(mostly(TEXT)), **_options(draw, {"store": _PATHS}, 1)},
    "reproduce": lambda draw: {
        "ids": draw(mostly(st.just(["nothing"]))),
        "scale": "x",
        **_options(
            draw,
            {"store": _PATHS, "seeds": NUMBERS, "seed_set": NUMBERS, "confirm": ANYTHING, "device": ANYTHING},
            2,
        ),
    },
    "load_example": lambda draw: {
        "name": draw(mostly(st.sampled_from(("rare tumours", "Diabetes-by-sex", "digits", "")))),
        **_options(draw, {"seed": st.one_of(st.integers(-1, 3), NUMBERS)}, 1),
    },
    "skill": lambda draw: {"only": draw(mostly(st.just(["nothing"])))},
    "serve": lambda draw: {"port": draw(st.sampled_from((-1, 65_536, 1.5, None, "x", float("nan"), True, 10**20)))},
    "InputError": lambda draw: {"expected": draw(TEXT), "got": draw(ANYTHING), "remedy": draw(TEXT)},
    "LopsidedError": lambda draw: {},
}


def run(number: int, count: int, first: int, begin: Callable[[int], None], report: Report, folder: Path) -> None:
    """`count` generated calls, numbered from `first`."""
    place = iter(range(first, first + 10 * count))

    @seed(number * 1_000_000 + first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(calls())
    def tried(call: tuple[str, dict[str, Any]]) -> None:
        case = next(place)
        begin(case)
        report(case, *outcome(*call, folder))

    tried()


def outcome(name: str, arguments: dict[str, Any], folder: Path) -> tuple[str, str, str]:
    """(what, answered / refused / lost, words)."""
    shown = " ".join(f"{key}={_shown(value)}" for key, value in arguments.items())
    what = "functions" if name[0].islower() else "classes"
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory(dir=folder) as inner:
        warnings.simplefilter("always")
        try:
            _USES.get(name, _plainly)(name, arguments, Path(inner))
            ended, words = "answered", ""
        except lopsided.LopsidedError as error:
            bad = not str(error).strip() or "\n" in str(error)
            ended, words = ("lost", f"not one sentence: {error!r}") if bad else ("refused", "")
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            passed_on = "hostile_objects" in frame.filename  # as scikit-learn does with what users' own objects raise
            passed = [one.filename for one in traceback.extract_tb(error.__traceback__)]
            # raised by scikit-learn, or by what its validation asks, such as pandas for numbers
            checked = "sklearn" in frame.filename or any("sklearn/utils/validation" in name for name in passed)
            validated = isinstance(error, (ValueError, TypeError)) and checked
            allowed = name in _SKLEARN and (validated or passed_on)
            own = [one for one in traceback.extract_tb(error.__traceback__) if "src/lopsided" in one.filename]
            at = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "nowhere of ours"
            words = (
                "" if allowed else f"{type(error).__name__}: {str(error)[:160]} at {at} and {Path(frame.filename).name}"
            )
            ended = "refused" if allowed else "lost"
    loud = [one for one in caught if not issubclass(one.category, QUIET)]
    of_sklearn = bool(loud) and any(part in loud[0].filename for part in ("sklearn", "fromnumeric"))  # its sum of inf
    if loud and ended != "lost" and not (name in _SKLEARN and of_sklearn):
        ended, words = "lost", f"warning {str(loud[0].message)[:120]} at {Path(loud[0].filename).name}:{loud[0].lineno}"
    return f"{what}: {name}", ended, f"{words} <- {name}({shown})"[:700] if words else ""


def _shown(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    return text if len(text) < 200 else text[:150] + "..." + text[-40:]


def _plainly(name: str, arguments: dict[str, Any], folder: Path) -> Any:
    return getattr(lopsided, name)(**arguments)


def _use_forecast(name: str, arguments: dict[str, Any], folder: Path) -> None:
    from lopsided.core.jsonable import dump_json

    dump_json(lopsided.collapse(**arguments).to_dict())


def _use_audit(name: str, arguments: dict[str, Any], folder: Path) -> None:
    from lopsided.core.jsonable import dump_json

    found = lopsided.audit(**arguments)
    assert not found.broken, found.skipped
    dump_json(found.to_dict())
    found.to_html(folder / "audit.html")
    found._repr_html_()
    assert (folder / "audit.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def _use_score(name: str, arguments: dict[str, Any], folder: Path) -> None:
    found = lopsided.score(**arguments)
    found.columns()
    found.figures()


def _use_trial(name: str, arguments: dict[str, Any], folder: Path) -> None:
    found = lopsided.trial(**arguments, store=folder / "store")
    _show(found, folder)
    compile(found.code(), "code", "exec")


def _use_plan(name: str, arguments: dict[str, Any], folder: Path) -> None:
    from lopsided.core.jsonable import dump_json

    made = lopsided.plan(**arguments)
    dump_json(made.to_dict())
    _show(made, folder)
    for remedy in made.remedies:
        remedy.arrays(0)


def _show(found: Any, folder: Path) -> None:
    found.to_html(folder / "page.html")
    found._repr_html_()
    found.frame()
    assert (folder / "page.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def _use_oversampler(name: str, arguments: dict[str, Any], folder: Path) -> None:
    lopsided.Oversampler(**arguments["make"]).fit_resample(arguments["X"], arguments["y"])


def _use_mover(name: str, arguments: dict[str, Any], folder: Path) -> None:
    mover = lopsided.ThresholdMover(**arguments["make"])
    mover.fit(arguments["probabilities"], arguments["labels"], **arguments["fit"]).predict(arguments["probabilities"])


def _use_classifier(name: str, arguments: dict[str, Any], folder: Path) -> None:
    model = lopsided.TeacherStudentClassifier(**arguments["make"]).fit(arguments["X"], arguments["y"])
    assert np.isfinite(model.predict_proba(arguments["X"])).all()


def _use_mended(name: str, arguments: dict[str, Any], folder: Path) -> None:
    warnings.filterwarnings("ignore", "Used plain training")
    model = lopsided.MendedClassifier(**arguments["make"]).fit(arguments["X"], arguments["y"], **arguments["fit"])
    told = model.predict(arguments["X"], arguments["fit"].get("groups"))
    assert set(told) <= set(model.classes_)


def _use_error(name: str, arguments: dict[str, Any], folder: Path) -> None:
    import pickle

    error = getattr(lopsided, name)(*arguments.values())
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


_USES: dict[str, Callable[[str, dict[str, Any], Path], None]] = {
    "CollapseForecast": _use_forecast,
    "Audit": _use_audit,
    "score": _use_score,
    "trial": _use_trial,
    "plan": _use_plan,
    "Oversampler": _use_oversampler,
    "ThresholdMover": _use_mover,
    "TeacherStudentClassifier": _use_classifier,
    "MendedClassifier": _use_mended,
    "InputError": _use_error,
    "LopsidedError": _use_error,
}
