"""The mixture forecast: the large-n law, and the paper's order bounds in addition."""

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import MixtureProblem
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import check_count
from lopsided.theory.fisher_law import FisherForecast, FisherLaw
from lopsided.theory.mixture_bounds import MixtureBounds, mixture_bounds

# what is shown of the law of a group, and of the order bounds
_OF_A_GROUP = ("fraction", "excess_risk", "numerical_error", "label_entropy")
_OF_A_FRACTION = ("effect", "elasticity", "crossing")
_BOUNDS = ("rho", "D6", "D12", "Gamma", "B", "q", "v", "Ew", "E", "El", "radius", "sample_complexity")


@dataclass(frozen=True)
class MixtureForecast:
    """The forecast for a network of the teacher's size trained on n samples of a mixture."""

    problem: MixtureProblem
    samples: int
    law: FisherForecast
    bounds: MixtureBounds
    seconds: float

    def _repr_html_(self) -> str:
        """For notebooks: the forecast of every group."""
        return forecast_view(self.facts())

    def facts(self) -> dict[str, Any]:
        """The JSON object of `lopsided mixture`; risks in nats, `weight_error` = E |W - W*|_F^2."""
        law, bounds = self.law, self.bounds
        return {
            "samples": self.samples,
            "dimension": self.problem.mixture.dimension,
            "neurons": self.problem.neurons,
            "activation": self.problem.activation,
            "groups": [
                {
                    **{name: getattr(group, name) for name in _OF_A_GROUP},
                    "test_cross_entropy": group.label_entropy + group.excess_risk,
                    **{f"fraction_{name}": getattr(group.fraction_effect, name) for name in _OF_A_FRACTION},
                    "regime": asdict(regime),
                }
                for group, regime in zip(law.groups, bounds.regimes, strict=True)
            ],
            **{name: getattr(law, name) for name in ("average_excess_risk", "weight_error", "relative_weight_error")},
            "average_label_entropy": law.average_entropy,
            "law_reliable": law.reliable,
            "integration": law.method,
            "integration_error": law.relative_error,
            "information_condition": law.condition,
            **{name: getattr(bounds, name) for name in _BOUNDS},
            "seconds": self.seconds,
        }


def forecast_view(facts: dict[str, Any]) -> str:
    """The groups of a forecast as a table for notebooks."""
    heads = ("group", "fraction", "label entropy", "excess risk", "a larger fraction")
    rows = [
        [group.get("name", str(place)), group["fraction"], group["label_entropy"], group["excess_risk"], said]
        for place, group in enumerate(facts["groups"])
        for said in [group.get("more_of_it", group["fraction_effect"])]
    ]
    return notebook_view(f"Forecast for {facts['samples']:,} training samples (risks in nats)", (heads, rows))


def mixture(
    specification: "MixtureProblem | dict[str, Any] | str | os.PathLike[str] | Any", samples: int
) -> MixtureForecast:
    """Forecast the risk of every group of a mixture.

    Parameters
    ----------
    specification : path, dict or MixtureProblem
        A TOML file, its content as a dictionary, or the problem itself.
    samples : int
        The number n of training examples.
    """
    from lopsided.core.mixture_file import mixture_file, mixture_problem

    begin = time.perf_counter()
    count = check_count(samples, "the number of samples")
    if isinstance(specification, MixtureProblem):
        problem = specification
    elif isinstance(specification, dict):
        problem = mixture_problem(specification)
    elif isinstance(specification, (str, os.PathLike)):
        problem = mixture_file(Path(specification))
    else:
        got = f"a {type(specification).__name__}"
        expected = "a specification (a TOML file, a dictionary or a MixtureProblem)"
        raise InputError(expected, got, "see the documentation")
    bounds = mixture_bounds(problem)
    law = FisherLaw(problem).forecast(count)
    return MixtureForecast(problem, count, law, bounds, time.perf_counter() - begin)
