"""What a monitor keeps between epochs, as plain values and tensors, so that a training can be resumed.

It holds records, steps, past warnings, the weights at the start (as large as the tracked layers) and the examples of
the activation patterns, and what the next epochs need of the latest one: class means, ranks and margins of single
rows. A running epoch is not kept, so save between epochs; loading forgets what the monitor has of one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.core.plain_records import from_plain, to_plain
from lopsided.torch.monitor.epoch_record import EpochRecord

if TYPE_CHECKING:
    from lopsided.torch.monitor.monitor import Monitor

VERSION = 1
# parts of the monitor -> their attributes that last; arrays are kept as tensors
LASTING = {
    "_counters": ("all_batches", "steps", "batch_size"),
    "_cadence": ("full", "waited", "every", "last_spectra", "rows", "rows_at", "means"),
    "_plan": ("epochs_done", "batches_an_epoch"),
    "_run": ("largest_step", "forgetting"),
    "_lost": ("zero", "low", "said_low", "looks", "quiet_until"),
    "_ahead": ("said", "separated", "before", "evaluated", "evaluated_at"),
    "_first": ("rates", "shown", "done"),
    "_targets": ("mixed", "several", "tables"),
    "_phases": ("points",),
    "_shown": ("largest",),
    "_merging": ("class_means",),
    "_warnings": ("pairs", "said_pairs", "short", "said", "diverged"),
    "_layers": ("starts",),
    "_probe": ("started", "inputs", "start_patterns"),
}
ARRAYS = {"separated", "evaluated", "before", "rates", "largest", "class_means"}  # also where a new monitor has none


def state_of(monitor: "Monitor") -> dict[str, Any]:
    """The state of a monitor, for `torch.save`, readable with `weights_only=True`."""
    parts = {
        part: {name: _kept(getattr(getattr(monitor, part), name)) for name in names} for part, names in LASTING.items()
    }
    return {
        "version": VERSION,
        "classes": monitor.head.classes,
        "records": [to_plain(record) for record in monitor.records],
        **parts,
    }


def load_state(monitor: "Monitor", state: Mapping[str, Any]) -> None:
    """Take over the state of another monitor of the same network."""
    if not isinstance(state, Mapping) or state.get("version") != VERSION:
        raise InputError("a state that Monitor.state_dict gave", type(state).__name__, "save and load it unchanged")
    if state["classes"] != monitor.head.classes:
        raise InputError(
            f"the state of a monitor of {monitor.head.classes} classes",
            f"{state['classes']} classes",
            "load it into a monitor of the same network",
        )
    compared = monitor._first.rates
    monitor.records[:] = [from_plain(EpochRecord, plain) for plain in state["records"]]
    for part, names in LASTING.items():
        owner, kept = getattr(monitor, part), state.get(part, {})
        for name in kept.keys() & set(names):  # an older state lacks some
            arrays = name in ARRAYS or isinstance(getattr(owner, name), np.ndarray)
            setattr(owner, name, _arrays(kept[name]) if arrays else _given(kept[name], getattr(owner, name)))
    monitor._phases.start_epoch(monitor._cadence)
    monitor._counters.start_over()
    monitor._unobserved.take(monitor.head.device)
    monitor._watch.start_over()
    monitor._first.restored(compared)


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, dict):
        return {name: _kept(entry) for name, entry in value.items()}
    if isinstance(value, set):
        return sorted([*entry] for entry in value)
    return value


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _arrays(entry) for name, entry in value.items()}
    return None if value is None else value.numpy().copy()


def _given(value: Any, like: Any) -> Any:
    if isinstance(like, set):
        return {tuple(entry) for entry in value}
    return value
