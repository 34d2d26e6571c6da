"""A trial within a time limit: all arms once, then more and more repeats for those that may still be best.

After each round the chance of every arm to be best is computed (`checkup.decision`); arms below `OUT` are dropped, so
the time goes to those that can still win. Rounds double, so that few are needed. The race ends when the time is up,
when more repeats would decide nothing, or after `MOST` repeats.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from lopsided.checkup.decision.recommendation import PLAIN, Recommendation
from lopsided.core.errors import InputError

OUT = 0.01  # a chance of being best below which an arm is dropped
MOST = 50  # repeats
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@dataclass
class Race:
    """`work` trains the arms `live` (None: all) in a range of repeats, `judge` weighs what is there."""

    work: Callable[[range, set[str] | None], None]
    judge: Callable[[], Recommendation]

    def run(self, seconds: float, most: int = MOST) -> dict[str, int]:
        """The repeats after which each dropped arm was dropped, by name."""
        began, done, step, live = time.perf_counter(), 0, 1, None
        dropped: dict[str, int] = {}
        while done < most:
            start = time.perf_counter()
            self.work(range(done, done + step), live)
            done += step
            advice = self.judge()
            before = len(advice.chances) if live is None else len(live) + 1
            # A single repeat is too lucky or unlucky to drop an arm by.
            out = OUT if done > 1 else 0.0
            live = {name for name, chance in advice.chances.items() if chance >= out and name not in dropped}
            dropped |= {name: done for name in advice.chances if name not in live and name not in dropped}
            dropped.pop(PLAIN, None)
            live -= {PLAIN}  # it is trained in every round, because all are compared with it
            if not live or (done > 1 and advice.more_repeats is None):
                break
            now = time.perf_counter()
            one = (now - start) / step * (len(live) + 1) / before  # what a repeat of those left will take
            left = seconds - (now - began)
            step = min(done, most - done, math.floor(left / one) if one > 0 else done)
            if step < 1:
                break
        return dropped


def seconds_of(budget: float | str) -> float:
    """A time limit in seconds from a number or words such as 60s, 2m, 1.5h."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(budget).lower())
    try:
        seconds = float(found[1]) * _UNITS[found[2]] if found else float(budget)
    except (ValueError, TypeError, KeyError):
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError("a time limit such as 60, 60s, 2m or 1h", repr(budget))
    return seconds
