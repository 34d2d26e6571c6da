"""The interface of a remedy: its parameters, what it does to sample, weights and decision, and its forecast gain.

One file per remedy, each a frozen dataclass whose fields are its parameters (`remedies.every` lists them all). A plan
lists these objects, a trial trains `remedy.wrap(learner)`, an export writes them: there is one implementation of each.
What a remedy does, in the order in which `wrap` asks:

    prepare    other features, fitted on the training rows (centring by group)
    shift      offsets added to the log probabilities of the classes, which move decisions
    weigh      weights of the examples in the loss, with mean 1
    draw       the examples that the learner is fitted on, some of them repeated
    train      the fit itself, for remedies that combine several

Most remedies override one of them and one of `epoch_indices`, `example_weights` and `class_offsets`, which do the same
without a learner. `lopsided.torch` registers PyTorch forms with `torch_form`.
"""

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass
from functools import cache, singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import LabelledRows, Partition
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.labelled_set import LabelledSet

if TYPE_CHECKING:
    from lopsided.remedies.learner import Learner
    from lopsided.remedies.mended import RemediedClassifier
    from lopsided.remedies.pilot import Pilot

EVEN = 1.1  # sizes within a tenth of each other count as equal: nothing to reweight
PRIOR_SHIFT = "held-out probabilities of a pilot under the changed prior (Elkan 2001; Fang et al. 2021, Proposition 1)"


@dataclass(frozen=True)
class GainForecast:
    """Change of a metric (named as in a trial: worst class recall, balanced accuracy...) and the method behind it.

    learned: for collection, the part that does not come from predicting the class more often, which costs other
    classes."""

    metric: str
    gain: float
    low: float
    high: float
    ground: str
    learned: float | None = None

    @property
    def words(self) -> str:
        """The gain with its interval."""
        return f"{self.gain:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


Forecast = tuple[GainForecast | None, str]  # and the reason where there is none


@dataclass(frozen=True)
class Subject:
    """The class or group to collect examples of."""

    axis: str  # class or group
    code: int


@dataclass(frozen=True)
class Occasion:
    """What remedies are proposed for: the data, a pilot on them if there is one, the name of the metric, the network's
    settings."""

    training: LabelledSet
    pilot: "Pilot | None"
    metric: str
    recipe: Mapping[str, Any]
    seed: int = 0
    network: bool = False  # the learner is a PyTorch network


@dataclass(frozen=True)
class Proposal:
    """A remedy for some data, and the reason for its parameters; `advice` is the recommendation of the trial that chose
    it, if there was one."""

    remedy: "Remedy"
    why: str
    advice: Any = None


Proposals = tuple[list[Proposal], list[str]]  # and notes on what was left out


class Preparation(Protocol):
    """Fitted on training rows; describes any rows otherwise."""

    def transform(self, features: FloatArray, groups: Any) -> FloatArray:
        """The features of rows whose groups are known by name."""


