"""The running sums of the phases of an epoch, training examples, held-out ones and named ones, a buffer before each.

Adding a batch takes some thirty small operations, whose start costs more than their work; so the rows of small batches
are copied into one buffer (features, logits, labels: three operations), and everything else is done when it is full.
Keeping the batches themselves would be no cheaper: it takes the memory away that the next forward would use again.
Where only scores are taken, the buffer holds more rows.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from lopsided.core.errors import InputError
from lopsided.torch.monitor.activation_probe import modes_kept
from lopsided.torch.monitor.cadence import Cadence
from lopsided.torch.monitor.class_evidence import KeptRows, RowsSnapshot
from lopsided.torch.monitor.class_sums import ClassSums, SumsSnapshot
from lopsided.torch.monitor.forward_watch import ForwardWatch
from lopsided.torch.monitor.head import Head
from lopsided.torch.monitor.targets import TargetReader
from torch import nn

MOST_ROWS = 2048
MOST_NUMBERS = 4_000_000  # of features, and of logits: 16 MB each in single precision
MOST_SCORED_ROWS = 8192  # where no features are summed
MOST_SCORED = 262_144  # logits of them: 1 MB in single precision
MOST_VIEWS = 128
IN_CACHE = 131_072  # logits whose losses are taken together
Batches = Callable[[], Iterable[Any]] | Iterable[Any]


Phase = bool | str  # True for training, False for held-out examples, or a name of the user's


class PhaseSums:
    """Sums by phase, made when a phase shows its first examples."""

    def __init__(self, head: Head, *, interval: int, ignored: int, all_reduce: bool) -> None:
        self._head, self._interval, self._ignored, self._all_reduce = head, interval, ignored, all_reduce
        self._buffers: dict[Phase, RowBuffer] = {}
        self._resumed: dict[Phase, dict[str, torch.Tensor]] = {}  # points of phases not seen since a resume
        self._summing = self._sampling = self._keeping = True

    def add(
        self,
        phase: Phase,
        features: torch.Tensor,
        logits: torch.Tensor,
        codes: torch.Tensor,
        groups: torch.Tensor | None,
    ) -> None:
        """Add the rows of a batch."""
        if phase not in self._buffers:
            self._buffers[phase] = self._buffer(phase, features)
        self._buffers[phase].add(features, logits, codes, groups)

    def _buffer(self, phase: Phase, features: torch.Tensor) -> "RowBuffer":
        sums = self.new(features)
        if phase in self._resumed:
            sums.points = self._resumed.pop(phase)
        sums.summing, sums.sampling = self._summing, self._sampling
        buffer = RowBuffer(sums, KeptRows(self._head.classes, sums.width, per_class=phase is True))
        buffer.keeping = self._keeping
        return buffer

    def new(self, features: torch.Tensor, interval: int | None = None) -> ClassSums:
        """Empty sums for features such as these."""
        with quiet(features.device):
            return ClassSums(
                self._head.classes,
                features.shape[1],
                features.device,
                interval=interval or self._interval,
                ignored=self._ignored,
            )

    def start_epoch(self, cadence: Cadence) -> None:
        """Sum features, sample rows for the scatter and NC4, keep some for the evidence of classes: each or not."""
        self._summing, self._sampling, self._keeping = cadence.means, cadence.full, cadence.rows
        for buffer in self._buffers.values():
            buffer.sums.summing, buffer.sums.sampling = self._summing, self._sampling
            buffer.keeping = self._keeping

    def start_over(self, phase: Phase) -> None:
        """Forget what the running epoch has of a phase, which is evaluated once more."""
        if (buffer := self._buffers.get(phase)) is not None:
            buffer.clear()

    @property
    def points(self) -> dict[Phase, dict[str, torch.Tensor]]:
        """What lasts of each phase from epoch to epoch."""
        return self._resumed | {phase: buffer.sums.points for phase, buffer in self._buffers.items()}

    @points.setter
    def points(self, kept: dict[Phase, dict[str, torch.Tensor]]) -> None:
        self._buffers, self._resumed = {}, dict(kept)

    def flush(self) -> bool:
        """Add what waits in the buffers; whether there is anything to close."""
        for buffer in self._buffers.values():
            buffer.flush()
        return self._all_reduce or any(buffer.sums.batches for buffer in self._buffers.values())

    def close(self) -> dict[Phase, SumsSnapshot]:
        """The sums of the epoch, of all processes where they are added up; they start anew."""
        if self._all_reduce:
            self._make_what_others_have()
        found: dict[Phase, SumsSnapshot] = {}
        for phase in sorted(self._buffers, key=_order):  # in one order on all processes
            sums = self._buffers[phase].sums
            if self._all_reduce:
                sums.all_reduce()
            if sums.batches or self._all_reduce:
                found[phase] = sums.snapshot()
                sums.keep_reference()
                sums.clear()
        return found

    def close_rows(self) -> dict[Phase, RowsSnapshot]:
        """The rows that were kept of each phase, this process's own; keeping starts anew."""
        found = {}
        for phase, buffer in self._buffers.items():
            if (rows := buffer.kept.snapshot()) is not None:
                found[phase] = rows
                buffer.kept.clear()
        return found

    def _make_what_others_have(self) -> None:
        """A phase that only another process saw gets empty sums here, to be added."""
        device = self._head.device
        others: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(others, list(self._buffers))
        known = next(iter(self._buffers.values()), None)
        example = torch.empty(0, self._head.width if known is None else known.sums.width, device=device)
        for phase in {phase for seen in others for phase in seen} - set(self._buffers):
            self._buffers[phase] = self._buffer(phase, example)


