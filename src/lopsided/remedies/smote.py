"""SMOTE (Chawla et al. 2002): small classes grow by examples on the lines between neighbours of the class.

    x = x_i + u (x_j - x_i),    x_j one of the nearest neighbours of x_i in its class, u uniform in [0, 1]

imbalanced-learn does it (`pip install 'lopsided[sampling]'`). Deviations: where a class that grows has five examples or
fewer, there are fewer neighbours, and imbalanced-learn refuses; a class of one example has no neighbour and does not
change. For tables with text, dates or missing values, the examples are made here: neighbours are those of the encoded
and standardised table, numbers lie between the two rows, and all else is that of the first (SMOTENC takes the
neighbours' commonest).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from lopsided.core.errors import MissingPackage
from lopsided.core.partition import appearing, by_appearance
from lopsided.core.seeds import generator
from lopsided.data.encoding import TableEncoder
from lopsided.data.labelled_set import LabelledSet
from lopsided.data.rows import is_matrix, is_sparse, numbers, take, with_numbers
from lopsided.remedies.contract import Occasion, Proposal, Proposals, by_name, uneven_classes
from lopsided.remedies.oversampling import AtRates

NEIGHBOURS = 5  # as Chawla et al. and imbalanced-learn have it


@dataclass(frozen=True)
class Smote(AtRates):
    """New examples between those of a class."""

    kind: ClassVar[str] = "smote"
    name: ClassVar[str] = "SMOTE"
    makes_rows: ClassVar[bool] = True
    without_form: ClassVar[str] = (
        "train on the output of imblearn.over_sampling.SMOTE().fit_resample, or use oversampling"
    )

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Every class of two examples or more is raised to the largest."""
        classes, notes = uneven_classes(occasion.training)
        if classes is None:
            return [], notes
        if find_spec("imblearn") is None:
            return [], ["SMOTE needs imbalanced-learn: pip install 'lopsided[sampling]'."]
        sizes, why = (
            classes.counts,
            "Raises small classes to the size of the largest with points between neighbours of a class.",
        )
        rates = {name: float(sizes.max() / size) for name, size in zip(classes.names, sizes, strict=True) if size > 1}
        single = [name for name, size in zip(classes.names, sizes, strict=True) if size == 1]
        if all(rate == 1.0 for rate in rates.values()):
            return [], [f"SMOTE is left out: {', '.join(single)} has only one example, so it has no neighbours."]
        alone = f" Classes with one example do not change: {', '.join(single)}." if single else ""
        return [Proposal(cls(rates), why + alone)], []

    def draw(self, training: LabelledSet, seed: int) -> LabelledSet:
        """The examples, then the synthetic ones."""
        try:
            from imblearn.over_sampling import SMOTE
        except ModuleNotFoundError:
            raise MissingPackage("imbalanced-learn", "SMOTE", "sampling") from None
        sizes = training.classes.counts
        wanted = np.rint(by_name(self.rates, training.classes.names) * sizes).astype(int)
        grown = appearing(training.classes.codes)  # in this order new examples are drawn, whatever classes are called
        grown = grown[(sizes[grown] > 1) & (wanted[grown] > sizes[grown])]
        if not grown.size:
            return training
        random, features = generator(seed, "smote"), training.features
        if not is_sparse(features) and not (is_matrix(features) and np.isfinite(features).all()):
            return _between_rows(training, {int(code): int(wanted[code] - sizes[code]) for code in grown}, random)
        codes, known = by_appearance(training.classes.codes), appearing(training.classes.codes)
        sampler = SMOTE(  # it goes through classes in the order of their labels
            sampling_strategy={place: int(wanted[code]) for place, code in enumerate(known) if code in grown},
            k_neighbors=min(NEIGHBOURS, int(sizes[grown].min()) - 1),
            random_state=int(random.integers(2**31)),
        )
        made, places = sampler.fit_resample(features, codes)
        return training.resampled(made, known[places])


def _between_rows(training: LabelledSet, added: Mapping[int, int], random: np.random.Generator) -> LabelledSet:
    """The examples, then `added` ones of each class that are between rows of a table."""
    scaled = StandardScaler().fit_transform(TableEncoder().fit_transform(training.features))
    first, second = [np.arange(training.size)], [np.arange(training.size)]
    for code, number in added.items():
        own = np.flatnonzero(training.classes.codes == code)
        near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, own.size - 1)).fit(scaled[own])
        others = near.kneighbors(return_distance=False)
        start = random.integers(own.size, size=number)
        first.append(own[start])
        second.append(own[others[start, random.integers(others.shape[1], size=number)]])
    chosen, other = np.concatenate(first), np.concatenate(second)
    values = numbers(training.features)
    gap = values[other] - values[chosen]
    way = np.where(np.isnan(gap), 0.0, gap) * random.random((chosen.size, 1))
    features = with_numbers(take(training.features, chosen), values[chosen] + way)
    return training.resampled(features, training.classes.codes[chosen])
