"""Sums per class over an epoch, on the model's device, batch by batch; no feature matrix is kept.

Every batch adds to the classes it holds:  sum h, and n, sum |h|^2, correct, sum of cross entropies.
Some rows ("sampled") also add to the within-class scatter. With a fixed reference r_k (the class means of the epoch
before, at first 0), d_i = h_i - r_{y_i} and D_k its class mean,

    sum_i (h_i - mean_y)(h_i - mean_y)^T = sum_i d_i d_i^T - sum_k n_k D_k D_k^T

which is exact whatever r, and loses no digits when r is near the means. The reference also serves NC4: the share of
examples on which the nearest r_k is not the predicted class. A last row collects what carries no class of ours
(ignored labels, labels out of range), so nothing waits for the device to look at the labels. Sums over batches are in
double precision where the device has it; within a batch, features are added in their own (at least single).
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray

SAMPLES = 512  # sampled rows that enter the scatter together
FULLY_SAMPLED = 512  # rows at the start of an epoch that are all sampled
WIDEST_SCATTER = 2048  # p x p doubles: 34 MB
MOST_BYTES = 2_000_000_000


@dataclass(frozen=True)
class SumsSnapshot:
    """The sums of an epoch as arrays; the last class-row is left out, its count is `unclassed`."""

    counts: IntArray  # K
    means: FloatArray  # K x p, nan for classes without examples
    squared_lengths: FloatArray  # K, sums of |h|^2
    correct: FloatArray  # K
    losses: FloatArray  # K, sums
    within: FloatArray | None  # p x p covariance around class means, from the sampled rows
    within_examples: int
    nc4: float | None
    groups: FloatArray  # G x 3: count, correct, sum of losses
    unclassed: int  # labels out of range that are not the ignored one
    uneven: bool = False  # the rows sampled for scatter and NC4 are not a fair sample of the classes


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
        # Apple's MPS has no double precision; there sums are single, and the reference keeps the scatter stable.
        self.dtype = torch.float32 if device.type == "mps" else torch.float64
        self.device = device
        self.reference: torch.Tensor | None = None  # K x p, 0 for classes never seen
        self._reference_offset = torch.full((classes,), -torch.inf, dtype=self.dtype, device=device)
        self.groups_seen = 0
        self.clear()

    def clear(self) -> None:
        """Start a new epoch; the reference stays."""
        k, p, options = self.classes, self.width, {"dtype": self.dtype, "device": self.device}
        self._samples: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]] = []
        self._sample_rows = 0
        self.batches = self.rows = 0
        self.sums = torch.zeros(k + 1, p, **options)
        self.scores = torch.zeros(k + 1, 4, **options)  # examples, sum |h|^2, correct, sum of losses
        self.strays = torch.zeros((), **options)
        self.scatter = torch.zeros(p, p, **options) if p <= WIDEST_SCATTER else None
        self.sampled = torch.zeros(k + 1, p + 1, **options)
        self.disagreeing = torch.zeros(2, **options)
        self.groups = torch.zeros(self.groups_seen + 1, 3, **options)

    def add(
        self, features: torch.Tensor, logits: torch.Tensor, codes: torch.Tensor, groups: torch.Tensor | None = None
    ) -> None:
        """Add examples: features (n, p), logits (n, K), class codes (n,), group codes (n,). Classes may be lacking."""
        k, n = self.classes, len(codes)
        self.batches += 1
        valid = (codes >= 0) & (codes < k)
        self.strays += (~valid & (codes != self.ignored)).sum()
        codes = torch.where(valid, codes, k)
        predicted = logits.argmax(dim=1)
        # Up to some thousand rows are summed in the features' own precision, then in double: half the traffic.
        work = features if features.dtype == torch.float64 else features.float()
        block = torch.zeros(k + 1, self.width, dtype=work.dtype, device=self.device)
        self.sums += block.index_add_(0, codes, work)
        chances = torch.log_softmax(logits.float(), dim=1).gather(1, codes.clamp(max=k - 1)[:, None])[:, 0]
        lengths = torch.linalg.vector_norm(work, dim=1).to(self.dtype).square_()
        right = (predicted == codes).to(self.dtype)
        scores = torch.stack([valid.to(self.dtype), lengths, right, -chances.to(self.dtype)], dim=1)
        self.scores.index_add_(0, codes, scores)
        if groups is not None:
            self._add_groups(groups, scores, valid)
        # The first rows of an epoch are all sampled, so that short epochs have a scatter too; then every so-manieth.
        first = max(FULLY_SAMPLED - self.rows, 0)
        later = slice(first + -(self.rows + first) % self.interval, None, self.interval)
        for chosen in (slice(0, first), later):
            if chosen.start < min(n, chosen.stop or n):
                rows = work[chosen].clone()
                self._samples.append((rows, codes[chosen], valid[chosen], predicted[chosen]))
                self._sample_rows += len(rows)
        if self._sample_rows >= SAMPLES:
            self._flush_samples()
        self.rows += n

    def _flush_samples(self) -> None:
        if self._samples:
            features, codes, valid, predicted = (_joined(list(parts)) for parts in zip(*self._samples, strict=True))
            self._samples, self._sample_rows = [], 0
            self._add_sampled(features, codes, valid, predicted)

    def _add_groups(self, groups: torch.Tensor, scores: torch.Tensor, valid: torch.Tensor) -> None:
        if groups.numel() and (needed := int(groups.max()) + 1) > self.groups_seen:
            larger = torch.zeros(needed + 1, 3, dtype=self.dtype, device=self.device)
            larger[: self.groups_seen] = self.groups[:-1]
            larger[-1] = self.groups[-1]
            self.groups, self.groups_seen = larger, needed
        places = torch.where(valid & (groups >= 0), groups, self.groups_seen)
        self.groups.index_add_(0, places, scores[:, [0, 2, 3]])

    def _add_sampled(
        self, features: torch.Tensor, codes: torch.Tensor, valid: torch.Tensor, predicted: torch.Tensor
    ) -> None:
        # In the features' own precision once a reference takes the large part away (the identity above holds whatever
        # is subtracted, rounded or not); before, in double.
        features = features.to(self.dtype) if self.reference is None else features
        reference = None if self.reference is None else self.reference.to(features.dtype)
        if self.scatter is not None:
            inside = torch.where(valid, codes, 0)
            d = features if reference is None else features - reference[inside]
            d = d.masked_fill(~valid[:, None], 0.0)
            self.scatter += d.T @ d
            self.sampled.index_add_(0, codes, torch.cat([d, valid[:, None]], dim=1).to(self.dtype))
        if reference is not None:
            # argmin_k |h - r_k| = argmax_k h.r_k - |r_k|^2/2; a class never seen (offset -inf) is nobody's nearest.
            nearest = torch.addmm(self._reference_offset.to(features.dtype), features, reference.T).argmax(dim=1)
            self.disagreeing[0] += ((nearest != predicted) & valid).sum()
            self.disagreeing[1] += valid.sum()

    def all_reduce(self) -> None:
        """Add the sums of all processes, so that each holds the whole epoch. Every rank must call it."""
        import torch.distributed as dist

        self._flush_samples()

        groups = torch.tensor([self.groups_seen], device=self.device)
        dist.all_reduce(groups, op=dist.ReduceOp.MAX)
        if int(groups) > self.groups_seen:
            larger = torch.zeros(int(groups) + 1, 3, dtype=self.dtype, device=self.device)
            larger[: self.groups_seen], larger[-1] = self.groups[:-1], self.groups[-1]
            self.groups, self.groups_seen = larger, int(groups)
        for tensor in (self.sums, self.scores, self.strays, self.scatter, self.sampled, self.disagreeing, self.groups):
            if tensor is not None:
                dist.all_reduce(tensor)

    def snapshot(self) -> SumsSnapshot:
        """The epoch so far, as arrays in double precision."""
        self._flush_samples()
        k = self.classes
        sums, scores = _array(self.sums)[:k], _array(self.scores)[:k]
        counts = scores[:, 0].round().astype(np.int64)
        with np.errstate(invalid="ignore"):
            means = sums / np.where(counts > 0, counts, np.nan)[:, None]
        differing, compared = _array(self.disagreeing)
        within, examples = self._within()
        uneven = _uneven(_array(self.sampled)[:k, -1], counts)
        return SumsSnapshot(
            counts=counts,
            means=means,
            squared_lengths=scores[:, 1],
            correct=scores[:, 2],
            losses=scores[:, 3],
            within=None if uneven else within,
            within_examples=examples,
            nc4=float(differing / compared) if compared and not uneven else None,
            groups=_array(self.groups)[:-1],
            unclassed=int(_array(self.strays)),
            uneven=uneven,
        )

    def _within(self) -> tuple[FloatArray | None, int]:
        sampled = _array(self.sampled)[: self.classes]
        counts, examples = sampled[:, -1], int(sampled[:, -1].sum())
        if self.scatter is None or not examples:
            return None, examples
        seen = counts > 0
        scaled = sampled[seen, :-1] / np.sqrt(counts[seen])[:, None]
        scatter = _array(self.scatter) - scaled.T @ scaled
        return scatter / examples, examples

    def keep_reference(self) -> None:
        """Let this epoch's class means be the reference of the next; classes without examples keep their old one."""
        self._flush_samples()
        k = self.classes
        counts = self.scores[:k, 0]
        means = self.sums[:k] / counts[:, None]
        usable = (counts > 0) & means.isfinite().all(dim=1)
        before = torch.zeros_like(means) if self.reference is None else self.reference
        self.reference = torch.where(usable[:, None], means, before)
        offset = -0.5 * self.reference.square().sum(dim=1)
        self._reference_offset = torch.where(usable, offset, self._reference_offset)


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


def affordable_interval(width: int, classes: int, weights: int) -> int:
    """Sampling a row costs p^2 + p K products; training it, at least three times
    the weights of the network. The interval that keeps the first to a quarter of a hundredth of the second."""
    return max(1, math.ceil(400.0 * width * (width + classes) / max(3.0 * weights, 1.0)))


def _joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _array(tensor: torch.Tensor) -> FloatArray:
    array: FloatArray = tensor.to(device="cpu", dtype=torch.float64).numpy().copy()
    return array