class RowBuffer:
    """A buffer for the sums of one phase."""

    def __init__(self, sums: ClassSums, kept: KeptRows) -> None:
        self.sums, self.kept, self.keeping = sums, kept, True
        self._capacity = min(MOST_ROWS, MOST_NUMBERS // max(sums.width, sums.classes))
        self._capacity_of_scores = max(min(MOST_SCORED // sums.classes, MOST_SCORED_ROWS), self._capacity)
        self._used = 0
        self._grouped = False
        self._features: torch.Tensor | None = None
        self._views: dict[tuple[int, int], tuple[torch.Tensor, ...]] = {}

    def add(
        self, features: torch.Tensor, logits: torch.Tensor, codes: torch.Tensor, groups: torch.Tensor | None = None
    ) -> None:
        """Keep or add examples: features (n, p), logits (n, K), class codes (n,) and group codes (n,)."""
        n, summing = codes.shape[0], self.sums.summing or self.keeping
        capacity = self._capacity if summing else self._capacity_of_scores
        if n > capacity // 2:
            self.flush()
            self._sum(features, logits, codes, groups)
            return
        if self._used + n > capacity:
            self.flush()
        if self._features is None:
            self._allocate(features, logits)
        at = self._used, self._used + n
        own_features, own_logits, own_codes = self._views.get(at) or self._viewed(at)
        if summing:
            own_features.copy_(features)
        own_logits.copy_(logits)
        own_codes.copy_(codes)
        if groups is not None or self._grouped:
            self._add_groups(slice(*at), groups)
        self._used += n

    def flush(self) -> None:
        """Add what was kept."""
        if self._used and self._features is not None:
            own = slice(0, self._used)
            groups = self._groups[own] if self._grouped else None
            self._used, self._grouped = 0, False
            self._sum(self._features[own], self._logits[own], self._codes[own], groups)

    def clear(self) -> None:
        """Forget the rows and sums of the epoch."""
        self._used, self._grouped = 0, False
        self.sums.clear()
        self.kept.clear()

    def _sum(
        self, features: torch.Tensor, logits: torch.Tensor, codes: torch.Tensor, groups: torch.Tensor | None
    ) -> None:
        with quiet(self.sums.device):
            self.sums.add(features, *outcomes(logits, codes), codes, groups)
            if self.keeping and not self.kept.full:
                self.kept.add(features, logits, codes)

    def _viewed(self, at: tuple[int, int]) -> tuple[torch.Tensor, ...]:
        """The buffer's rows from one place to another, kept because making a view takes longer than copying a batch."""
        assert self._features is not None
        if len(self._views) >= MOST_VIEWS:  # batches of many sizes
            self._views.clear()
        with quiet(self.sums.device):
            self._views[at] = found = tuple(part[slice(*at)] for part in (self._features, self._logits, self._codes))
        return found

    def _add_groups(self, place: slice, groups: torch.Tensor | None) -> None:
        if not self._grouped:
            self._groups[: place.start] = -1  # of those before, no group is known
            self._grouped = True
        self._groups[place] = -1 if groups is None else groups

    def _allocate(self, features: torch.Tensor, logits: torch.Tensor) -> None:
        # The rows come detached, so copying them records nothing; only what is made here must be no inference tensor.
        rows, more, device = self._capacity, self._capacity_of_scores, self.sums.device
        with quiet(device):
            self._features = torch.empty(rows, self.sums.width, dtype=_kind(features), device=device)
            self._logits = torch.empty(more, logits.shape[1], dtype=_kind(logits), device=device)
            self._codes, self._groups = (torch.empty(more, dtype=torch.int64, device=device) for _ in range(2))


def measure_exactly(
    model: nn.Module, head: Head, watch: ForwardWatch, phases: PhaseSums, batches: Batches, reader: TargetReader
) -> SumsSnapshot:
    """The sums over all examples; `batches` is a DataLoader, a list, or a function that starts a new pass."""

    def one_pass(sums: ClassSums | None) -> ClassSums:
        device = head.device
        for batch in _started(batches):
            inputs, labels = _pair(batch)
            model(inputs.to(device))
            given = reader.read(labels, watch.latest_outputs)
            features, logits, codes, _ = reader.rows(watch.take(len(given)), given)
            if sums is None:
                sums = phases.new(features, interval=1)
            sums.add(features, *outcomes(logits, codes), codes)
        if sums is None:
            raise InputError("batches of inputs and labels", "none", "give a DataLoader or a list")
        return sums

    with modes_kept(model), torch.no_grad():
        model.eval()
        sums = one_pass(None)
        first = sums.rows
        sums.keep_reference()
        sums.clear()
        one_pass(sums)
    if sums.rows != first:
        got = f"{first} and {sums.rows} examples"
        raise InputError("the same batches in both passes", got, "give a list, a DataLoader or a function")
    return sums.snapshot()


def _order(phase: Phase) -> tuple[int, str]:
    return (0 if phase is True else 1 if phase is False else 2), str(phase)


def _started(batches: Batches) -> Iterable[Any]:
    found = batches() if callable(batches) else batches
    if not isinstance(found, Iterable) or isinstance(found, (str, torch.Tensor)):
        raise InputError("batches (inputs, labels)", type(found).__name__, "give a DataLoader or a list of pairs")
    return found


def _pair(batch: Any) -> tuple[torch.Tensor, Any]:
    if isinstance(batch, (tuple, list)) and len(batch) > 1 and isinstance(batch[0], torch.Tensor):
        return batch[0], batch[1]
    got = f"a {type(batch).__name__}" + (f" of {len(batch)}" if isinstance(batch, (tuple, list)) else "")
    raise InputError("batches (inputs, labels) with inputs as a tensor", got, "give a function that yields such pairs")


def outcomes(logits: torch.Tensor, codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The predicted class and the cross entropy of every row; codes out of range are for the sums to leave out."""
    predicted, columns = largest_logit(logits.to(_kind(logits))), logits.shape[1]
    exact, own, top = logits.float(), codes.clamp(0, columns - 1)[:, None], predicted[:, None]
    size = max(IN_CACHE // columns, 1)
    if len(codes) <= size:
        return predicted, _cross_entropies(exact, own, top)
    parts = zip(exact.split(size), own.split(size), top.split(size), strict=True)
    return predicted, torch.cat([_cross_entropies(*part) for part in parts])


def _cross_entropies(logits: torch.Tensor, codes: torch.Tensor, largest: torch.Tensor) -> torch.Tensor:
    """log sum exp (z - max z) - (z_y - max z); of few columns at a fifth of the time of PyTorch's own."""
    below = logits - logits.gather(1, largest)
    own = below.gather(1, codes)[:, 0]
    return below.exp_().sum(dim=1).log_().sub_(own)


def largest_logit(logits: torch.Tensor) -> torch.Tensor:
    """argmax of each row; on a CPU by NumPy, which takes a tenth of PyTorch's time for a thousand columns."""
    on_cpu = logits.device.type == "cpu"
    return torch.from_numpy(logits.detach().numpy().argmax(axis=1)) if on_cpu else logits.argmax(dim=1)


def _kind(rows: torch.Tensor) -> torch.dtype:
    return torch.float64 if rows.dtype == torch.float64 else torch.float32


@contextmanager
def quiet(device: torch.device) -> Iterator[None]:
    """No graph, normal tensors even in inference mode, full precision even under autocast."""
    cast = torch.is_autocast_enabled(device.type)
    plain = torch.autocast(device.type, enabled=False) if cast else nullcontext()
    with torch.inference_mode(False), torch.no_grad(), plain:
        yield
