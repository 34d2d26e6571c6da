"""Classes and their numbers in the words of a warning."""

from collections.abc import Sequence

from lopsided.core.validation import FloatArray

MOST_NAMED = 12


def class_list(names: Sequence[str], members: Sequence[int]) -> str:
    """class a; classes a, b and c; of many, the first ten."""
    chosen = [names[int(k)] for k in members]
    if len(chosen) == 1:
        return f"class {chosen[0]}"
    if len(chosen) > MOST_NAMED:
        chosen = [*chosen[:10], f"{len(chosen) - 10} more"]
    return f"classes {joined(chosen)}"


def numbers(values: FloatArray) -> str:
    """3, 4 and 5; of many, the range."""
    if len(values) > 4:
        low, high = (f"{value:g}" for value in (values.min(), values.max()))
        return low if low == high else f"{low} to {high}"
    return joined([f"{value:g}" for value in values])


def joined(words: Sequence[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
