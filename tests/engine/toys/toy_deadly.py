"""A claim whose second task kills its own process, as the system does when memory runs out."""

import os
import signal
from dataclasses import replace

from lopsided.engine.task import Numbers, Settings
from lopsided.papers.claim import Runs
from lopsided.papers.register import load_claim


def measure(settings: Settings, seed: int) -> Numbers:
    if settings["x"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": settings["x"] + seed}


_SUM = load_claim(__file__.replace("toy_deadly", "toy_sum"))
CLAIM = replace(_SUM, id="toy-deadly", measure=measure, quick=Runs([{"x": x} for x in range(4)]))
