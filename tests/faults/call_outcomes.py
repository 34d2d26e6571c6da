"""How a call of a public function or class ended, and of what its result can do.

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

import lopsided
from tests.faults.console import QUIET

_SKLEARN = ("MendedClassifier", "Oversampler", "TeacherStudentClassifier")


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
