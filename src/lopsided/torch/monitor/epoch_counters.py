"""How much of an epoch went by: examples observed and passed over, batches, optimizer steps, examples per step."""

from dataclasses import dataclass

FULLY_OBSERVED = 8192  # examples at the start of an epoch that are all observed
OBSERVE_EVERY = 8
MANY_CLASSES = 256  # beyond, a row of logits takes so long to read that fewer are observed:
FULLY_OBSERVED_OF_MANY, OBSERVE_EVERY_OF_MANY = 2048, 16


def sparse_observation(classes: int, told: int | None) -> tuple[int, int]:
    """How many examples at the start of an epoch are observed, and every so-manieth batch after them."""
    if classes <= MANY_CLASSES:
        return FULLY_OBSERVED, OBSERVE_EVERY if told is None else told
    return FULLY_OBSERVED_OF_MANY, OBSERVE_EVERY_OF_MANY if told is None else told


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

    def passes_over(self) -> bool:
        """Whether the next training batch is one that is not observed."""
        return self.observed_rows >= self.fully_observed and bool(self.batches % self.observe_every)

    def training_forward(self, rows: int) -> None:
        """A forward whose gradient will be part of the next step."""
        self._rows_since_step += rows

    def training_batch(self, rows: int = 0, *, is_step: bool = False) -> None:
        """A labelled training batch, `rows` of it observed; `is_step` where no optimizer is there to count steps."""
        self.batches += 1
        self.all_batches += 1
        self.observed_rows += rows
        if is_step:
            self.batch_size = max(self.batch_size, rows)

    def stepped(self, *_: object) -> None:
        """The optimizer took a step."""
        self.steps += 1
        self.batch_size = max(self.batch_size, self._rows_since_step)
        self._rows_since_step = 0

    def start_epoch(self) -> None:
        """Forget the epoch; the run goes on."""
        self.observed_rows = self.passed_rows = self.batches = self.overwritten = 0
