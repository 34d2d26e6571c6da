"""Predict, measure and fix what imbalance does to a neural network.

Importing the package is light: each public name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopsided.checkup.mended import MendedClassifier as MendedClassifier
    from lopsided.checkup.mixture_fit import mixture_fit as mixture_fit
    from lopsided.checkup.score import score as score
    from lopsided.core.errors import InputError as InputError
    from lopsided.core.errors import LopsidedError as LopsidedError
    from lopsided.data.examples import load_example as load_example
    from lopsided.engine.query import results as results
    from lopsided.learners.mixture_classifier import TeacherStudentClassifier as TeacherStudentClassifier
    from lopsided.papers.register import claims as claims
    from lopsided.papers.reproduce import reproduce as reproduce
    from lopsided.remedies.oversampler import Oversampler as Oversampler
    from lopsided.remedies.rates import oversampling_rates as oversampling_rates
    from lopsided.remedies.thresholds import ThresholdMover as ThresholdMover
    from lopsided.report.audit import Audit as Audit
    from lopsided.report.audit import audit as audit
    from lopsided.report.results import plan as plan
    from lopsided.report.results import trial as trial
    from lopsided.skill.benchmark import skill as skill
    from lopsided.theory.collapse import CollapseForecast as CollapseForecast
    from lopsided.theory.collapse import collapse as collapse
    from lopsided.theory.mixture_forecast import mixture as mixture
    from lopsided.torch.checkpoints import compare as compare
    from lopsided.web.serve import serve as serve

__version__ = "0.1.0"

# public name -> module that defines it
_HOME = {
    "Audit": "lopsided.report.audit",
    "CollapseForecast": "lopsided.theory.collapse",
    "InputError": "lopsided.core.errors",
    "LopsidedError": "lopsided.core.errors",
    "MendedClassifier": "lopsided.checkup.mended",
    "Oversampler": "lopsided.remedies.oversampler",
    "TeacherStudentClassifier": "lopsided.learners.mixture_classifier",
    "ThresholdMover": "lopsided.remedies.thresholds",
    "audit": "lopsided.report.audit",
    "claims": "lopsided.papers.register",
    "collapse": "lopsided.theory.collapse",
    "compare": "lopsided.torch",
    "load_example": "lopsided.data.examples",
    "mixture": "lopsided.theory.mixture_forecast",
    "mixture_fit": "lopsided.checkup.mixture_fit",
    "oversampling_rates": "lopsided.remedies.rates",
    "plan": "lopsided.report.results",
    "reproduce": "lopsided.papers.reproduce",
    "results": "lopsided.engine.query",
    "score": "lopsided.checkup.score",
    "serve": "lopsided.web.serve",
    "trial": "lopsided.report.results",
}

__all__ = sorted([*_HOME, "__version__", "skill"])


def __getattr__(name: str) -> Any:
    if name == "skill":  # a room that can be called
        return import_module("lopsided.skill")
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'lopsided' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
