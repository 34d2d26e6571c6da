"""Pages made from the code: written into the copy of the sources that Sphinx reads, and only when they changed."""

from collections.abc import Iterable
from pathlib import Path


def write_page(path: Path, text: str) -> None:
    """Write unless the same text stands there, so that Sphinx reads again only what is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def keep_only(folder: Path, names: Iterable[str]) -> None:
    """Delete pages of an earlier build that this one has not written."""
    kept = set(names)
    for path in folder.glob("*.rst"):
        if path.stem not in kept:
            path.unlink()


def heading(words: str, mark: str = "=") -> str:
    """A title with its line below; two letters can be wider than they count."""
    return f"{words}\n{mark * (2 * len(words))}\n"


def indented(text: str, by: int = 3) -> str:
    """Every line moved to the right."""
    return "\n".join(" " * by + line if line else "" for line in text.splitlines())
