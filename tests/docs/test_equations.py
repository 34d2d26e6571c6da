"""README -> equation -> test in three clicks: under every displayed equation of docs/theory stands a line with links to
its code, its test and its claim, and all of them lead somewhere."""

import ast
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from lopsided.papers.register import register
from tests.docs.pages import ROOT

THEORY = ROOT / "docs/theory"
# Equations one below the other share the line behind the last.
_STACK = re.compile(r"(?:^(?:\$\$\n.*?^\$\$|```\{math\}\n.*?^```)\n\s*)+(?P<line>[^\n]*)", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"\*Code:\* (?P<code>.+) · \*Test:\* (?P<test>.+) · \*Claim:\* (?P<claim>.+)")
_LINK = re.compile(r"\[`(?P<name>[\w.]+)`\]\((?P<path>[^)]+)\)")
_CLAIM = re.compile(r"\{ref\}`(?P<id>[\w-]+) <claim-(?P<target>[\w-]+)>`")
_WITHOUT = re.compile(r"\*No code: .+\.\*")
# Equations that state something which nothing computes; each says so on its page.
WITHOUT_CODE: dict[str, int] = {}


@dataclass(frozen=True)
class Equation:
    page: Path
    formula: str
    line: str

    def __str__(self) -> str:
        return f"{self.page.stem}: {' '.join(self.formula.split())[:60]}"


@cache
def equations() -> tuple[Equation, ...]:
    return tuple(
        Equation(page, match[0], match["line"])
        for page in sorted(THEORY.glob("*.md"))
        for match in _STACK.finditer(page.read_text(encoding="utf-8"))
    )


def faults(equation: Equation) -> list[str]:
    """What is wrong with the line under an equation."""
    if _WITHOUT.fullmatch(equation.line):
        return []
    line = _LINE.fullmatch(equation.line)
    if line is None:
        return ["no line *Code: · Test: · Claim:*"]
    found = [f"code {name}: {why}" for name, path in links(line["code"]) if (why := code_fault(equation, name, path))]
    found += [f"test {name}: {why}" for name, path in links(line["test"]) if (why := test_fault(equation, name, path))]
    if not links(line["code"]) or not links(line["test"]):
        found.append("no link to code or to a test")
    claims = _CLAIM.findall(line["claim"])
    if not claims and line["claim"] != "–":
        found.append(f"claims {line['claim']!r}")
    return found + [f"claim {name}" for name, target in claims if name != target or name not in register()]


def links(text: str) -> list[tuple[str, str]]:
    return [(match["name"], match["path"]) for match in _LINK.finditer(text)]


def code_fault(equation: Equation, name: str, path: str) -> str | None:
    target = (equation.page.parent / path).resolve()
    if not target.is_file():
        return f"{path} is not there"
    module = ".".join(target.relative_to(ROOT / "src").with_suffix("").parts)
    if not f"lopsided.{name}".startswith(f"{module}."):
        return f"not in {module}"
    found: object = importlib.import_module(module)
    for part in f"lopsided.{name}".removeprefix(f"{module}.").split("."):
        if not hasattr(found, part):
            return f"{module} has no {part}"
        found = getattr(found, part)
    return None


def test_fault(equation: Equation, name: str, path: str) -> str | None:
    target = (equation.page.parent / path).resolve()
    if not target.is_file() or not target.is_relative_to(ROOT / "tests"):
        return f"{path} is not there"
    tree = ast.parse(target.read_text(encoding="utf-8"))
    known = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return None if name in known else f"{path} has no such test"


test_fault.__test__ = False  # type: ignore[attr-defined]  # a helper


@pytest.mark.parametrize("equation", equations(), ids=str)
def test_an_equation_leads_to_its_code_its_test_and_its_claim(equation: Equation) -> None:
    assert faults(equation) == []


def test_every_equation_was_seen_and_those_without_code_are_known() -> None:
    shown = sum(len(re.findall(r"^\$\$$|^```\{math\}", page.read_text(), re.MULTILINE)) for page in THEORY.glob("*.md"))
    seen = sum(len(re.findall(r"^\$\$$|^```\{math\}", equation.formula, re.MULTILINE)) for equation in equations())
    assert shown == seen > 60  # two marks each
    without: dict[str, int] = {}
    for equation in equations():
        if _WITHOUT.fullmatch(equation.line):
            without[equation.page.stem] = without.get(equation.page.stem, 0) + 1
    assert without == WITHOUT_CODE


def test_three_clicks() -> None:
    """README -> docs/theory/index.md -> the page with the equation -> the test."""
    assert "](docs/theory/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = (THEORY / "index.md").read_text(encoding="utf-8")
    assert {page.name for page in THEORY.glob("*.md")} - {"index.md"} == set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_the_check_can_fail() -> None:
    whole = equations()[0]

    def wrong(before: str, after: str) -> list[str]:
        assert before in whole.line
        return faults(Equation(whole.page, whole.formula, whole.line.replace(before, after)))

    assert faults(whole) == []
    assert wrong(".py)", "_gone.py)")
    assert wrong("outputs`", "no_such_function`")
    assert wrong("test_gradient_is_autograds", "test_nothing")
    assert wrong("bo-train-loss", "bo-gone")
    assert faults(Equation(whole.page, whole.formula, "and so on")) == ["no line *Code: · Test: · Claim:*"]
