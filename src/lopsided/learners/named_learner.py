"""Learners by name: `logistic`, `boosting`, `network`, `deep`, or a scikit-learn classifier as `package.module:Class`.

The built-in ones are scikit-learn's, deterministic for a seed and on one thread: logistic regression on standardised
features, gradient boosting over histograms, and a network with one hidden layer of 64 ReLU units, standardised too.
`deep` is a PyTorch perceptron of `learners.deep`, if PyTorch is installed. `network(0.01)` and `deep(0.01)` have weight
decay 0.01.

They are trained on matrices of numbers: rows of a frame are encoded first (`data.encoding`). Boosting gets categories
as codes, because its trees can use categories and missing values directly. Rows are also encoded for a class given by
its name; a classifier object of the user gets the rows unchanged.
"""

import importlib
import inspect
import re
from typing import Any

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.validation import check_positive

BUILT_IN = ("logistic", "boosting", "network", "deep")
_NETWORK = re.compile(r"(?P<kind>network|deep)(?:\((?P<decay>[^()]+)\))?")


def make_learner(name: str, seed: int = 0, *, categorical: Any = None, centred: bool = True) -> Any:
    """A fresh, unfitted classifier. categorical: the columns that are codes of categories, for boosting. centred: False
    for sparse matrices, which would not stay sparse."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return make_pipeline(StandardScaler(with_mean=centred), LogisticRegression(max_iter=1000))
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        # Fewer and smaller trees than scikit-learn's defaults: a trial grows about a hundred such models. Leaves of
        # five instead of twenty examples: a class of ten would share every leaf with others.
        return HistGradientBoostingClassifier(
            max_iter=50,
            learning_rate=0.2,
            max_leaf_nodes=15,
            min_samples_leaf=5,
            early_stopping=False,
            categorical_features="from_dtype" if categorical is None else categorical,
            random_state=seed,
        )
    network = _NETWORK.fullmatch(name)
    if network:
        made = _network(network["kind"], seed)
        if network["decay"] is not None:
            made.set_params(weight_decay=check_positive(network["decay"], "the weight decay"))
        return make_pipeline(StandardScaler(with_mean=centred), made)
    return imported(name, seed)


def _network(kind: str, seed: int) -> Any:
    if kind == "network":
        from lopsided.learners.network_classifiers import DecayedNetwork

        return DecayedNetwork(random_state=seed)
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise MissingPackage("torch", "the learner deep", "torch")
    from lopsided.learners.network_classifiers import DeepClassifier

    return DeepClassifier(random_state=seed)


def bagged_as_trees(learner: Any) -> bool:
    """Whether balanced bags grow single random trees instead of this learner: only for `boosting`, by that name."""
    return isinstance(learner, str) and learner == "boosting"


def is_learner_name(text: str) -> bool:
    """Whether `make_learner` would take it for the name of a learner."""
    return text in BUILT_IN or _NETWORK.fullmatch(text) is not None or re.fullmatch(r"[\w.]+:\w+", text) is not None


def encoding_of(learner: Any, *, sparse: bool, gaps: bool) -> str | None:
    """How the rows are encoded for a learner, "one-hot" or "codes", if they are a frame, a `sparse` matrix or one with
    `gaps`; None if it takes them unchanged."""
    if not isinstance(learner, str) or (":" in learner and not learner.startswith("sklearn.")):
        return None
    if learner == "boosting":
        return None if gaps else "codes"
    return None if sparse and not learner.startswith("deep") else "one-hot"


def learner_name(learner: Any) -> str:
    """Its name, or the class of the classifier (for a pipeline, of its last step)."""
    if isinstance(learner, str):
        return learner
    return type(last_step(learner)).__name__


def check_learner(learner: Any) -> Any:
    """A classifier object of the user that has the necessary methods."""
    for method in ("fit", "predict", "get_params"):
        if isinstance(learner, type) or not callable(getattr(learner, method, None)):
            got = f"the class {learner.__name__}" if isinstance(learner, type) else type(learner).__name__
            remedy = f"call it: {learner.__name__}()" if isinstance(learner, type) else f"it has no method {method}"
            raise InputError("a learner's name or a scikit-learn classifier", got, remedy)
    return learner


def takes_weights(learner: Any) -> bool:
    """Whether `fit` takes sample weights (a pipeline: its last step, unless a step before it resamples)."""
    if any(hasattr(step, "fit_resample") for _, step in steps_of(learner)):
        return False
    try:
        return "sample_weight" in inspect.signature(last_step(learner).fit).parameters
    except (TypeError, ValueError):
        return False


def is_network(learner: Any) -> bool:
    """Whether it is a PyTorch network whose loss and last layer remedies can change: `deep`, or its classifier
    class."""
    from lopsided.learners.network_classifiers import DeepClassifier

    if isinstance(learner, str):
        found = _NETWORK.fullmatch(learner)
        return found is not None and found["kind"] == "deep"
    return isinstance(last_step(learner), DeepClassifier)


def steps_of(learner: Any) -> list[tuple[str, Any]]:
    """Names and steps of a pipeline; none of another learner, whose `steps` may be a number."""
    found = getattr(learner, "steps", None)
    return found if isinstance(found, list) else []


def last_step(learner: Any) -> Any:
    """The classifier itself; for a pipeline, its last step."""
    return steps_of(learner)[-1][1] if steps_of(learner) else learner


def fit_argument(learner: Any, name: str = "sample_weight") -> str:
    """The name of an argument of the classifier in `fit`, also for a pipeline."""
    return f"{steps_of(learner)[-1][0]}__{name}" if steps_of(learner) else name


def gives_probabilities(learner: Any) -> bool:
    """Whether it has predict_proba."""
    return hasattr(learner, "predict_proba")


def imported(name: str, seed: int, *, samplers: bool = False) -> Any:
    """An object of the class `package.module:Class`, made without arguments: a classifier, or where asked a sampler."""
    module_name, colon, class_name = name.partition(":")
    expected = f"a learner ({', '.join(BUILT_IN)}, or package.module:Class)"
    if not colon or not module_name or not class_name:
        raise InputError(expected, repr(name), "write for example sklearn.neighbors:KNeighborsClassifier")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(expected, f"{name!r}: {error}", "check the package's name and that it is installed") from None
    except Exception as error:  # a user's module may raise anything while it loads
        got = f"{type(error).__name__} from {module_name}: {error}"
        raise InputError("a module that can be imported", got) from None
    made = getattr(module, class_name, None)
    if made is None:
        from sklearn.base import ClassifierMixin

        able = [
            known
            for known, entry in vars(module).items()
            if isinstance(entry, type) and issubclass(entry, ClassifierMixin) and hasattr(entry, "fit")
        ]
        near = ", ".join(sorted(able))[:200] or "no classifier"
        raise InputError(f"a class {class_name} in {module_name}", f"a module with {near}")
    try:
        learner = made()
    except Exception as error:
        raise InputError(
            f"{name} to need no arguments",
            f"{type(error).__name__}: {' '.join(str(error).split())}",
            "write a class of your own that sets them",
        ) from None
    for method in () if samplers and hasattr(learner, "fit_resample") else ("fit", "predict"):
        if not callable(getattr(learner, method, None)):
            raise InputError(f"a classifier with fit and predict in {name}", f"none with {method}")
    kind = learner.__sklearn_tags__().estimator_type if hasattr(learner, "__sklearn_tags__") else None
    if kind not in ("classifier", None, *(["sampler"] if samplers else [])):
        raise InputError(f"a classifier as {name}", f"a {kind}")
    if hasattr(learner, "get_params") and "random_state" in learner.get_params():
        learner.set_params(random_state=seed)
    return learner
