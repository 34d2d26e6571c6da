"""Rows kept during an epoch for what sums cannot tell: ranks of logits, margins, nearest class means.

Of the training rows every class keeps the first so many, so that a rare class has its share; of held-out rows the first
that fit. At the end of the epoch they give the margins, ranks and nearest means of every class
(`measure.class_separation`), which with the sums of the epoch are the evidence of the recall law.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import torch
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.class_separation import adjusted_recalls, class_aucs, class_margins, nearest_recalls
from lopsided.theory.class_evidence import ClassEvidence
from lopsided.torch.monitor.class_sums import SumsSnapshot

MOST_NUMBERS = 4_000_000  # features and logits of the kept rows: 16 MB
LEAST_ROWS = 2  # of every class
MOST_ROWS = 6400


@dataclass(frozen=True)
class RowsSnapshot:
    """Kept rows as arrays: features n x p, logits n x K, both in single precision, class codes n."""

    features: FloatArray
    logits: FloatArray
    codes: IntArray


class KeptRows:
    """The rows of one phase; `per_class` keeps the first so many of every class instead of the first of all."""

    def __init__(self, classes: int, width: int, *, per_class: bool) -> None:
        most = min(MOST_NUMBERS // (width + classes), MOST_ROWS)
        self._classes, self._quota = classes, max(most // classes, LEAST_ROWS) if per_class else most
        self._per_class = per_class
        self.clear()

    @property
    def full(self) -> bool:
        """Whether no row more will be kept."""
        return bool(self._kept.min() >= self._quota)

    def clear(self) -> None:
        """Start a new epoch."""
        self._parts: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._kept = np.zeros(self._classes if self._per_class else 1, dtype=np.int64)

    def add(self, features: torch.Tensor, logits: torch.Tensor, codes: torch.Tensor) -> None:
        """Keep what there is still room for; labels that are no class of the head are left out."""
        own = codes.detach().cpu().numpy()
        inside = np.flatnonzero((own >= 0) & (own < self._classes))
        places = own[inside] if self._per_class else np.zeros(inside.size, dtype=np.int64)
        wanted = inside[_rank_within(places) + self._kept[places] < self._quota]
        if wanted.size:
            rows = torch.from_numpy(wanted).to(features.device)
            self._parts.append(
                (features.index_select(0, rows).float(), logits.index_select(0, rows).float(), codes[rows])
            )
            self._kept += np.bincount(own[wanted] if self._per_class else 0 * wanted, minlength=self._kept.size)

    def snapshot(self) -> RowsSnapshot | None:
        """The rows of the epoch, None without any."""
        if not self._parts:
            return None
        parts = [torch.cat(list(part)) for part in zip(*self._parts, strict=True)]
        finite = bool((parts[0].sum(dim=1) + parts[1].sum(dim=1)).isfinite().all())  # a sum is where its terms are
        features, logits, codes = (part.cpu().numpy() for part in parts)
        if finite:
            return RowsSnapshot(features, logits, codes)
        known = np.isfinite(features).all(axis=1) & np.isfinite(logits).all(axis=1)  # a run may diverge
        return RowsSnapshot(features[known], logits[known], codes[known]) if known.any() else None


def separation(
    train: SumsSnapshot, rows: Mapping[Any, RowsSnapshot], validation: Any, counts: FloatArray
) -> dict[str, FloatArray]:
    """What the kept rows tell of every class, under the names of `ClassEvidence`; empty where none were kept."""
    found: dict[str, FloatArray] = {}
    if train.means is None:
        return found
    if (kept := rows.get(True)) is not None:
        found = {
            "train_margin": class_margins(kept.logits, kept.codes),
            "train_auc": class_aucs(kept.logits, kept.codes),
            "train_adjusted": adjusted_recalls(kept.logits, kept.codes, counts),
            "nearest_recall": nearest_recalls(kept.features, kept.codes, train.means, train.counts),
        }
    if (kept := rows.get(validation)) is not None:
        found |= {
            "held_out_auc": class_aucs(kept.logits, kept.codes),
            "held_out_adjusted": adjusted_recalls(kept.logits, kept.codes, counts),
            "held_out_nearest": nearest_recalls(kept.features, kept.codes, train.means),
        }
    return found


def class_evidence(
    train: SumsSnapshot, counts: FloatArray, remembered: Mapping[str, FloatArray], seen: float | None
) -> ClassEvidence:
    """What an epoch of training showed of every class; `remembered` comes from the latest epoch in which rows were
    kept, and from the latest evaluation."""
    margin = np.full(counts.size, np.nan)
    values = {"counts": counts, "train_margin": margin, **_rates(train, "train"), **remembered}
    return ClassEvidence.of(values, seen=seen)


def held_out_rates(sums: SumsSnapshot) -> dict[str, FloatArray]:
    """What an evaluation showed of every class, under the names of `ClassEvidence`."""
    return _rates(sums, "held_out") | {"held_out_counts": sums.counts.astype(np.float64)}


def _rates(sums: SumsSnapshot, phase: str) -> dict[str, FloatArray]:
    with np.errstate(invalid="ignore"):
        known = np.where(sums.counts > 0, sums.counts, np.nan)
        return {f"{phase}_recall": sums.correct / known, f"{phase}_loss": sums.losses / known}


def _rank_within(places: IntArray) -> IntArray:
    """How many earlier entries have the same place."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    ranks = np.arange(places.size) - np.repeat(starts, np.diff(np.r_[starts, places.size])) if places.size else places
    found = np.empty_like(places)
    found[order] = ranks
    return found
