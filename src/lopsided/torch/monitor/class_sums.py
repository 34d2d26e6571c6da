"""Sums per class over an epoch, on the model's device, batch by batch; no feature matrix is kept.

Features enter as differences d_i = h_i - r_{y_i} from a point r_k near their class: the class mean of the epoch before,
at first the first example of the class. Every batch adds to the classes it holds:  sum d, n, sum |d|^2, correct, and
the sum of cross entropies. With D_k the mean of d in class k, whatever r,

    mean_k = r_k + D_k,   sum_i |h_i - mean_k|^2 = sum_i |d_i|^2 - n_k |D_k|^2

and, from m_k sampled rows with the sum s_k of their d, their scatter around the means of all rows

    sum_i (h_i - mean_y)(h_i - mean_y)^T = sum_i d_i d_i^T - sum_k (s_k D_k^T + D_k s_k^T - m_k D_k D_k^T).

Nothing cancels, because r is near the means: features of 10,000 +- 1 in single precision keep their digits. The means
of the epoch before also serve NC4: the share of examples whose nearest one is not the predicted class. A last row
collects what carries no class of ours (ignored labels, labels out of range). Sums over batches are in double precision
where the device has it; within a batch, differences are added in the features' own (at least single).

Means cost most of it. In epochs that do not need them (`summing`), counts, correct answers and losses alone are added.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray
from lopsided.measure.angles import DOUBLE

SAMPLES = 512  # sampled rows that enter the scatter together
FULLY_SAMPLED = 512  # rows at the start of an epoch that are all sampled
WIDEST_SCATTER = 2048  # p x p doubles: 34 MB
MOST_BYTES = 2_000_000_000


@dataclass(frozen=True)
class SumsSnapshot:
    """The sums of an epoch as arrays; what carries no class of ours is left out, its count is `unclassed`."""

    counts: IntArray  # K
    correct: FloatArray  # K
    losses: FloatArray  # K, sums
    groups: FloatArray  # G x 3: count, correct, sum of losses
    unclassed: int  # labels out of range that are not the ignored one
    means: FloatArray | None = None  # K x p, nan for classes without examples; None where features were not summed
    deviations: FloatArray | None = None  # K, sums of |h - mean|^2; None as the means
    within: FloatArray | None = None  # p x p covariance around class means, from the sampled rows
    within_examples: int = 0
    nc4: float | None = None
    uneven: bool = False  # the rows sampled for scatter and NC4 are not a fair sample of the classes

    @cached_property
    def finite(self) -> bool:
        """Whether the means of all classes that were seen are, if taken; a sum is finite where its terms are."""
        return self.means is None or bool(np.isfinite(self.means.sum(axis=1)[self.counts > 0]).all())


class ClassSums:
    """The accumulator of one phase (training or evaluation); after the first rows, one in `interval` is sampled."""

    def __init__(
        self, classes: int, width: int, device: torch.device, *, interval: int = 1, ignored: int = -100
    ) -> None:
        if (classes + 1) * (width + 4) * 8 > MOST_BYTES:
            raise InputError(
                f"class sums of at most {MOST_BYTES / 1e9:g} GB",
                f"{classes} classes x {width} features",
                "watch a smaller head with head=, or other features with features=",
            )
        self.classes, self.width, self.interval, self.ignored = classes, width, interval, ignored
        # Apple's MPS has no double precision; there sums are single, and the points r keep them stable.
        self.dtype = torch.float32 if device.type == "mps" else torch.float64
        self.device = device
        # r_k, and a last row of zeros; in the precision of the features, so that differences from it are exact.
        self._precision = torch.float32
        self._points = torch.zeros(classes + 1, width, dtype=self._precision, device=device)
        self._placed = torch.zeros(classes + 1, dtype=torch.bool, device=device)
        self._placed[-1] = True
        self._all_placed = False
        self._nearest: NearestMean | None = None
        self.groups_seen = 0
        self.summing = True  # whether features enter sums, as means and scatter need them
        self.sampling = True  # whether rows enter the scatter and NC4
        self._sums_used = self._scatter_used = True
        self.clear()

    def clear(self) -> None:
        """Start a new epoch; the points r stay."""
        k, p, options = self.classes, self.width, {"dtype": self.dtype, "device": self.device}
        self._samples: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._sample_rows = 0
        self.batches = self.rows = 0
        self.scores = torch.zeros(k + 1, 4, **options)  # examples, correct, sum of losses, sum |d|^2
        self.strays = torch.zeros((), **options)
        if self._sums_used:  # else they are zeros already
            self.sums = torch.zeros(k + 1, p, **options)  # of d
            self._sums_used = False
        if self._scatter_used:
            self.scatter = torch.zeros(p, p, **options) if p <= WIDEST_SCATTER else None
            self.sampled = torch.zeros(k + 1, p + 1, **options)  # sums of d of the sampled rows, and their number
            self._scatter_used = False
        self.disagreeing = torch.zeros(2, **options)
        self._offsets: torch.Tensor | None = None
        self.groups = torch.zeros(self.groups_seen + 1, 3, **options)

    def add(
        self,
        features: torch.Tensor | None,
        predicted: torch.Tensor,
        losses: torch.Tensor,
        codes: torch.Tensor,
        groups: torch.Tensor | None = None,
    ) -> None:
        """Add examples: features (n, p), predicted class, cross entropy, class code and group code (n,) each.

        Classes may be lacking; features are read where the epoch is `summing`.
        """
        k = self.classes
        self.batches += 1
        if codes.is_cpu and len(codes) and _all_inside(codes, k):  # the usual case, without detours
            valid = torch.ones_like(codes, dtype=torch.bool)
        else:
            valid = (codes >= 0) & (codes < k)
            self.strays += (~valid & (codes != self.ignored)).sum()
            codes = torch.where(valid, codes, k)
        columns = [valid, predicted == codes, losses]
        if self.summing and features is not None:
            columns.append(self._add_features(features, predicted, codes, valid))
        scores = torch.stack([column.to(self.dtype) for column in columns], dim=1)
        self.scores[:, : len(columns)].index_add_(0, codes, scores)
        if groups is not None:
            self._add_groups(groups, scores, valid)
        self.rows += len(codes)

    def _add_features(
        self, features: torch.Tensor, predicted: torch.Tensor, codes: torch.Tensor, valid: torch.Tensor
    ) -> torch.Tensor:
        """Add differences and samples; returns |d|^2 of every row."""
        self._offsets, self._sums_used = None, True
        features = features if features.dtype == torch.float64 else features.float()
        if not self._all_placed:
            self._place(features, codes)
        near = self._points.index_select(0, codes)  # a tenth of the time that [codes] takes
        differences = torch.sub(features, near, out=near) if near.dtype == features.dtype else features - near
        self._add_differences(differences, codes)
        # The first rows of an epoch are all sampled, so that short epochs have a scatter too; then one in `interval`.
        first = max(FULLY_SAMPLED - self.rows, 0)
        later = slice(first + -(self.rows + first) % self.interval, None, self.interval)
        for chosen in (slice(0, first), later) if self.sampling else ():
            if chosen.start < min(len(codes), chosen.stop or len(codes)):
                rows = differences[chosen].clone()
                self._samples.append((rows, codes[chosen].clone(), valid[chosen], predicted[chosen]))
                self._sample_rows += len(rows)
        if self._sample_rows >= SAMPLES:
            self._flush_samples()
        return torch.linalg.vector_norm(differences, dim=1).to(self.dtype).square_()

    def _place(self, features: torch.Tensor, codes: torch.Tensor) -> None:
        """Let r_k be the first example of every class that has none yet; 0 where that is not finite."""
        if features.dtype == torch.float64:
            self._precision, self._points = torch.float64, self._points.double()
        n = len(codes)
        places = torch.full((self.classes + 1,), n, device=self.device)
        places.scatter_reduce_(0, codes, torch.arange(n, device=self.device), "amin")
        fresh = ((places < n) & ~self._placed).nonzero()[:, 0]
        if len(fresh):
            rows = features[places[fresh]]
            self._points[fresh] = rows.where(rows.isfinite().all(dim=1, keepdim=True), 0.0)
            self._placed[fresh] = True
            self._all_placed = bool(self._placed.all())

    def _add_differences(self, differences: torch.Tensor, codes: torch.Tensor) -> None:
        if len(codes) < self.classes:  # a vocabulary: fewer rows than classes
            self.sums.index_add_(0, codes, differences.to(self.dtype))
            return
        # Up to some thousand rows are summed in the features' own precision, then in double: half the traffic.
        block = torch.zeros(self.classes + 1, self.width, dtype=differences.dtype, device=self.device)
        self.sums += block.index_add_(0, codes, differences)

    def _flush_samples(self) -> None:
        if self._samples:
            rows, codes, valid, predicted = (_joined(list(parts)) for parts in zip(*self._samples, strict=True))
            self._samples, self._sample_rows = [], 0
            self._add_sampled(rows, codes, valid, predicted)

    def _add_groups(self, groups: torch.Tensor, scores: torch.Tensor, valid: torch.Tensor) -> None:
        if groups.numel():
            self._make_room(int(groups.max()) + 1)
        places = torch.where(valid & (groups >= 0), groups, self.groups_seen)
        self.groups.index_add_(0, places, scores[:, :3])

    def _make_room(self, groups: int) -> None:
        if groups > self.groups_seen:
            larger = torch.zeros(groups + 1, 3, dtype=self.dtype, device=self.device)
            larger[: self.groups_seen], larger[-1] = self.groups[:-1], self.groups[-1]
            self.groups, self.groups_seen = larger, groups

    def _add_sampled(
        self, rows: torch.Tensor, codes: torch.Tensor, valid: torch.Tensor, predicted: torch.Tensor
    ) -> None:
        self._scatter_used = True
        if self._nearest is not None:
            nearest = self._nearest.of(rows, codes)
            self.disagreeing[0] += ((nearest != predicted) & valid).sum()
            self.disagreeing[1] += valid.sum()
        if self.scatter is not None:
            # In the features' own precision once r are means; a first example may lie far out, so at first in double.
            d = rows.to(self.dtype) if self._nearest is None else rows
            d = d.masked_fill(~valid[:, None], 0.0)
            self.scatter += d.T @ d
            self.sampled.index_add_(0, codes, torch.cat([d, valid[:, None]], dim=1).to(self.dtype))

    def all_reduce(self) -> None:
        """Add the sums of all processes, so that each holds the whole epoch. Every rank must call it."""
        import torch.distributed as dist

        self._flush_samples()
        groups = torch.tensor([self.groups_seen], device=self.device)
        dist.all_reduce(groups, op=dist.ReduceOp.MAX)
        self._make_room(int(groups))
        tensors = [self.scores, self.strays, self.groups]
        if self.summing:  # every process has points of its own; all go over to the means of the whole epoch
            counts = self.scores[:, :1].clone()
            totals = self.sums + counts * self._points
            dist.all_reduce(counts)
            dist.all_reduce(totals)
            means = totals / counts
            means[-1] = 0.0
            self._offsets = None
            self._move_points(means.where(means.isfinite(), 0.0))
            self._sums_used = self._scatter_used = True  # by another process, maybe
            tensors += [self.sums, self.sampled, self.disagreeing, *([] if self.scatter is None else [self.scatter])]
        for tensor in tensors:
            dist.all_reduce(tensor)

    def _move_points(self, points: torch.Tensor) -> None:
        """The same sums around other points: d becomes d + s with s = r - r'."""
        shift = self._points.to(self.dtype) - points
        counts, sampled = self.scores[:, :1], self.sampled[:, -1:]
        self.scores[:, 3] += (shift * (2 * self.sums + counts * shift)).sum(dim=1)
        self.sums += counts * shift
        if self.scatter is not None:
            crossed = shift.T @ (self.sampled[:, :-1] + sampled * shift / 2)
            self.scatter += crossed + crossed.T
        self.sampled[:, :-1] += sampled * shift
        self._points = points

    def snapshot(self) -> SumsSnapshot:
        """The epoch so far, as arrays in double precision."""
        self._flush_samples()
        k = self.classes
        scores = _array(self.scores)[:k]
        found = SumsSnapshot(
            counts=scores[:, 0].round().astype(np.int64),
            correct=scores[:, 1],
            losses=scores[:, 2],
            groups=_array(self.groups)[:-1],
            unclassed=int(_array(self.strays)),
        )
        return replace(found, **self._geometry(found.counts, scores[:, 3])) if self.summing else found

    def _geometry(self, counts: IntArray, squared: FloatArray) -> dict[str, Any]:
        """Means, deviations, scatter and NC4."""
        offsets = self._from_points()[: self.classes]
        moved = _array(torch.linalg.vector_norm(offsets, dim=1)) ** 2
        around = squared - np.where(counts > 0, counts * moved, 0.0)
        differing, compared = _array(self.disagreeing)
        within, examples = self._within(offsets)
        unfair = self._scatter_used and _uneven(_array(self.sampled[: self.classes, -1]), counts)
        return {
            "means": (self._points[: self.classes] + offsets).to("cpu", torch.float64).numpy(),
            "deviations": np.maximum(around, 0.0),  # rounding, when a class has collapsed to a point
            "within": None if unfair else within,
            "within_examples": examples,
            "nc4": float(differing / compared) if compared and not unfair else None,
            "uneven": unfair,
        }

    def _from_points(self) -> torch.Tensor:
        """Where the class means lie from the points r; nan for classes without examples."""
        if self._offsets is None:
            self._offsets = self.sums / self.scores[:, :1]
        return self._offsets

    def _within(self, away: torch.Tensor) -> tuple[FloatArray | None, int]:
        """Covariance of the sampled rows around the class means, which lie `away` from the points."""
        if not self._scatter_used:
            return None, 0
        offsets = _array(away)
        sampled = _array(self.sampled)[: self.classes]
        examples = int(sampled[:, -1].sum())
        if self.scatter is None or not examples:
            return None, examples
        seen = sampled[:, -1] > 0
        middle = sampled[seen, :-1] - sampled[seen, -1:] * offsets[seen] / 2
        # A correction by the move of the means since r was taken; of many classes, seven digits of it are enough.
        kind = np.float64 if self.classes <= DOUBLE else np.float32
        crossed = offsets[seen].astype(kind).T @ middle.astype(kind)
        return (_array(self.scatter) - crossed - crossed.T) / examples, examples

    @property
    def points(self) -> dict[str, torch.Tensor]:
        """What lasts from epoch to epoch: the points r, which of them are set, and which are means."""
        means = {} if self._nearest is None else {"means": self._nearest.known}
        return {"points": self._points, "placed": self._placed} | means

    @points.setter
    def points(self, kept: dict[str, torch.Tensor]) -> None:
        kept = {name: table.to(self.device, copy=True) for name, table in kept.items()}
        self._points, self._placed = kept["points"], kept["placed"]
        self._precision, self._all_placed = self._points.dtype, bool(self._placed.all())
        self._nearest = NearestMean(self._points, kept["means"]) if "means" in kept else None

    def keep_reference(self) -> None:
        """Let this epoch's class means be the points r of the next; classes without examples keep their old ones."""
        if not self.summing:
            return
        self._flush_samples()
        means = (self._points + self._from_points()).to(self._precision)
        usable = means.sum(dim=1, keepdim=True).isfinite()  # of classes without examples it is nan
        usable[-1] = False
        self._points = means.where(usable, self._points.to(self._precision))
        self._offsets = None
        self._placed |= usable[:, 0]
        self._all_placed = bool(self._placed.all())
        before = None if self._nearest is None else self._nearest.known
        known = usable[:-1, 0] if before is None else usable[:-1, 0] | before
        self._nearest = NearestMean(self._points, known)


