"""SMOTE (Chawla et al. 2002): small classes grow by examples on the lines between neighbours of the class.

    x = x_i + u (x_j - x_i),    x_j one of the nearest neighbours of x_i in its class, u uniform in [0, 1]

imbalanced-learn does it (`pip install 'lopsided[sampling]'`). Deviations: where a class that grows has five examples or
fewer, there are fewer neighbours, and imbalanced-learn refuses; a class of one example has no neighbour and stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from lopsided.core.errors import MissingPackage
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, by_name, uneven_classes

NEIGHBOURS = 5  # as Chawla et al. and imbalanced-learn have it


@dataclass(frozen=True)
class Smote(Remedy):
    """`rates` by class name: how many times its size each class has afterwards (1 where left out)."""

    kind: ClassVar[str] = "smote"
    name: ClassVar[str] = "SMOTE"
    needs_numbers: ClassVar[bool] = True
    rates: Mapping[str, float]

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Every class of two examples or more is raised to the largest."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        if find_spec("imblearn") is None:
            return [], ["SMOTE needs imbalanced-learn: pip install 'lopsided[sampling]'."]
        sizes, why = classes.counts, "Small classes grow to the largest by points between neighbours of a class."
        rates = {name: float(sizes.max() / size) for name, size in zip(classes.names, sizes, strict=True) if size > 1}
        single = [name for name, size in zip(classes.names, sizes, strict=True) if size == 1]
        if all(rate == 1.0 for rate in rates.values()):
            return [], [f"SMOTE is left out: {', '.join(single)} has one example, which has no neighbour."]
        alone = f" Classes of one example stay as they are: {', '.join(single)}." if single else ""
        return [Proposal(cls(rates), why + alone)], []

    def factors(self, names: tuple[str, ...]) -> FloatArray:
        """As oversampling at these rates."""
        return by_name(self.rates, names)

    def draw(self, training: LabelledSet, seed: int) -> LabelledSet:
        """The examples, then the synthetic ones."""
        try:
            from imblearn.over_sampling import SMOTE
        except ModuleNotFoundError:
            raise MissingPackage("imbalanced-learn", "SMOTE", "sampling") from None
        sizes = training.classes.counts
        wanted = np.rint(by_name(self.rates, training.classes.names) * sizes).astype(int)
        grown = np.flatnonzero((sizes > 1) & (wanted > sizes))
        if not grown.size:
            return training
        state = int(generator(seed, "smote").integers(2**31))
        sampler = SMOTE(
            sampling_strategy={int(code): int(wanted[code]) for code in grown},
            k_neighbors=min(NEIGHBOURS, int(sizes[grown].min()) - 1),
            random_state=state,
        )
        return training.resampled(*sampler.fit_resample(training.features, training.classes.codes))
