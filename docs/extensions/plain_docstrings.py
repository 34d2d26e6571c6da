"""Docstrings as they are written here: plain sentences, formulas in ASCII, indented blocks, `names` in backticks.

reStructuredText would read |Z|_* or 2 * x as markup. Everything is therefore escaped except indented blocks, which
become literal, and backticks, which become code.
"""

import re
from collections.abc import Iterator
from itertools import groupby

from sphinx.application import Sphinx

_CODE = re.compile(r"``?([^`\n]+)``?")
_MARKUP = re.compile(r"([\\*_|`<>:])")


def plain(text: str) -> str:
    """Words that reStructuredText shows as they are; backticks become code."""
    parts, last = [], 0
    for match in _CODE.finditer(text):
        parts += [_escaped(text[last : match.start()]), f" ``{match[1].strip()}``\\ "]
        last = match.end()
    parts.append(_escaped(text[last:]))
    return "".join(parts).replace("\\  ``", "\\ ``").lstrip(" ")


def _escaped(text: str) -> str:
    text = _MARKUP.sub(r"\\\1", text)
    return f"{text}\\" if text and not text[-1].isspace() else text


def blocks(lines: list[str]) -> Iterator[str]:
    """The docstring as reStructuredText lines."""
    paragraphs = [list(group) for blank, group in groupby(lines, lambda line: not line.strip()) if not blank]
    for paragraph in paragraphs:
        if paragraph[0].startswith("    ") or paragraph[0].startswith("  "):
            yield "::"
            yield ""
            indent = min(len(line) - len(line.lstrip()) for line in paragraph)
            yield from (f"    {line[indent:]}" for line in paragraph)
        elif re.match(r"[-*] ", paragraph[0]):
            yield from _bullets(paragraph)
        else:
            yield from _lead(plain(" ".join(line.strip() for line in paragraph)))
        yield ""


def _lead(line: str) -> Iterator[str]:
    """A paragraph that starts like a list, a title or a directive is kept a paragraph."""
    yield f"\\ {line}" if re.match(r"([-+#.=~^\"'(]|\d+\.|\w\.)", line) else line


def _bullets(paragraph: list[str]) -> Iterator[str]:
    text = ""
    for line in paragraph:
        if re.match(r"[-*] ", line):
            if text:
                yield f"- {plain(text)}"
            text = line[2:]
        else:
            text += " " + line.strip()
    yield f"- {plain(text)}"


def _process(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    lines[:] = list(blocks(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Convert every docstring that autodoc reads."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
