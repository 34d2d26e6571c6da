"""What a reader of an epoch's record should know about how it came about, in words."""

from collections.abc import Iterable, Sequence

import numpy as np

import torch
from lopsided.torch.monitor.activation_probe import ActivationProbe
from lopsided.torch.monitor.epoch_counters import EpochCounters
from lopsided.torch.monitor.sums_snapshot import SumsSnapshot


def epoch_notes(
    standing: Sequence[str],
    probe: ActivationProbe | None,
    counters: EpochCounters,
    snapshots: Iterable[SumsSnapshot],
    *,
    classes: int,
    all_reduce: bool,
) -> tuple[str, ...]:
    """The notes of an epoch; `standing` are those that hold for all."""
    sums = list(snapshots)
    notes = list(standing)
    if probe is not None and probe.trouble is not None:
        notes.append(probe.trouble)
    if strays := sum(one.unclassed for one in sums):
        notes.append(f"{strays} labels are not among the head's {classes} classes and were left out")
    if counters.passed_rows:
        notes.append(
            f"{counters.share_observed:.0%} of the training examples were observed; observe_every=1 observes all"
        )
    if any(one.uneven for one in sums):
        notes.append("batches came class by class, so NC1 and NC4 are left out; monitor.measure(loader) gives them")
    if counters.overwritten:
        left = counted_batches(counters.overwritten)
        notes.append(f"left out {left} whose features or logits were overwritten in place")
    if any(not np.isfinite(one.means[one.counts > 0]).all() for one in sums):
        notes.append("some features were NaN or infinite, so class means could not be measured")
    if distributed() and not all_reduce:
        rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        notes.append(f"process {rank} of {size} saw its own shard only; all_reduce=True adds them up")
    return tuple(notes)


def counted_batches(number: int) -> str:
    """1 batch, 2 batches."""
    return f"{number} batch" if number == 1 else f"{number} batches"


def distributed() -> bool:
    """Whether this is one process of several that know of each other."""
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())
