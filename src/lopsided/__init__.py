"""Predict, measure and mend what imbalance does to a neural network.

Importing the package is light: each public name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lopsided.checkup.mixture_fit import mixture_fit
    from lopsided.checkup.plan.plan import plan
    from lopsided.checkup.score import score
    from lopsided.checkup.trial.trial import trial
    from lopsided.core.errors import InputError, LopsidedError
    from lopsided.engine.query import results
    from lopsided.learners.mixture_classifier import TeacherStudentClassifier
    from lopsided.papers.reproduce import reproduce
    from lopsided.papers.verdicts import claims
    from lopsided.remedies.oversampler import Oversampler
    from lopsided.remedies.rates import oversampling_rates
    from lopsided.remedies.thresholds import ThresholdMover
    from lopsided.report.audit import Audit, audit
    from lopsided.skill.benchmark import skill
    from lopsided.theory.collapse import CollapseForecast, collapse
    from lopsided.theory.mixture_forecast import mixture
    from lopsided.torch.checkpoints import compare
    from lopsided.web.serve import serve

__version__ = "0.1.0"

# public name -> module that defines it
_HOME = {
    "Audit": "lopsided.report.audit",
    "CollapseForecast": "lopsided.theory.collapse",
    "InputError": "lopsided.core.errors",
    "LopsidedError": "lopsided.core.errors",
    "Oversampler": "lopsided.remedies.oversampler",
    "TeacherStudentClassifier": "lopsided.learners.mixture_classifier",
    "ThresholdMover": "lopsided.remedies.thresholds",
    "audit": "lopsided.report.audit",
    "claims": "lopsided.papers.verdicts",
    "collapse": "lopsided.theory.collapse",
    "compare": "lopsided.torch",
    "mixture": "lopsided.theory.mixture_forecast",
    "mixture_fit": "lopsided.checkup.mixture_fit",
    "oversampling_rates": "lopsided.remedies.rates",
    "plan": "lopsided.checkup.plan.plan",
    "reproduce": "lopsided.papers.reproduce",
    "results": "lopsided.engine.query",
    "score": "lopsided.checkup.score",
    "serve": "lopsided.web.serve",
    "trial": "lopsided.checkup.trial.trial",
}

__all__ = [
    "Audit",
    "CollapseForecast",
    "InputError",
    "LopsidedError",
    "Oversampler",
    "TeacherStudentClassifier",
    "ThresholdMover",
    "__version__",
    "audit",
    "claims",
    "collapse",
    "compare",
    "mixture",
    "mixture_fit",
    "oversampling_rates",
    "plan",
    "reproduce",
    "results",
    "score",
    "serve",
    "skill",
    "trial",
]


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
