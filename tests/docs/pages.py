"""Code blocks of the Markdown pages, in order."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION = re.compile(r"\A(?::[a-z-]+:[^\n]*\n)*?:caption: (?P<path>[^\n]+)\n(?::[a-z-]+:[^\n]*\n)*\n?")


@dataclass(frozen=True)
class Block:
    """What stands between fences: its language, its text, and the file it is said to be."""

    kind: str
    body: str
    file: str | None


def pages() -> list[Path]:
    """Every hand-written page, and the README."""
    found = sorted(path for path in (ROOT / "docs").rglob("*.md") if "_cache" not in path.parts)
    return [ROOT / "README.md", *found]


def blocks(page: Path) -> list[Block]:
    """The page's blocks; `{code-block} python` counts as python."""
    found = []
    for match in _FENCE.finditer(page.read_text(encoding="utf-8")):
        kind = match["kind"].removeprefix("{code-block}").strip()
        caption = _CAPTION.match(match["body"])
        body = match["body"][caption.end() :] if caption else match["body"]
        found.append(Block(kind, body, caption["path"] if caption else None))
    return found


def command_lines(block: Block) -> list[list[str]]:
    """Arguments of every line that calls lopsided."""
    import shlex

    lines = [shlex.split(line, comments=True) for line in block.body.splitlines()]
    return [words[1:] for words in lines if words and words[0] in ("lopsided", "./lopsided")]
