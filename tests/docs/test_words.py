"""Phrases that no native speaker would use do not come back (docs/style-of-words.md has the better ones)."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

FORBIDDEN = (
    "so-manieth",
    "none such",
    "as no picture does",
    "refused in a sentence where they are none",
    "squares leave the doubles",
    "half-way to the largest",
    "what mends it",
    "surer than it is right",
    "less sure than it is right",
    "hangs hooks",
    "energy hangs on",
    "single example carries a class",
    "and its sisters",
    "is no penalty in it",
    "is read as overfitting",
    "as far as the intervals can tell",
    "have an equal with another label",
    "not be told apart",
    "fail to tell apart",
    "fails to tell apart",
    "has the same say in",
    "fetch it again",
    "unless said",
    "; mend it",
    "is left aside",
    "tells the label",
    "told from the others",
    "learned by heart",
    "counts alike",
    "what the others found stands",
    "nobody waits for the answer",
    "change its ending",
    "make it first",
    "There is no such thing",
    "best with a chance of",
    "gains by being likelier",
    "the hand rests",
    "linear shadow",
    "oversampling cure",
    "; change it",
    "it numbers the rows",
    "as good as each other",
    "a fault of ours",
    "What is to rise",
    "What holds the network",
    "are classes indeed",
    "No mirror gave",
    "is no regular file",
    "not waited for",
    "closed to us",
    "is told so",
    "is told after",
    "no theory speaks",
    "these very",
    "ules of the house",
    "counting alike",
    "the same say",
    "is no sign of",
    "from 0 on",
    "rightly and surely",
    "surely below",
    "to win by",
    "stays as it is",
    "hold in 0",
    "a bug of ours",
    "sentence that helps",
    "What people call it",
    "proposed unasked",
    "has seen no data",
    "continuations flatter",
    "for the eye",
    "owes us nothing",
    "lends to",
    "Let it rest",
    "and is not said",
)
PAGE = "docs/style-of-words.md"
PLACES = (
    "src/lopsided/**/*.py",
    "src/lopsided/**/*.html",
    "src/lopsided/**/*.js",
    "docs/**/*.md",
    "docs/tutorials/*.py",
    "*.md",
)
FILES = sorted({path for pattern in PLACES for path in ROOT.glob(pattern) if "_cache" not in path.parts})


def found(text: str) -> list[str]:
    """Forbidden phrases, also where a line or a string breaks inside them."""
    plain = re.sub(r"[\s\"'#]+(?:f\")?", " ", text)
    return [phrase for phrase in FORBIDDEN if phrase in plain]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_forbidden_phrase(path: Path) -> None:
    if str(path.relative_to(ROOT)) != PAGE:
        assert found(path.read_text(encoding="utf-8")) == []


def test_the_check_can_fail() -> None:
    assert found('x = (\n    "these will not be "\n    f"told apart"\n)') == ["not be told apart"]
    assert found("a class that will be distinguished") == []
    assert len(found((ROOT / PAGE).read_text(encoding="utf-8"))) >= 10
