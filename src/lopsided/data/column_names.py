"""Columns are found by name, so that no two may have the same."""

from collections import Counter
from collections.abc import Iterable

from lopsided.core.errors import InputError


def check_distinct(names: Iterable[str], where: str) -> None:
    """Refuse a table in which a name occurs more than once."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InputError(f"columns of different names in {where}", f"{twice[0]!r} more than once", "rename one")
