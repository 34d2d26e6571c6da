"""The common style of everything that is shown: colours, sizes, ticks, numbers and sentences.

Colour-blind readers can distinguish the colours (Okabe and Ito). Logarithmic axes have readable ticks: 1-2-5 within a
few decades, powers of ten over many.
"""

import math
import sys

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
EMPHASIS = "#d62728"
MARK = "#777777"
HEAT = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")  # viridis
FONT_SIZE = 10.5
PANEL_WIDTH, PANEL_HEIGHT = 5.6, 3.9  # inches
DOTS_PER_INCH = 150
_MOST = 6  # ticks of a logarithmic axis
_DIGITS = ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
_ROUNDING = 1e-9  # a limit that is itself a tick may lie past it by this share


def colour(index: int) -> str:
    """The colour of the series at this position."""
    return COLOURS[index % len(COLOURS)]


def log_ticks(low: float, high: float) -> list[float]:
    """The densest of the usual patterns with at most six ticks between two positive limits.

    >>> log_ticks(1800, 21000)
    [2000.0, 3000.0, 5000.0, 10000.0, 20000.0]
    >>> log_ticks(1e-9, 1e3)
    [1e-09, 1e-06, 0.001, 1.0, 1000.0]
    """
    low = max(low * (1 - _ROUNDING), sys.float_info.min)
    high = min(high * (1 + _ROUNDING), sys.float_info.max)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in _DIGITS:
        # spelled as text, because 3 * 10**-4 is 0.00030000000000000003
        ticks = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) <= _MOST:
            return ticks
    step = math.ceil((last - first) / _MOST)
    tens = [float(f"1e{power}") for power in range(first, last + 1) if power % step == 0]
    return [tick for tick in tens if low <= tick <= high]


def tick_words(value: float) -> str:
    """`0.002`, `5,000`, and powers of ten (Matplotlib's mathematics) beyond what is read at a glance."""
    if 1e-4 < value < 1e6:
        return f"{value:,.10g}"
    mantissa, power = f"{value:.1e}".split("e")
    digits = "" if mantissa == "1.0" else f"{float(mantissa):g}\\times"
    return f"${digits}10^{{{int(power)}}}$"


def short(value: float | None, digits: int = 4) -> str:
    """Significant digits, thousands separated, a dash where the number is undefined."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"


def sentence(words: str) -> str:
    """A capital at the start and a full stop at the end, where they are missing; identifiers (m = 3, gi-rho) stay."""
    words = words.strip()
    if not words:
        return words
    if len(words) > 1 and words[0].islower() and words[1].isalpha():
        words = words[0].upper() + words[1:]
    return words if words[-1] in ".!?)" else words + "."
