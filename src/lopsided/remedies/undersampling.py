"""Random undersampling: examples of the larger classes are left out until every class is as small as the smallest.

The prior changes as in oversampling, and training is shorter, but what the dropped examples would have taught is lost.
A forecast from the change of prior alone had three times the error of that for class weights, so there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lopsided.core.validation import FloatArray
from lopsided.remedies.oversampling import Oversampling
from lopsided.remedies.rates import Rates


@dataclass(frozen=True)
class Undersampling(Oversampling):
    """`rates` by class name: the share of each class that is kept, drawn anew for every seed and epoch."""

    kind: ClassVar[str] = "undersample"
    name: ClassVar[str] = "undersampling"
    silent: ClassVar[str] = "the effect of dropping examples is not known in advance"

    @classmethod
    def chosen_rates(cls, counts: Mapping[str, float], recipe: Mapping[str, Any]) -> tuple[Rates, str]:
        """n_min / n_k."""
        sizes = np.array(list(counts.values()))
        why = f"Keeps {sizes.min():,.0f} examples of each class, as many as the smallest has, and drops the others."
        return Rates(tuple(counts), sizes, sizes.min() / sizes, "balanced", why), why

    def factors(self, names: tuple[str, ...]) -> FloatArray | None:
        """Always None: dropping examples is more than a change of prior."""
        return None
