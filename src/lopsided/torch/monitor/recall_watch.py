"""At the end of every epoch: the evidence about each class, the forecast of its final recall, and new warnings.

A class gets one warning when its chance of being lost passes one half, and another only if its cause changes. The
warning says what would help. Warnings begin after a twentieth of the training: before that the network has hardly moved
from its start. What an evaluation showed stands until the next one, or until the training has gone on for as long
again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.posthoc_gain import PosthocGain, posthoc_gain
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.torch.monitor.class_evidence import RowsSnapshot, class_evidence, held_out_rates, separation
from lopsided.torch.monitor.class_sums import SumsSnapshot
from lopsided.torch.monitor.phase_sums import Phase
from lopsided.torch.monitor.recall_outlook import RecallOutlook, gain_sentence, recall_sentences, run_outlook

EARLIEST = 0.05  # share of the training
EARLIEST_EPOCH = 2  # where the planned length is not known
FEW_ROWS = 5  # of a class, of which more were shown than observed
_OF_A_CHOICE = ("_auc", "_adjusted")  # evidence that compares the logits of an example with each other


@dataclass(frozen=True)
class LookAhead:
    """The forecast of an epoch for the end of the training."""

    evidence: ClassEvidence | None = None
    forecast: RecallOutlook | None = None
    posthoc: PosthocGain | None = None
    warnings: tuple[str, ...] = ()


class RecallWatch:
    """Remembers which classes were warned of, and with which cause."""

    def __init__(self, names: Sequence[str], before: RecallOutlook | None = None) -> None:
        self._names = names
        self.before: dict[str, FloatArray] = {} if before is None else {"before_score": np.array(before.scores)}
        self.said: set[tuple[int, str]] = set()
        self.separated: dict[str, FloatArray] = {}  # by the rows of the latest epoch that was measured in full
        self.evaluated: dict[str, FloatArray] = {}  # rates of the latest evaluation
        self.evaluated_at = -1  # its epoch

    def look(
        self,
        sums: Mapping[Phase, SumsSnapshot],
        rows: Mapping[Phase, RowsSnapshot],
        held_out: Phase | None,
        counts: FloatArray | None,
        *,
        labels: IntArray | None,
        prior: FloatArray | None,
        seen: float | None,
        epoch: int,
        merged: Sequence[int],
        before: FloatArray | None = None,
    ) -> LookAhead:
        """`held_out` is the phase of the validation examples, None without any; `counts` are the examples there are,
        `labels` those of the epoch, and `prior` the proportions in which classes are shown, None where an example may
        have several classes, as each logit is then judged alone; `before` is the score of a forecast before training,
        where none was given at the start."""
        train = sums.get(True)
        if held_out is not None and held_out in sums:
            self.evaluated, self.evaluated_at = held_out_rates(sums[held_out]), epoch
        if counts is None or train is None or not train.counts.any() or not np.isfinite(train.losses).all():
            return LookAhead()
        self.separated |= separation(train, rows, held_out, counts if prior is None else prior)
        if prior is None:
            self.separated = {name: found for name, found in self.separated.items() if not name.endswith(_OF_A_CHOICE)}
        remembered = (
            ({} if before is None else {"before_score": before}) | self.separated | self.before | self.evaluated
        )
        if epoch > 2 * self.evaluated_at + 1:  # more epochs without an evaluation than up to it
            remembered = {name: found for name, found in remembered.items() if not name.startswith("held_out")}
        evidence = class_evidence(train, counts, remembered, seen)
        evidence = replace(evidence, train_recall=_of_few_rows(train, labels, evidence.train_recall))
        found = run_outlook(evidence, merged)
        if np.isfinite(evidence.held_out_recall).any() and self.evaluated_at < epoch:
            found = replace(found, notes=(f"held-out examples as they were in epoch {self.evaluated_at}",))
        kept = None if held_out is None else rows.get(held_out)
        gain = None if kept is None or prior is None else posthoc_gain(kept.logits, kept.codes, prior)
        early = epoch < EARLIEST_EPOCH if seen is None else seen < EARLIEST
        likely = [] if early else [k for k in found.likely_lost if counts[k] > 0]  # others are said to have no examples
        fresh = [k for k in likely if (k, str(found.classes[k].cause)) not in self.said]
        self.said |= {(k, str(found.classes[k].cause)) for k in fresh}
        said = recall_sentences(found, fresh, self._names)
        if gain is not None and any(found.classes[k].cause == "prior" for k in fresh):
            said.append(gain_sentence(gain))
        return LookAhead(evidence, found, gain, tuple(said))


def _of_few_rows(train: SumsSnapshot, labels: IntArray | None, recall: FloatArray) -> FloatArray:
    """The recall in training; where few of the examples shown were observed, with the mean of all classes as one more,
    because the law takes it for that of all of them."""
    few = train.counts < np.minimum(train.counts if labels is None else labels, FEW_ROWS)
    if not few.any():
        return recall
    return np.where(few, (train.correct + np.nanmean(recall)) / (train.counts + 1), recall)


def of_enough_rows(recall: Sequence[float | None], observed: Sequence[int], labels: IntArray) -> list[float | None]:
    """The recall of each class, None where few of its examples were observed."""
    least = np.minimum(labels, FEW_ROWS)
    return [value if rows >= need else None for value, rows, need in zip(recall, observed, least, strict=True)]
