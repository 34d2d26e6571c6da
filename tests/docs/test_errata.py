"""docs/theory/errata.md has no line without a running check: a claim or a snippet of the page, and a test that
derives or simulates the same a second time with no code of lopsided."""

import ast
import re

import pytest

from lopsided.papers.register import register
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/theory/errata.md"
SECOND = ROOT / "tests/papers/errata"
_CLAIM = re.compile(r"\{ref\}`(?P<id>[\w-]+) <claim-(?P=id)>`")
_LINK = re.compile(r"\[`(?P<name>\w+)`\]\((?P<path>[^)]+)\)")


def lines() -> list[tuple[str, list[str]]]:
    """Every line of the tables with its section."""
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        section = line if line.startswith("## ") else section
        if line.startswith("| ") and not line.startswith(("| printed", "| said")):
            found.append((section, [cell.strip() for cell in line.strip("|").split(" | ")]))
    return found


def second_tests() -> dict[str, set[str]]:
    return {
        path.name: {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
        for path in SECOND.glob("test_*.py")
    }


def faults(section: str, cells: list[str]) -> list[str]:
    """What is wrong with a line."""
    if len(cells) != 4:
        return [f"{len(cells)} cells"]
    _, _, check, second = cells
    claims, known = _CLAIM.findall(check), second_tests()
    found = [f"no claim {name}" for name in claims if name not in register()]
    snippet = section + "\n" in PAGE.read_text() and "```python" in _part(section)
    if not claims and not (check == "below" and snippet):
        found.append("neither a claim nor a snippet")
    links = _LINK.findall(second)
    found += [f"no test {name}" for name, path in links if name not in known.get(path.rsplit("/", 1)[-1], set())]
    return found if links else [*found, "no second derivation"]


def _part(section: str) -> str:
    return PAGE.read_text(encoding="utf-8").split(section + "\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize(("section", "cells"), lines(), ids=lambda value: str(value)[:50])
def test_a_line_has_a_running_check_and_a_second_derivation(section: str, cells: list[str]) -> None:
    assert faults(section, cells) == []


def test_the_second_derivations_share_no_code_and_none_is_forgotten() -> None:
    linked = {name for _, cells in lines() for name, _ in _LINK.findall(cells[-1])}
    written = {name for names in second_tests().values() for name in names if name.startswith("test_")}
    assert linked == written
    for path in SECOND.glob("test_*.py"):
        assert not re.search(r"^\s*(?:from|import) (?:lopsided|tests)", path.read_text(), re.MULTILINE), path.name


def test_the_check_can_fail() -> None:
    section, whole = lines()[0]
    assert faults(section, whole) == []
    assert faults(section, [*whole[:2], "below", whole[3]])  # no snippet in that part
    assert faults(section, [*whole[:3], "by hand"])
    assert faults(section, [*whole[:2], whole[2].replace("lp-", "xx-"), whole[3]])
    assert faults(section, [*whole[:3], whole[3].replace("`test_", "`test_no_")])
