"""The outlook for every class of a run: its forecast recall, why it is being lost, and what would help.

`EpochRecord.recall_forecast` holds it at the end of every epoch; `lopsided.torch.recall_before` makes one before any
training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lopsided.core.notebook import notebook_view
from lopsided.measure.posthoc_gain import PosthocGain
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.theory.lost_cause import ADVICE, Cause, lost_causes
from lopsided.theory.recall_law import LOST, RecallForecast, recall_forecast

LIKELY = 0.5  # chance of being lost from which on a class is warned of


@dataclass(frozen=True)
class ClassOutlook:
    """Final recall of one class with its 90 % interval, the chance that it ends below 0.2, and the likely cause."""

    recall: float
    low: float
    high: float
    chance_lost: float
    cause: Cause | None


class ClassOutlooks(Sequence[ClassOutlook]):
    """One of every class, made when it is asked for: a thousand lasting objects an epoch keep the garbage collector
    busy for longer than all that an epoch's end takes else."""

    def __init__(self, forecast: RecallForecast, causes: Sequence[Cause | None]) -> None:
        self.chances = forecast.chance_lost
        self._columns = forecast.recall, forecast.low, forecast.high, forecast.chance_lost
        self._causes = tuple(causes)

    def __len__(self) -> int:
        return len(self._causes)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return tuple(self[j] for j in range(*k.indices(len(self))))
        recall, low, high, chance = (float(column[k]) for column in self._columns)
        return ClassOutlook(recall, low, high, chance, self._causes[k])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._causes)


@dataclass(frozen=True)
class RecallOutlook:
    """Every class; `seen` is the share of the training that was observed, 0 before it, None if its length is not known.

    `scores` are what the law orders classes by, the larger the better, and `counts` the training examples of every
    class, where the training data were given; `Monitor(before=...)` reads both.
    """

    seen: float | None
    classes: Sequence[ClassOutlook]
    notes: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()

    @property
    def likely_lost(self) -> list[int]:
        """Classes with a chance of being lost above one half, the highest first."""
        own = self.classes
        chances = own.chances if isinstance(own, ClassOutlooks) else np.array([one.chance_lost for one in own])
        return [int(k) for k in np.argsort(-chances, kind="stable") if chances[k] > LIKELY]

    def __str__(self) -> str:
        lost = self.likely_lost
        some = ", ".join(f"{k} ({self.classes[k].chance_lost:.2f})" for k in lost[:10])
        more = f" and {len(lost) - 10} more" if len(lost) > 10 else ""
        kind = "class" if len(lost) == 1 else "classes"
        if not lost:
            return f"no class is likely to end with a recall below {LOST:g}"
        return f"likely to end with a recall below {LOST:g}: {kind} {some}{more} (chance in brackets)"

    def _repr_html_(self) -> str:
        rows = [[k, one.recall, one.low, one.high, one.chance_lost, one.cause] for k, one in enumerate(self.classes)]
        heads = ("class", "recall", "low", "high", f"chance of a recall below {LOST:g}", "cause")
        return notebook_view(str(self), (heads, rows))


def outlook(
    forecast: RecallForecast,
    causes: Sequence[Cause | None] | None = None,
    notes: tuple[str, ...] = (),
    counts: Sequence[float] = (),
) -> RecallOutlook:
    """Plain numbers of a forecast."""
    known = causes or [None] * forecast.recall.size
    return RecallOutlook(
        forecast.seen, ClassOutlooks(forecast, known), notes, tuple(forecast.score.tolist()), tuple(counts)
    )


def run_outlook(evidence: ClassEvidence, merged: Sequence[int] = ()) -> RecallOutlook:
    """The outlook at the end of an epoch; `merged` are classes whose classifiers coincide with another's."""
    found = recall_forecast(evidence)
    now = np.where(np.isfinite(evidence.held_out_recall), evidence.held_out_recall, evidence.train_recall)
    with np.errstate(invalid="ignore"):
        lost = {int(k) for k in np.flatnonzero((found.chance_lost > LIKELY) | (now < LOST))} | set(merged)
    return outlook(found, lost_causes(evidence, lost, merged))


def recall_sentences(found: RecallOutlook, fresh: Sequence[int], names: Sequence[str]) -> list[str]:
    """One warning per cause for classes that have become likely to fail: who, how likely, why, what to do."""
    sentences = []
    for cause in (*ADVICE, None):
        own = [k for k in fresh if found.classes[k].cause == cause]
        if not own:
            continue
        told = [f"{names[k]} ({found.classes[k].chance_lost:.2f})" for k in own[:10]]
        more = f" and {len(own) - 10} more" if len(own) > 10 else ""
        when = "" if found.seen is None else f" after {found.seen:.0%} of the training"
        why = "" if cause is None else f", cause: {cause}; {ADVICE[cause]}"
        kind = "class" if len(own) == 1 else "classes"
        sentences.append(
            f"{kind} {', '.join(told)}{more} likely to end with a recall below {LOST:g} (chance in brackets{when}){why}"
        )
    return sentences


def gain_sentence(gain: PosthocGain) -> str:
    """The gain of adjusting the logits now, on the held-out examples."""
    return (
        f"post-hoc logit adjustment would change balanced accuracy by {gain.gain:+.3f} "
        f"[{gain.low:+.3f}, {gain.high:+.3f}] on the held-out examples, from {gain.before:.3f}"
    )
