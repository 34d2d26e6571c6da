"""One arm in one fold: train on the other folds, keep predictions and probabilities for the examples of this one.

Tasks run through the engine, so they are parallel, resume after an interruption and are kept
one by one. A task names its data by their hash; in the process of the trial they are held here, in others read from
the run's shared folder.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.folds import Design
from lopsided.core.partition import Partition, place_of
from lopsided.core.seeds import generator
from lopsided.core.validation import BoolArray, IntArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import restored, stored
from lopsided.engine.task import Measurement, Settings, canonical
from lopsided.learners.learner_identity import learner_identity
from lopsided.learners.named_learner import gives_probabilities, make_learner
from lopsided.remedies.contract import Remedy, Subject
from lopsided.remedies.learning_curve import thinned
from lopsided.remedies.pilot import pilot_groups, reduced, run_pilot

HELD_BACK = 0.5  # share of a subject's training examples that simulated collection adds

MOST_KEPT = 4_000_000  # probabilities of an arm in a repeat (rows x classes), 16 MB: with more, none are kept

_held: dict[str, LabelledSet] = {}
_learners: dict[str, Any] = {}
_own: dict[str, Remedy] = {}


@contextmanager
def held(key: str, training: LabelledSet, learner: Any, own: Iterable[Remedy] = ()) -> Iterator[None]:
    """Keep the data, a learner that is no name and the user's own arms for tasks of this process."""
    _held[key] = training
    _learners[repr(learner)] = learner
    _own.update((canonical(remedy.to_dict()), remedy) for remedy in own)
    try:
        yield
    finally:
        del _held[key], _learners[repr(learner)]
        _own.clear()


def _remedy(values: Mapping[str, Any]) -> Remedy:
    return _own.get(canonical(values)) or Remedy.from_dict(values)


