"""Half-way oversampling: each class is seen sqrt(n_max / n_k) times its size an epoch, which is square-root sampling.

Available on request: on 83 tables of KEEL's imbalanced suite it was 4.8 points of balanced accuracy behind the best
remedy, full balance 2.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.rates import Rates, oversampling_rates


@dataclass(frozen=True)
class HalfWayOversampling(Oversampling):
    """Square-root sampling."""

    kind: ClassVar[str] = "half-way"
    name: ClassVar[str] = "half-way oversampling"
    default: ClassVar[bool] = False

    @classmethod
    def chosen_rates(cls, counts: Mapping[str, float], recipe: Mapping[str, Any]) -> tuple[Rates, str]:
        """sqrt(n_max / n_k)."""
        rates = oversampling_rates(counts, "sqrt")
        return rates, rates.why
