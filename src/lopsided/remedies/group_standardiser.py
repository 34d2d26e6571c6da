"""Centring and whitening per group: x -> x - mu_g, or x -> Sigma_g^(-1/2) (x - mu_g).

The mixture theory (Li et al., Theorem 1 and its Properties 3 and 5) says that learning is easiest at zero group means
and covariances of medium size, so both move every group towards that. Sigma_g is the Ledoit-Wolf estimate: it is
invertible even if a group has fewer examples than columns. The group of a new example must be known and must have been
seen in training.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.core.validation import FloatArray, check_labels, check_matrix, codes_among
from lopsided.data.labelled_set import LabelledSet
from lopsided.remedies.contract import Occasion, Proposal, Proposals, Remedy, several_groups

FEWEST_IN_A_GROUP = 20  # for means and covariances of its own, and for a say in group DRO
MOST_WHITENED = 200  # columns: a covariance per group and fold of more is slower than the trial
_NAMES = {"centre": "group centring", "whiten": "group whitening"}


class GroupStandardiser:
    """Centre or whiten the features of every group: fit(X, groups), then transform(X, groups).

    Parameters
    ----------
    whiten : bool, default True
        Whether to divide by the group's covariance as well; False only subtracts its mean.
    """

    def __init__(self, *, whiten: bool = True) -> None:
        self.whiten = whiten

    def fit(self, features: ArrayLike, groups: ArrayLike) -> "GroupStandardiser":
        """Means (G x d) and, where asked for, Sigma^(-1/2) (G x d x d) of every group."""
        given = check_matrix(features, "features")
        codes, names = check_labels(groups, "groups", length=given.shape[0])
        self.groups_ = tuple(names)
        self.means_ = np.stack([given[codes == group].mean(axis=0) for group in range(len(names))])
        self.whiteners_: FloatArray | None = None
        self.shrinkage_: FloatArray | None = None
        if self.whiten:
            made = [_whitener(given[codes == group], name) for group, name in enumerate(names)]
            self.whiteners_ = np.stack([whitener for whitener, _ in made])
            self.shrinkage_ = np.array([shrinkage for _, shrinkage in made])
        return self

    def transform(self, features: ArrayLike, groups: ArrayLike) -> FloatArray:
        """Centred, and whitened where asked for; rows keep their order."""
        if not hasattr(self, "means_"):
            raise InputError("a fitted GroupStandardiser", "one that has not been fitted", "call fit first")
        given = check_matrix(features, "features", columns=self.means_.shape[1])
        remedy = "fit on examples of every group"
        rows = given.shape[0]
        codes = codes_among(groups, self.groups_, "groups that were fitted", remedy, name="groups", length=rows)
        centred: FloatArray = given - self.means_[codes]
        if self.whiteners_ is None:
            return centred
        for group in np.unique(codes):
            chosen = codes == group
            centred[chosen] = centred[chosen] @ self.whiteners_[group]
        return centred

    def fit_transform(self, features: ArrayLike, groups: ArrayLike) -> FloatArray:
        """fit, then transform the same examples."""
        return self.fit(features, groups).transform(features, groups)

    def state(self) -> dict[str, Any]:
        """The fitted means and matrices, as plain values."""
        return {"groups": list(self.groups_), "means": self.means_, "whiteners": self.whiteners_}


def _whitener(rows: FloatArray, name: str) -> tuple[FloatArray, float]:
    """Sigma^(-1/2) of the Ledoit-Wolf estimate, symmetric, and its shrinkage."""
    from sklearn.covariance import ledoit_wolf

    if rows.shape[0] < 2:
        raise InputError(
            "at least two examples in every group to whiten", f"{rows.shape[0]} in {name}", "centre only (whiten=False)"
        )
    covariance, shrinkage = ledoit_wolf(rows - rows.mean(axis=0), assume_centered=True)
    values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
    if values[0] <= values[-1] * np.finfo(np.float64).eps:
        raise InputError(
            "features that vary in every direction of a group",
            f"a singular covariance in {name}",
            "drop constant or repeated columns, or centre only (whiten=False)",
        )
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T), float(shrinkage)


def groups_with_enough(training: LabelledSet) -> tuple[Partition | None, list[str]]:
    """The groups, if each has `FEWEST_IN_A_GROUP` examples; otherwise a note."""
    groups, notes = several_groups(training)
    if groups is None:
        return None, notes
    small = [groups.names[code] for code in np.flatnonzero((groups.counts > 0) & (groups.counts < FEWEST_IN_A_GROUP))]
    if small:
        few = f"fewer than {FEWEST_IN_A_GROUP} examples in {', '.join(small[:6])}"
        return None, [f"Group DRO, centring and whitening are left out: {few}."]
    return groups, []


class _Standardised:
    """Columns to unit deviation, then every group by its own mean (and covariance)."""

    def __init__(self, training: LabelledSet, whiten: bool) -> None:
        features, deviation = training.features, training.features.std(axis=0)
        self.centre, self.scale = features.mean(axis=0), np.where(deviation > 0, deviation, 1.0)
        assert training.groups is not None
        names = np.array(training.groups.names)[training.groups.codes]
        self.standardiser = GroupStandardiser(whiten=whiten).fit((features - self.centre) / self.scale, names)

    def transform(self, features: FloatArray, groups: Any) -> FloatArray:
        """Rows whose groups are known by name."""
        return self.standardiser.transform((features - self.centre) / self.scale, groups)


@dataclass(frozen=True)
class GroupStandardising(Remedy):
    """`standardise` is "centre" or "whiten", by the groups of `partition`; predicting needs the groups too."""

    kind: ClassVar[str] = "group standardising"
    variants: ClassVar[tuple[str, ...]] = tuple(_NAMES.values())
    silent: ClassVar[str] = "the mixture theory predicts how fast a network learns, not its accuracy"
    needs_groups: ClassVar[bool] = True
    needs_numbers: ClassVar[bool] = True
    without_form: ClassVar[str] = "use lopsided.torch.GroupWhitening over a fitted lopsided.remedies.GroupStandardiser"
    partition: str = "group"
    standardise: str = "centre"

    def __post_init__(self) -> None:
        if self.standardise not in _NAMES:
            raise InputError("standardise='centre' or 'whiten'", repr(self.standardise))

    @property
    def name(self) -> str:  # type: ignore[override]
        """By what it does."""
        return _NAMES[self.standardise]

    @classmethod
    def propose(cls, occasion: Occasion) -> Proposals:
        """Centring, and whitening where the columns are not too many."""
        groups, notes = groups_with_enough(occasion.training)
        if groups is None:
            return [], notes
        found = [_proposal(cls(groups.name, "centre"), "its own mean")]
        if occasion.training.features.shape[1] > MOST_WHITENED:
            return found, [f"Whitening by group is left out: more than {MOST_WHITENED} columns."]
        return [*found, _proposal(cls(groups.name, "whiten"), "its own mean and covariance (Ledoit-Wolf)")], []

    def prepare(self, training: LabelledSet) -> _Standardised:
        """Fitted on the training rows."""
        return _Standardised(training, self.standardise == "whiten")


def _proposal(remedy: GroupStandardising, what: str) -> Proposal:
    return Proposal(
        remedy,
        f"Every group of {remedy.partition} is standardised by {what} before training; the group of an example must be "
        "known when predicting.",
    )