def data_key(training: LabelledSet) -> str:
    """A hash of features, classes and groups."""
    digest = hashlib.sha256()
    for name, array in arrays_of(training).items():
        digest.update(f"{name}{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def arrays_of(training: LabelledSet) -> dict[str, Any]:
    """What other processes need of the training set."""
    names = np.array(list(training.classes.names))
    arrays = stored(training.features) | {"classes": training.classes.codes, "class_names": names}
    if training.groups is not None:
        arrays |= {"groups": training.groups.codes, "group_names": np.array(list(training.groups.names))}
    return arrays | {f"design_{name}": array for name, array in training.design.arrays().items()}


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """Predictions and probabilities of an arm in a fold, packed into text, or forecasts from its training rows."""
    training = _held.get(settings["data"]) or _read(settings["place"])
    folds = training.folds(settings["folds"], seed, settings["repeat"])
    inside = folds.inside(settings["fold"])
    if "forecast" in settings:
        return {"forecasts": _forecasts(training, inside, settings, seed)}
    if settings["held_back"]:
        inside = _without(training, inside, Subject(**settings["held_back"]), settings, seed)
    learner = _learners.get(settings["learner"], settings["learner"])
    if isinstance(learner, str) and "identity" in settings:
        _check_same_code(learner, settings["identity"])
    return _answers(training, inside, folds.fold == settings["fold"], learner, settings, seed)


def _check_same_code(learner: str, identity: Mapping[str, Any]) -> None:
    """A worker that lives since before an edit would put the old code's answers under the new code's name."""
    if learner_identity(make_learner(learner))["files"] != identity["files"]:
        raise InputError(
            f"the file of {learner} as it was when the trial began", "another version of it", "start the trial again"
        )


def _answers(
    training: LabelledSet, inside: BoolArray, tested: BoolArray, learner: Any, settings: Settings, seed: int
) -> dict[str, Any]:
    state = int(generator(seed, "learner", settings["repeat"], settings["fold"]).integers(2**31))
    remedy = _remedy(settings["remedy"])
    model = remedy.wrap(learner, seed=state).set_params(recalibrate=settings.get("recalibrate", False))
    model.fit_set(training.subset(np.flatnonzero(inside)))
    shown = training.subset(np.flatnonzero(tested))
    groups = None if shown.groups is None else np.array(shown.groups.names)[shown.groups.codes]
    predicted = np.asarray(model.predict(shown.features, groups), dtype=np.uint32)
    chances = None
    if keeps_probabilities(training) or remedy.reference:  # of plain training they are checked in any case
        chances = _probabilities(model, shown.features, groups)
    if chances is None or not keeps_probabilities(training):
        return {"predicted": packed(predicted, "<u4"), "probabilities": None}
    return {"predicted": packed(predicted, "<u4"), "probabilities": packed(chances, "<f4")}


def keeps_probabilities(training: LabelledSet) -> bool:
    """Whether the probabilities of all classes are few enough to keep."""
    return training.size * len(training.classes.names) <= MOST_KEPT


def _probabilities(model: Any, features: Any, groups: Any) -> Any:
    """What the arm says of every class, None from a learner without probabilities; nonsense is refused at once."""
    if not gives_probabilities(getattr(model, "estimator_", model)):
        return None
    try:
        return model.predict_proba(features, groups)
    except InputError:
        raise
    except Exception:  # a learner that has none after all: the arms that ask for them say so
        return None


def packed(numbers: Any, kind: str) -> str:
    """Numbers of a NumPy type as text."""
    return base64.b64encode(zlib.compress(np.asarray(numbers, dtype=kind).tobytes(), 1)).decode()


def unpacked(text: str, kind: str) -> Any:
    """The numbers again, in one row."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def _without(training: LabelledSet, inside: BoolArray, subject: Subject, settings: Settings, seed: int) -> BoolArray:
    """The training rows but for the share of the subject's that is held back."""
    axis, code = subject.axis, subject.code
    parts = training.partition(axis).codes
    own, place = inside & (parts == code), place_of(parts, code)
    order = generator(seed, "held back", axis, place, settings["repeat"], settings["fold"]).permutation(training.size)
    return inside & thinned(own, order, 1.0 - HELD_BACK)


def _forecasts(training: LabelledSet, inside: BoolArray, settings: Settings, seed: int) -> list[Any]:
    """[forecast or None, reason] of every arm, from the training rows alone; collection from those not held back."""
    state = int(generator(seed, "pilot", settings["fold"]).integers(2**31))
    pilot, found = None, []
    for remedy in map(_remedy, settings["forecast"]):
        subject = remedy.collects
        if subject is not None:
            kept = training.subset(np.flatnonzero(_without(training, inside, subject, settings, seed)))
            found.append(remedy.forecast_of_held_back(kept, reduced(kept, state), HELD_BACK, state))
        else:
            rows = training.subset(np.flatnonzero(inside))
            pilot = pilot or run_pilot(reduced(rows, state), state, pilot_groups(training), linear=settings["linear"])
            found.append(remedy.forecast(pilot, settings["metric"], seed=state))
    return [list(entry) for entry in found]


@lru_cache(maxsize=1)
def _read(place: str) -> LabelledSet:
    folder = Path(place)

    def load(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)

    classes = Partition("class", np.asarray(load("classes")), tuple(load("class_names").tolist()))
    groups = None
    if (folder / "groups.npy").exists():
        groups = Partition("group", np.asarray(load("groups")), tuple(load("group_names").tolist()))
    features = restored({path.stem: load(path.stem) for path in folder.glob("features*.npy")})
    rows: IntArray = np.arange(classes.codes.size)
    design = {path.stem.removeprefix("design_"): np.asarray(load(path.stem)) for path in folder.glob("design_*.npy")}
    return LabelledSet(rows, classes, groups, features, design=Design(**design))


MEASUREMENT = Measurement("trial", 5, measure)
HOME = __name__


def trial_measurement(home: str) -> Measurement:
    """What workers run."""
    return MEASUREMENT
