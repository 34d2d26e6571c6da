"""Estimate the cost of a plan on this machine before it runs, from a few timed steps of each kind of network.

Steps of one network, picture size and batch are timed once on blank pictures, on one thread or the GPU as the tasks
run, and multiplied by the steps of every task. Tasks without a network, and the other work of a task, are not
estimated.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any

from lopsided.engine.device import chosen_device
from lopsided.engine.task import Settings
from lopsided.papers.shared.network_settings import class_sizes, training_recipe

QUICK_BUDGET = 3600  # seconds of one core for every claim at quick scale: half an hour of two
SHAPES = {"mnist": (1, 28, 28), "fashion-mnist": (1, 28, 28), "cifar-10": (3, 32, 32), "digits": (1, 8, 8)}
_TIMED = 3  # steps after a first one that warms up


@dataclass(frozen=True)
class RunCost:
    """Seconds of one core, or of the GPU, for the tasks that could be estimated, and how many could not."""

    seconds: float
    estimated: int
    others: int
    device: str = field(default_factory=chosen_device)

    @property
    def words(self) -> str:
        """A sentence, where there is something to say."""
        rest = f"; the other {self.others} tasks are not estimated" if self.others else ""
        unit = "core" if self.device == "cpu" else "GPU"
        return f"Estimated time: {_spoken(self.seconds)} of one {unit} for {self.estimated} networks{rest}."


def estimate(settings: Iterable[Settings]) -> RunCost:
    """The cost of tasks with these settings; one entry for each task."""
    known = [_seconds(one) for one in settings]
    found = [seconds for seconds in known if seconds is not None]
    return RunCost(sum(found), len(found), len(known) - len(found))


def _seconds(settings: Settings) -> float | None:
    """The time of one task; None if it trains no network, or if the settings do not give its steps or pictures."""
    shape = SHAPES.get(str(settings.get("images")))
    if shape is None or "network" not in settings:
        return None
    steps = settings.get("steps")
    if steps is None and "majority_size" in settings and "epochs" in settings:
        steps = training_recipe(settings).total_steps(int(class_sizes(settings).sum()))
    if steps is None:
        return None
    side = int(settings.get("shrink", 1))
    smaller = (shape[0], shape[1] // side, shape[2] // side)
    options = tuple(
        (name, tuple(value) if isinstance(value, list) else value)
        for name, value in settings.items()
        if name in ("width", "widths")
    )
    return float(steps) * _step_seconds(
        str(settings["network"]), smaller, int(settings["batch"]), options, chosen_device()
    )


@cache
def _step_seconds(
    network: str, shape: tuple[int, ...], batch: int, options: tuple[tuple[str, Any], ...], device: str
) -> float:
    """The median time of a few steps of SGD on blank pictures."""
    import torch
    from lopsided.learners.deep.networks import build

    # One core's own time, however busy the machine is; a GPU has no such clock, and is waited for.
    clock, finish = (time.process_time, int) if device == "cpu" else (time.perf_counter, torch.cuda.synchronize)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        made = build(network, shape, 10, **dict(options)).train().to(device)
        optimiser = torch.optim.SGD(made.parameters(), lr=0.0)
        pictures, labels = torch.zeros(batch, *shape, device=device), torch.arange(batch, device=device) % 10
        spent = []
        for _ in range(1 + _TIMED):
            begin = clock()
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(made(pictures), labels).backward()
            optimiser.step()
            finish()
            spent.append(clock() - begin)
    finally:
        torch.set_num_threads(threads)
    return median(spent[1:])


def _spoken(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"about {seconds / size:.3g} {unit}"
    return f"about {seconds:.0f} seconds"
