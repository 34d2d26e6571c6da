"""Why a class is being lost, from what the run has shown about it; the cause decides what helps.

    merged         its classifier points in the same direction as another one, so this head cannot separate the two
    prior          the logits rank its examples well, but the class frequencies outweigh them: after subtracting log n_k
                   from the logits, at least half of its examples are correct, and the mean recall is higher
    memorised      its training examples are correct and its validation examples are not, even after adjustment
    never learnt   not even its training examples are correct

The rules are tried in this order; a class with a recall of one half or more has no cause yet. Recalls are those of the
validation set if there is one; without one, the cause "memorised" cannot be found. `lopsided skill` says how often the
rules are right on classes planted with a known cause (family recall-cause).
"""

from collections.abc import Collection
from typing import Literal

import numpy as np

from lopsided.theory.class_evidence import ClassEvidence

Cause = Literal["merged", "prior", "memorised", "never learnt"]
LEARNT = 0.5  # of the training examples
RECOVERED = 0.5  # of the examples once the prior is taken out
ADVICE: dict[Cause, str] = {
    "merged": "train again with less weight decay, balanced sampling or a logit-adjusted loss",
    "prior": "adjust the logits of the trained network (lopsided.torch.PostHocAdjustment or mend); no retraining",
    "memorised": "augment the class or collect more examples; weights and oversampling do not help",
    "never learnt": "train longer, or with class weights or balanced sampling",
}


def lost_causes(evidence: ClassEvidence, lost: Collection[int], merged: Collection[int] = ()) -> list[Cause | None]:
    """The cause of every class, None for classes that are not in `lost` or show no cause.

    Parameters
    ----------
    evidence : what the run has shown.
    lost : classes that are lost or likely to be.
    merged : classes whose classifiers have merged with another one.
    """
    validated = np.isfinite(evidence.held_out_adjusted)
    recall = np.where(validated, evidence.held_out_recall, evidence.train_recall)
    adjusted = np.where(validated, evidence.held_out_adjusted, evidence.train_adjusted)
    helps = np.where(validated, *(_adjustment_helps(evidence, of_validation) for of_validation in (True, False)))
    with np.errstate(invalid="ignore"):
        learnt = validated & (evidence.train_recall >= LEARNT)
        prior = (adjusted >= RECOVERED) & helps
        well = recall >= RECOVERED  # nothing is wrong with it yet
    found: list[Cause | None] = [None] * evidence.classes
    for k in lost:
        if k in merged:
            found[k] = "merged"
        elif not well[k]:
            found[k] = "prior" if prior[k] else "memorised" if learnt[k] else "never learnt"
    return found


def _adjustment_helps(evidence: ClassEvidence, validated: bool) -> bool:
    """Whether the mean recall is higher after adjustment: early on, the adjusted network predicts the rarest class
    everywhere."""
    pair = (
        (evidence.held_out_adjusted, evidence.held_out_recall)
        if validated
        else (evidence.train_adjusted, evidence.train_recall)
    )
    known = np.isfinite(pair[0]) & np.isfinite(pair[1])
    return bool(known.any() and pair[0][known].mean() > pair[1][known].mean())
