"""How often the demo's recommendation gains on held-out digits: ten draws of its data, networks and folds.

One run says little: the rarest class has five examples. The default seed of `lopsided demo` is the one whose held-out
gain is the median of these ten (the lower one of the middle two), so the picture of the README is neither lucky nor
unlucky.
"""

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from lopsided.checkup.digits_demo import PLAIN, digits_demo
from lopsided.engine.threads import one_thread

SEEDS = range(10)


def run(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows for `lopsided bench`: each seed, then all of them."""
    gains = {}
    for seed in list(SEEDS)[: 2 if quick else None]:
        began = time.process_time()
        with one_thread(), tempfile.TemporaryDirectory() as store:
            demo = digits_demo(store, seed)
        chosen = demo.trial.recommended.name
        means = {name: float(recall.mean()) for name, recall in demo.held_out_recall.items()}
        gains[seed] = means[chosen] - means[PLAIN]
        best = max(means.values()) - means[PLAIN]
        note = f"{chosen}: held-out gain {gains[seed]:+.3f}, the best remedy's {best:+.3f}"
        yield {"what": f"demo, seed {seed}", "seconds": time.process_time() - began, "note": note}
    values = list(gains.values())
    middle = sorted(gains, key=lambda seed: (gains[seed], seed))[(len(gains) - 1) // 2]
    note = f"mean held-out gain {np.mean(values):+.3f}, above 0 in {sum(value > 0 for value in values)}"
    yield {"what": f"demo, {len(gains)} seeds", "note": f"{note}; the median is seed {middle}"}
