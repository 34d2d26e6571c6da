"""How much of an epoch was observed: examples seen and skipped, labels of the skipped ones, batches, optimizer steps;
and notes about it for the record."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from lopsided.core.errors import InputError
from lopsided.core.validation import IntArray
from lopsided.torch.monitor.class_sums import SumsSnapshot
from lopsided.torch.processes import process_group

FULLY_OBSERVED = 6400  # examples at the start of an epoch that are all observed
OBSERVE_EVERY = 16
MANY_CLASSES = 256  # beyond, a row of logits takes so long to read that fewer are observed:
FULLY_OBSERVED_OF_MANY = 1024
MOST_WAITING = 65_536  # labels that wait to be counted


def sparse_observation(classes: int, told: int | None) -> tuple[int, int]:
    """How many examples at the start of an epoch are observed, and one batch in how many after them."""
    fully = FULLY_OBSERVED if classes <= MANY_CLASSES else FULLY_OBSERVED_OF_MANY
    return fully, OBSERVE_EVERY if told is None else told


class NothingSeen(InputError):
    """An epoch ended without any labels."""


@dataclass
class EpochCounters:
    """Counters of the running epoch, and of the run (`steps`, `all_batches`, `batch_size`)."""

    fully_observed: int
    observe_every: int
    observed_rows: int = 0
    passed_rows: int = 0
    batches: int = 0
    overwritten: int = 0  # batches whose features or logits were written into before their labels came
    all_batches: int = 0
    steps: int = 0
    batch_size: int = 0
    _rows_since_step: int = 0

    @property
    def share_observed(self) -> float:
        """Of the training examples."""
        return self.observed_rows / max(self.observed_rows + self.passed_rows, 1)

    @property
    def overwritten_batches(self) -> str:
        """1 batch, 2 batches."""
        return f"{self.overwritten} batch{'' if self.overwritten == 1 else 'es'}"

    def training_forward(self, rows: int) -> bool:
        """A forward in training mode; whether its batch is skipped, not observed."""
        if torch.is_grad_enabled():  # its gradient will be part of the next step
            self._rows_since_step += rows
        if self.observed_rows < self.fully_observed or not self.batches % self.observe_every:
            return False
        self.passed_rows += rows
        return True

    def training_batch(self, rows: int = 0, *, is_step: bool = False) -> None:
        """A labelled training batch, `rows` of it observed; `is_step` where no optimizer is there to count steps."""
        self.batches += 1
        self.all_batches += 1
        self.observed_rows += rows
        if is_step:
            self.batch_size = max(self.batch_size, rows)

    def stepped(self) -> None:
        """The optimizer took a step."""
        self.steps += 1
        self.batch_size = max(self.batch_size, self._rows_since_step)
        self._rows_since_step = 0

    def start_epoch(self) -> None:
        """Forget the epoch; the run goes on."""
        self.observed_rows = self.passed_rows = self.batches = self.overwritten = 0

    def start_over(self) -> None:
        """Forget the epoch, and the examples whose gradients wait for a step."""
        self.start_epoch()
        self._rows_since_step = 0

    def notes(self, snapshots: Iterable[SumsSnapshot], *, classes: int, all_reduce: bool, mixed: bool) -> Iterator[str]:
        """What was left out of the epoch's sums, and why."""
        sums = list(snapshots)
        if strays := sum(one.unclassed for one in sums):
            yield f"{strays} labels are not among the head's {classes} classes and were left out"
        if mixed:
            yield "an example with mixed labels counts for the class with the largest share"
        if self.passed_rows:
            yield f"{self.share_observed:.0%} of the training examples were observed; observe_every=1 observes all"
        if any(one.uneven for one in sums):
            yield "batches came sorted by class, so NC1 and NC4 are left out; monitor.measure(loader) computes them"
        if self.overwritten:
            yield f"left out {self.overwritten_batches} whose features or logits were overwritten in place"
        if not all(one.finite for one in sums):
            yield "some features were NaN or infinite, so class means could not be measured"
        size, rank = process_group()
        if size > 1 and not all_reduce:
            yield f"process {rank} of {size} saw only its own shard; all_reduce=True adds up all shards"


class LabelCounts:
    """Labels of an epoch's training batches that are not observed, class by class.

    A batch costs one copy of its labels; they are counted together, when some ten thousand wait. Nothing is moved
    between devices before the epoch ends.
    """

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._waiting: list[torch.Tensor] = []
        self._rows = 0
        self._counts: torch.Tensor | None = None

    def add(self, codes: torch.Tensor) -> None:
        """Count these class codes, which nobody writes into; codes of no class are left out."""
        self._waiting.append(codes)
        self._rows += codes.shape[0]
        if self._rows >= MOST_WAITING:
            self._flush()

    def take(self, device: torch.device, *, all_reduce: bool = False) -> IntArray:
        """The counts since the last call, of all processes where they are added up."""
        self._flush()
        counts = torch.zeros(self._classes, dtype=torch.int64, device=device)
        if self._counts is not None:
            counts += self._counts.to(device)
        if all_reduce:
            torch.distributed.all_reduce(counts)
        self._counts = None
        found: IntArray = counts.cpu().numpy()
        return found

    def _flush(self) -> None:
        if self._waiting:
            codes = torch.cat([part.to(self._waiting[0].device) for part in self._waiting])
            self._waiting, self._rows = [], 0
            places = torch.where((codes >= 0) & (codes < self._classes), codes, self._classes)
            found = torch.bincount(places, minlength=self._classes + 1)[: self._classes]
            self._counts = found if self._counts is None else self._counts + found


def nothing_seen(counters: EpochCounters) -> InputError:
    """The sentence for an epoch without a batch that could be counted."""
    if counters.overwritten:
        return InputError(
            "features and logits that have not changed since the forward pass",
            f"{counters.overwritten_batches} overwritten in place, and no other",
            "call monitor.update(labels) right after the forward pass, or write logits = logits * 2 instead of mul_(2)",
        )
    return NothingSeen(
        "labelled forward passes since the last epoch",
        "none",
        "give loss= or labels=, or call monitor.update(labels) after each forward pass",
    )