@dataclass(frozen=True)
class Remedy:
    """One way to train or to decide. `kind` is its name in files."""

    kind: ClassVar[str]
    name: ClassVar[str]  # what people call it; no two remedies of a plan have one name
    variants: ClassVar[tuple[str, ...]] = ()  # the names to ask for, where they depend on the parameters
    default: ClassVar[bool] = True  # whether plans and trials include it by default
    silent: ClassVar[str] = "no theory predicts its gain"  # why there is no forecast
    reference: ClassVar[bool] = False  # what the gains of the others are measured against
    own: ClassVar[bool] = False  # an object of the user's, which cannot be made again from plain values
    needs_weights: ClassVar[bool] = False  # a learner whose fit takes sample_weight
    needs_probabilities: ClassVar[bool] = False  # a learner with predict_proba
    needs_groups: ClassVar[bool] = False
    needs_network: ClassVar[bool] = False  # a PyTorch network: the learner deep
    makes_rows: ClassVar[bool] = False  # it draws examples that are not in the data, of whole tables too
    needs_numbers: ClassVar[bool] = False  # it computes with features, which thus have to be finite numbers
    without_form: ClassVar[str] = "use sklearn()"  # what to do instead where it has no PyTorch form

    @property
    def parameters(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def collects(self) -> Subject | None:
        """The class or group to collect, for remedies that need new data."""
        return None

    @property
    def code_homes(self) -> tuple[str, ...]:
        """The modules whose code, with all that they import, a result of the remedy comes from (`engine.code`)."""
        return (type(self).__module__,)

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """This remedy with parameters for the data, several where it has variants, or notes on why there is none."""
        return [], []

    def factors(self, names: tuple[str, ...]) -> FloatArray | None:
        """Weights of the classes, which multiply the probabilities of a rich model; None where it acts otherwise."""
        return None

    def forecast(self, pilot: "Pilot", metric: str, *, seed: int = 0) -> Forecast:
        """The gain in the metric, from a pilot's held-out probabilities; None, with the reason, if no theory
        applies."""
        factors = self.factors(pilot.training.classes.names)
        if factors is None:
            return None, f"No forecast: {self.silent}."
        return pilot.forecast(metric, *pilot.weighted(factors)), ""

    def forecast_of_held_back(self, kept: LabelledSet, shown: LabelledSet, share: float, seed: int) -> Forecast:
        """Of a remedy that collects: the gain when the `share` of its subject that a trial holds back comes to the rows
        that are `kept`, forecast from `shown`, those rows or some of them."""
        raise InputError("a remedy that collects examples", f"{self.name!r}", "use forecast()")

    def named_apart(self, taken: Container[str]) -> "Remedy":
        """The same remedy under a name that is not taken."""
        if self.name in taken:
            raise InputError("arms of different names", f"{self.name!r} twice", "leave one of them out")
        return self

    def for_metric(self, metric: str) -> "Remedy":
        """The same remedy, tuned for another metric if that changes it."""
        return self

    def share_of(self, metric: str, training: LabelledRows) -> float:
        """How much of its forecast gain counts towards the metric."""
        return 1.0

    def prepare(self, training: LabelledSet) -> Preparation | None:
        """Other features, fitted on the training rows; None if they do not change."""
        return None

    def shift(self, training: LabelledSet, learner: "Learner", seed: int) -> FloatArray:
        """What is added to the log probability of every class."""
        return np.zeros(len(training.classes.names))

    def weigh(self, training: LabelledSet, learner: "Learner", seed: int) -> FloatArray | None:
        """A weight for every example, with mean 1; None for equal weights."""
        return None

    def draw(self, training: LabelledSet, seed: int) -> LabelledSet:
        """The examples that the learner is fitted on."""
        return training

    def rows_drawn(self, training: LabelledRows) -> float | None:
        """How many these are, where it repeats examples or makes new ones."""
        return None

    def train(self, training: LabelledSet, learner: "Learner", weights: FloatArray | None, seed: int) -> Any:
        """The fitted estimator: one on the examples that are drawn, unless the remedy combines several."""
        return learner.fit(self.draw(training, seed), weights)

    def learner_for(self, estimator: Any) -> Any:
        """The classifier, or learner's name, that is trained where `estimator` was given: the same."""
        return estimator

    def wrap(self, estimator: Any = "logistic", *, seed: int = 0) -> "RemediedClassifier":
        """A scikit-learn classifier with the remedy around `estimator` (a classifier or a learner's name)."""
        from lopsided.remedies.mended import RemediedClassifier

        return RemediedClassifier(estimator, self, seed=seed)

    def epoch_indices(self, rows: LabelledRows, seed: int = 0, epoch: int = 0) -> IntArray:
        """Rows of the data to train on, each repeated as often as it should be seen in that epoch."""
        raise InputError("a remedy that changes the sample", f"{self.name!r}", "use offsets() or sklearn()")

    def example_weights(self, rows: LabelledRows) -> FloatArray:
        """A weight for every row, with mean 1."""
        raise InputError("a remedy that weights examples", f"{self.name!r}", "use offsets() or sklearn()")

    def class_offsets(self, rows: LabelledRows) -> FloatArray:
        """What to add to the log probability (or logit) of every class, in the order of the class names."""
        raise InputError("a remedy that moves decisions", f"{self.name!r}", "use weights() or indices()")

    def python(self) -> tuple[str, str]:
        """An import, and an expression that makes the remedy."""
        return f"from {type(self).__module__} import {type(self).__name__}", repr(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, from which `from_dict` makes the remedy again."""
        return {"kind": self.kind, "parameters": self.parameters}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Remedy":
        """A remedy from its plain values."""
        from lopsided.remedies.every import EVERY

        known = {remedy.kind: remedy for remedy in EVERY}
        if values.get("kind") not in known:
            raise InputError(f"a kind among {', '.join(known)}", repr(values.get("kind")))
        return known[values["kind"]](**values["parameters"])


@singledispatch
def torch_form(remedy: Remedy, training: LabelledSet, *, seed: int = 0) -> Any:
    """The remedy as a PyTorch object: a sampler, a loss or a layer."""
    raise InputError("a remedy with a PyTorch form", f"{remedy.name!r}", remedy.without_form)


@cache
def load_forms() -> None:
    """Import what registers further forms: the entry points `lopsided.remedy_forms` of the installed packages."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="lopsided.remedy_forms"):
        entry.load()


def by_name(values: Mapping[str, float], names: tuple[str, ...], otherwise: float = 1.0) -> FloatArray:
    """One number per name; `otherwise` for names that are left out."""
    return np.array([float(values.get(name, otherwise)) for name in names])


def named(partition: Partition, values: FloatArray) -> dict[str, float]:
    """One plain number by the name of every part."""
    return dict(zip(partition.names, (float(value) for value in values), strict=True))


def present(partition: Partition) -> Partition:
    """The parts that have examples, under codes of their own."""
    codes, compact = np.unique(partition.codes, return_inverse=True)
    return Partition(partition.name, compact.astype(np.int64), tuple(partition.names[code] for code in codes))


def uneven_classes(training: LabelledSet) -> tuple[Partition | None, list[str]]:
    """The classes that have examples, where their sizes differ; else a note."""
    classes = present(training.classes)
    if classes.counts.max() / classes.counts.min() >= EVEN:
        return classes, []
    return None, [
        "Weights, rates and adjustment are left out, because the classes are equal in size to within a tenth."
    ]


def several_groups(training: LabelledSet) -> tuple[Partition | None, list[str]]:
    """The groups, where at least two have examples; else a note."""
    groups = training.groups
    if groups is None:
        return None, []
    if np.count_nonzero(groups.counts) < 2:
        return None, [f"Remedies for groups are left out, because {groups.name} has only one group."]
    return groups, []
