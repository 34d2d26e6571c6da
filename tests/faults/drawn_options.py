"""Options, flags and places to write to, drawn for a command line."""

from collections.abc import Callable
from random import Random

Case = tuple[str, list[str]]  # what it is, and the arguments


def some_options(random: Random, options: dict[str, Callable[[], str]], most: int = 3) -> list[str]:
    """A few of the options, each with a value."""
    if random.random() < 0.4:
        return []
    chosen = random.sample(list(options), min(len(options), random.randrange(most + 1)))
    return [word for name in chosen for word in (name, options[name]())]


def some_flags(random: Random, *names: str) -> list[str]:
    """Each of them in three cases of ten."""
    return [name for name in names if random.random() < 0.3]


def place_for(random: Random, ending: str) -> str:
    """Mostly a good place; else none, a folder, another ending, or the way through a file."""
    usual = f"out/result{ending}"
    return random.choice(
        (usual, usual, usual, usual, f"nowhere/r{ending}", "out", "out/r.xyz", "", f"/dev/null/r{ending}")
    )
