"""Docstrings as they are written here: plain sentences, formulas in ASCII, indented blocks, `names` in backticks.

reStructuredText would read |Z|_* or 2 * x as markup. Everything is therefore escaped except indented blocks, which
become literal, and backticks, which become code. The sections of numpydoc (Parameters, Returns, Examples) become
fields, to which autodoc adds the types of parameters that have none.
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
        elif paragraph[0].startswith(">>>"):
            yield from paragraph
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


def sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(title, lines) of the part before all sections, whose title is empty, and of each section of numpydoc."""
    starts = [at for at in range(len(lines) - 1) if lines[at].strip() and re.fullmatch(r"-{3,}\s*", lines[at + 1])]
    yield "", lines[: starts[0]] if starts else lines
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield lines[start].strip(), lines[start + 2 : end]


def fields(title: str, lines: list[str]) -> Iterator[str]:
    """The entries of a section as fields: a line at the margin opens one, indented lines tell about it."""
    entries: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, lines):
        if line.startswith(" "):
            entries[-1][1].append(line.strip())
        else:
            entries.append((line.strip(), []))
    for head, told in entries:
        words = plain(" ".join(told))
        if title == "Parameters":
            name, _, kind = head.partition(" : ")
            yield from (f":param {name}: {words}", f":type {name}: {plain(kind)}")
        elif title == "Returns":
            yield f":returns: {words or plain(head)}"
        else:
            yield f":raises {head}: {words}"
    yield ""


def document(lines: list[str]) -> Iterator[str]:
    """The whole docstring, its fields last, where autodoc looks for them."""
    parts = list(sections(lines))
    told = ("Parameters", "Returns", "Raises")
    for title, part in parts:
        if title not in told:
            yield from (f"**{title}**", "") if title else ()
            yield from blocks(part)
    for title, part in parts:
        if title in told:
            yield from fields(title, part)


def _process(app: Sphinx, what: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    lines[:] = list(document(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Convert every docstring that autodoc reads."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
