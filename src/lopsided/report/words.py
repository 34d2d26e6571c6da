"""Numbers and sentences as people read them."""


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
