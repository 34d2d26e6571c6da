"""How cost grows: processor seconds over rows, columns, classes, groups and distinct sizes, with the fitted exponent.

One thing doubles, the rest stays; the exponent is the slope of log seconds over the last two doublings, where set-up no
longer counts. Processor time of one thread, so that a busy machine does not bend the curve.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lopsided import audit, collapse, plan, score
from lopsided.core.seeds import generator


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """One row a command and a thing that grows."""
    steps = 3 if quick else 5
    with threadpool_limits(1):
        _audit(*_table(500, 5, 3))  # load and compile once
        yield _growth("audit", "rows", _audited, "rows", 2000, steps, rows=2000, columns=20, classes=5)
        yield _growth("audit", "columns", _audited, "columns", 16, steps, rows=2000, columns=16, classes=5)
        yield _growth("audit", "classes", _audited, "classes", 10, steps, rows=4000, columns=10, classes=10)
        yield _growth("audit", "groups", _audited, "groups", 4, steps, rows=4000, columns=10, classes=5, groups=4)
        yield _growth("score", "rows", _scored, "rows", 20_000, steps, rows=20_000, columns=50, classes=10)
        yield _growth("score", "columns", _scored, "columns", 32, steps, rows=10_000, columns=32, classes=10)
        yield _growth("score", "classes", _scored, "classes", 1000, steps, rows=50_000, columns=10, classes=1000)
        yield _growth("plan", "rows", _planned, "rows", 1000, steps, rows=1000, columns=10, classes=5)
        yield _growth("plan", "classes", _planned, "classes", 25, steps, rows=4000, columns=10, classes=25)
        yield _sizes("collapse to a gap of 1e-10", 50, steps, 1e-10)
        yield _sizes("collapse to a gap of 1e-6", 100, steps + 1, 1e-6)


def _table(rows: int, columns: int, classes: int, groups: int = 0) -> tuple[Any, Any, Any]:
    """Gaussian classes with a long tail of sizes (20 to 1), and groups at random where there are some."""
    random = generator(0, "growth", rows, columns, classes, groups)
    shares = np.geomspace(20, 1, classes)
    labels = np.sort(random.choice(classes, rows, p=shares / shares.sum()))
    labels[: 2 * classes] = np.repeat(np.arange(classes), 2)  # no class is empty
    features = random.normal(size=(rows, columns)) + random.normal(size=(classes, columns))[labels]
    return features, labels, random.integers(groups, size=rows) if groups else None


def _audit(features: Any, labels: Any, groups: Any) -> None:
    audit(features, labels=labels, groups=groups, many_classes=True)


def _audited(**sizes: int) -> None:
    _audit(*_table(**sizes))


def _scored(**sizes: int) -> None:
    features, labels, _ = _table(**sizes)
    score(features, labels, many_classes=True)


def _planned(**sizes: int) -> None:
    features, labels, _ = _table(**sizes)
    plan(features, labels=labels, many_classes=True)


def _growth(
    command: str, what: str, work: Callable[..., None], grows: str, first: int, steps: int, **sizes: int
) -> dict[str, Any]:
    values = [first * 2**step for step in range(steps)]
    return _row(f"{command} over {what}", values, [_seconds(lambda v=v: work(**sizes | {grows: v})) for v in values])


def _sizes(what: str, first: int, steps: int, tolerance: float) -> dict[str, Any]:
    """Whole class sizes of a lognormal law, as many classes as give about so many distinct ones."""
    values, seconds = [], []
    for step in range(steps):
        classes = 6 * first * 2**step
        counts = np.maximum(np.round(np.exp(generator(0, "sizes", classes).normal(5.3, 1.15, classes))), 1.0)
        values.append(int(np.unique(counts).size))
        seconds.append(_seconds(partial(collapse, counts, feature_energy=5, weight_energy=1, tolerance=tolerance)))
    return _row(f"{what} over distinct sizes", values, seconds)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _row(what: str, values: Sequence[int], seconds: Sequence[float]) -> dict[str, Any]:
    exponent = float(np.polyfit(np.log(values[-3:]), np.log(seconds[-3:]), 1)[0])
    steps = ", ".join(f"{value:,}: {spent:.3g} s" for value, spent in zip(values, seconds, strict=True))
    return {
        "what": what,
        "seconds": seconds[-1],
        "exponent": exponent,
        "note": f"processor time; {steps}; exponent {exponent:.2f}",
    }
