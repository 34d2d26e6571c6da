"""What a run has shown about every class so far: the input of the recall law.

`lopsided.torch.Monitor` fills it at the end of an epoch; you can also fill it from your own logits and labels. Rates
are shares in [0, 1]; nan marks values that were not recorded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray

NEEDED = ("counts", "train_recall", "train_loss", "train_margin")


@dataclass(frozen=True)
class ClassEvidence:
    """One number per class each, K in all.

    Parameters
    ----------
    counts : training examples.
    train_recall, train_loss : share of the class's training examples that were classified correctly during the latest
    epoch, and their mean cross entropy.
    train_margin : mean of the own logit minus the largest other logit.
    train_auc : chance that an example of the class has a larger logit for it than one of another class, classes drawn
        evenly.
    train_adjusted : recall after subtracting the logarithms of the counts from the logits: without the prior.
    nearest_recall : share of the class's training examples whose features are nearest to their own class's mean, each
        left out of it.
    held_out_counts, held_out_recall, held_out_loss, held_out_auc, held_out_adjusted : the same of validation examples.
    held_out_nearest : share of validation examples nearest to the mean of their class in training.
    before_score : what the forecast before training says (`RecallForecast.score`), where one was made.
    seen : finished share of the planned training; None if the plan is not known.
    """

    counts: FloatArray
    train_recall: FloatArray
    train_loss: FloatArray
    train_margin: FloatArray
    train_auc: FloatArray
    train_adjusted: FloatArray
    nearest_recall: FloatArray
    held_out_counts: FloatArray
    held_out_recall: FloatArray
    held_out_loss: FloatArray
    held_out_auc: FloatArray
    held_out_adjusted: FloatArray
    held_out_nearest: FloatArray
    before_score: FloatArray
    seen: float | None = None

    @classmethod
    def of(cls, values: Mapping[str, ArrayLike], *, seen: float | None = None) -> Self:
        """From plain lists; missing values, and None inside a list, become nan."""
        known = [field.name for field in fields(cls) if field.name != "seen"]
        if missing := [name for name in NEEDED if name not in values]:
            raise InputError(f"evidence with {', '.join(NEEDED)}", f"no {missing[0]}", "record it")
        if strange := [name for name in values if name not in known]:
            raise InputError(f"evidence among {', '.join(known)}", strange[0], "leave it out")
        size = np.size(values["counts"])
        if seen is not None and not 0 <= seen <= 1:
            raise InputError("the share of the training seen, from 0 to 1", seen, "give None where it is not known")
        return cls(**{name: _numbers(values.get(name), size, name) for name in known}, seen=seen)

    @property
    def classes(self) -> int:
        """K."""
        return int(self.counts.size)

    def without_held_out(self) -> "ClassEvidence":
        """The same without the evidence of a validation set."""
        return self._hiding("held_out")

    def without_before(self) -> "ClassEvidence":
        """The same without the forecast before training."""
        return self._hiding("before")

    def _hiding(self, start: str) -> "ClassEvidence":
        nan = np.full(self.classes, np.nan)
        hidden: dict[str, Any] = {field.name: nan for field in fields(self) if field.name.startswith(start)}
        return replace(self, **hidden)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; nan as None."""
        plain: dict[str, Any] = {"seen": self.seen}
        for field in fields(self):
            if field.name != "seen":
                values = getattr(self, field.name)
                plain[field.name] = [float(v) if np.isfinite(v) else None for v in values]
        return plain


def _numbers(values: ArrayLike | None, size: int, name: str) -> FloatArray:
    if values is None:
        return np.full(size, np.nan)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        array = values.astype(np.float64).ravel()
    else:
        rows = np.asarray(values, dtype=object).ravel()
        array = np.array([np.nan if v is None else v for v in rows], dtype=np.float64)
    if array.size != size:
        raise InputError(f"{size} numbers for {name}", array.size)
    return array
