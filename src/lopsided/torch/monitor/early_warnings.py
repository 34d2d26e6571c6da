"""Early warnings in words: lost classes first (`lost_classes`); then, once each, merging classes, vanishing
classifiers, classes at risk of merging, classes never seen.

Two classes merge when the cosine of their classifiers reaches `warn_at` in `patience` epochs in a row. A vector added
to every classifier does not change the softmax, but can bring all cosines near 1; so for three classes or more the
cosine of the centred classifiers must be as high too. (Centred, two classifiers are always opposite.)
"""

from collections.abc import Iterable, Sequence

import numpy as np

from lopsided.core.published_skill import measured_skill
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.measure.angles import Cosines, PairwiseAngles
from lopsided.torch.monitor.class_words import class_list, numbers
from lopsided.torch.monitor.run_forecast import RunForecast

DIVERGED = "the classifier has NaN or infinite weights: the training has diverged"
VANISHING = 0.1  # of the median length: a classifier this short has no say


class ImbalanceWarning(UserWarning):
    """A class is lost, merging, likely to fail or absent, or the training has diverged."""


def merging_cosines(weight: FloatArray, found: PairwiseAngles) -> Cosines:
    """K x K: the smaller of plain and centred cosine; nan on the diagonal and where a row is 0."""
    merging = np.fmin(found.cosines, found.centred(weight)) if len(weight) > 2 else found.cosines.copy()
    np.fill_diagonal(merging, np.nan)
    return merging


class EarlyWarnings:
    """Remembers how long conditions lasted and which warnings were given."""

    def __init__(self, classes: int, names: Sequence[str], *, warn_at: float, patience: int) -> None:
        self._names, self._warn_at, self._patience = names, warn_at, patience
        self._no_pairs = np.zeros((classes, classes), dtype=np.int64)
        self.pairs = self._no_pairs
        self.said_pairs = np.zeros((classes, classes), dtype=bool)
        self.short = np.zeros(classes, dtype=np.int64)
        self.diverged = False
        self.said: set[tuple[str, int]] = set()

    def look_at(
        self,
        weight: FloatArray,
        lengths: FloatArray | None,
        angles: PairwiseAngles | None,
        forecast: RunForecast,
        counts: FloatArray | None,
        absent: Sequence[int],
    ) -> list[str]:
        """The warnings that are new, from the head's rows, their lengths (None where some are not finite) and, where
        they were taken, their angles."""
        before, self.diverged = self.diverged, lengths is None
        if lengths is None:
            return [] if before else [DIVERGED]
        merging = None
        if angles is not None and _all_below(angles, self._warn_at):
            self.pairs = self._no_pairs
        elif angles is not None:
            merging = merging_cosines(weight, angles)
        return self.look(merging, lengths, forecast, counts, absent)

    def look(
        self,
        merging: Cosines | None,
        norms: FloatArray,
        forecast: RunForecast,
        counts: FloatArray | None,
        absent: Sequence[int],
    ) -> list[str]:
        """The warnings that are new this epoch; `merging` is None where the cosines were not taken or all are low."""
        short = norms < VANISHING * np.median(norms)
        self.short = np.where(short, self.short + 1, 0)
        found = [] if merging is None else self._merging(merging, forecast, counts)
        if fresh := self._new("vanishing", np.flatnonzero(self.short >= self._patience)):
            share = max(float((norms[fresh] / np.median(norms)).max()), 0.01)
            verb = "has a classifier" if len(fresh) == 1 else "have classifiers"
            found.append(f"{class_list(self._names, fresh)} {verb} of at most {share:.2f} times the median length")
        if fresh := self._new("at risk", forecast.at_risk):
            have = "" if counts is None else f" with {numbers(counts[fresh])} examples"
            verb, law = "is" if len(fresh) == 1 else "are", f"merging law{_record(forecast)}"
            found.append(
                f"{class_list(self._names, fresh)}{have} {verb} likely to merge with another: "
                f"forecast threshold {forecast.merging_threshold:.3g} examples ({law})"
            )
        if fresh := self._new("absent", absent):
            found.append(f"{class_list(self._names, fresh)} had no training examples in this epoch")
        return found

    @property
    def pairs(self) -> IntArray:
        """K x K: for how many epochs in a row each pair has been above `warn_at`; replaced, never written into."""
        return self._pairs

    @pairs.setter
    def pairs(self, found: IntArray) -> None:
        self._pairs = found
        self._merged: list[int] | None = [] if found is self._no_pairs else None

    @property
    def merged(self) -> list[int]:
        """Classes of which a pair has stayed above `warn_at` long enough."""
        if self._merged is None:
            self._merged = np.flatnonzero((self.pairs >= self._patience).any(axis=1)).tolist()
        return self._merged

    def _merging(self, merging: Cosines, forecast: RunForecast, counts: FloatArray | None) -> list[str]:
        with np.errstate(invalid="ignore"):
            close = merging >= self._warn_at
        if not close.any():
            self.pairs = self._no_pairs
            return []
        self.pairs = np.where(close, self.pairs + 1, 0)
        lasting = self.pairs >= self._patience
        found = []
        for members in _components(lasting) if lasting.any() else []:
            pairs = np.ix_(members, members)
            if (self.said_pairs[pairs] | ~lasting[pairs]).all():
                continue
            self.said_pairs[pairs] |= lasting[pairs]
            values = merging[pairs][lasting[pairs]]
            cosine = f"cosine {values.min():.2f}" if len(members) == 2 else f"cosines from {values.min():.2f} up"
            threshold = forecast.threshold
            need = "" if threshold is None else f", forecast threshold {threshold:.3g} examples"
            if need and forecast.outside_fit:
                need += " by a law outside its range"
            have = "" if counts is None else f" (they have {numbers(counts[members])})"
            found.append(f"{class_list(self._names, members)} are merging: {cosine}{need}{have}")
        return found

    def _new(self, kind: str, members: Iterable[int]) -> list[int]:
        """Those of which this has not been said yet."""
        fresh = [int(k) for k in members if (kind, int(k)) not in self.said]
        self.said |= {(kind, k) for k in fresh}
        return fresh


def _all_below(angles: PairwiseAngles, warn_at: float) -> bool:
    """Whether no pair can merge; where a row is 0, the centred cosines decide."""
    return angles.largest is not None and angles.largest < warn_at and not bool(np.isnan(angles.cosines).any())


def _record(forecast: RunForecast) -> str:
    """What the law's forecasts are worth here: the ways in which the run is unlike those it was fitted on, or how often
    such forecasts came true, where that was published."""
    if forecast.outside_fit:
        return f", outside its range: {', '.join(forecast.outside_fit)}"
    record = measured_skill("classes lost") if forecast.scored else None
    return "" if record is None else f", right in {round(100 * record.rate)} of 100 such cases"


def _components(adjacent: BoolArray) -> list[list[int]]:
    """Classes that hang together by merging pairs, two or more at a time."""
    from scipy.sparse.csgraph import connected_components

    _, which = connected_components(adjacent, directed=False)
    groups = [np.flatnonzero(which == group).tolist() for group in np.unique(which)]
    return [members for members in groups if len(members) > 1]