class NearestMean:
    """Which class mean is nearest:  argmin_k |h - r_k| = argmax_k (h - c).(r_k - c) - |r_k - c|^2 / 2  for any c.

    c is the mean of the r_k, so that what all features have in common does not drown their differences. Nothing is
    computed before the first question: most short epochs ask none.
    """

    def __init__(self, points: torch.Tensor, known: torch.Tensor) -> None:
        self.known, self._points = known, points
        self._table: tuple[torch.Tensor, torch.Tensor] | None = None

    def of(self, differences: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        """The nearest class for rows given by their difference from the point of their own class."""
        if self._table is None:
            self._table = self._prepare()
        centred, offset = self._table
        rows = differences.to(centred.dtype) + centred.index_select(0, codes)
        return torch.addmm(offset, rows, centred[:-1].T).argmax(dim=1)

    def _prepare(self) -> tuple[torch.Tensor, torch.Tensor]:
        points, known = self._points, self.known
        centre = points[:-1][known].mean(dim=0) if bool(known.any()) else points[-1]
        centred = points - centre  # the last row, of what carries no class, counts for nothing
        offset = -0.5 * centred[:-1].square().sum(dim=1)
        return centred, offset.where(known, -torch.inf)  # a class never seen is nobody's nearest


def affordable_interval(width: int, classes: int, weights: int) -> int:
    """Sampling a row costs p^2 + p K products; training it, at least three times
    the weights of the network. The interval that keeps the first to a quarter of a hundredth of the second."""
    return max(1, math.ceil(400.0 * width * (width + classes) / max(3.0 * weights, 1.0)))


def _uneven(sampled: FloatArray, counts: IntArray) -> bool:
    """Whether the classes of the sampled rows are not those of all rows, as when batches come class by class.

    Half the summed difference of shares, beyond twice what chance alone makes of it on average, plus a tenth.
    """
    examples, total = float(sampled.sum()), float(counts.sum())
    if not examples or examples >= total:
        return False
    shares = counts / total
    by_chance = 0.5 * float(np.sqrt(2 / np.pi * shares * (1 - shares) / examples).sum())
    return float(np.abs(sampled / examples - shares).sum() / 2) > 2 * by_chance + 0.1


def _all_inside(codes: torch.Tensor, classes: int) -> bool:
    low, high = codes.aminmax()
    return int(low) >= 0 and int(high) < classes


def _joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _array(tensor: torch.Tensor) -> FloatArray:
    array: FloatArray = tensor.to(device="cpu", dtype=torch.float64, copy=True).numpy()
    return array
