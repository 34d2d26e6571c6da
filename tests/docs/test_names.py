"""Modules, functions and files that the pages and docstrings name are there: a page cannot outlive a rename."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages

SOURCE = ROOT / "src/lopsided"
ROOMS = sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())
ENDINGS = ("csv", "npz", "npy", "parquet", "html", "json", "toml", "png", "txt", "tsv")
_CODE = re.compile(r"(?<![`}])`([^`\n]+)`(?!`)")  # not {doc}`...`, which Sphinx checks
_DOTTED = re.compile(r"(?:lopsided|" + "|".join(ROOMS) + r")(?:\.\w+)+")
_PATH = re.compile(r"(?:(?:src|tests|docs|bench|papers|requirements)|" + "|".join(ROOMS) + r")(?:/[\w.-]+)+/?")
# files that a page tells how to make, and names that are not modules
NOT_HERE = ("papers/lp/lp_root.py", "lopsided.remedy_forms")
PAGES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


def resolves(dotted: str) -> bool:
    """`lopsided.a.b.c` or `a.b.c` of a room: a module, or a name in one, or an attribute of that."""
    parts = dotted.split(".") if dotted.startswith("lopsided.") else ["lopsided", *dotted.split(".")]
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("lopsided"):
                raise
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return name in getattr(found, "__dataclass_fields__", {})
            found = getattr(found, name)
        return True
    return False


def exists(path: str) -> bool:
    return (ROOT / path).exists() or (SOURCE / path).exists()


def named(text: str) -> Iterator[str]:
    """What stands in backticks and claims to be ours."""
    for code in _CODE.findall(text):
        token = re.split(r"[\s(\[=,:]", code)[0]
        if _PATH.fullmatch(token) or (
            _DOTTED.fullmatch(token)
            and token.rpartition(".")[2] not in ENDINGS
            and not token.startswith("torch.")  # PyTorch's own
        ):
            yield token


def missing(text: str) -> list[str]:
    known = (token for token in named(text) if token not in NOT_HERE)
    return [token for token in known if not (exists(token) if "/" in token else resolves(token))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("room", ROOMS)
def test_what_comments_and_docstrings_name_is_there(room: str) -> None:
    files = sorted((SOURCE / room).rglob("*.py"))
    found = {str(path.relative_to(SOURCE)): missing(path.read_text(encoding="utf-8")) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_check_can_fail() -> None:
    for text in ("`lopsided.experiments.task`", "`measure.nothing`", "`core.errors.Nothing`", "`checkup/nothing.py`"):
        assert missing(text), text
    for text in (
        "`lopsided.collapse(counts)`",
        "`core.errors.InputError`",
        "`data.csv`",
        "`theory/collapse.py`",
        "`torch.compile`",
    ):
        assert missing(text) == [], text
