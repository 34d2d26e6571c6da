"""Numbers as people read them."""


def short(value: float | None, digits: int = 4) -> str:
    """Significant digits, thousands separated, a dash where the number is undefined."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e15 else f"{value:.{digits}g}"
