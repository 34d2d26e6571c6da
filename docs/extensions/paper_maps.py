"""A map of each paper: every definition, algorithm, theorem, lemma, figure and table, the code that holds it, the
claims that test it, and what of it is not covered. The table is `maps.csv`."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lopsided.papers.catalogue import PAPERS


@dataclass(frozen=True)
class MapLine:
    """One numbered statement of a paper; `code` are names inside lopsided, `missing` says what is not covered."""

    place: str
    says: str
    code: tuple[str, ...]
    claims: tuple[str, ...]
    missing: str


@cache
def paper_map() -> dict[str, tuple[MapLine, ...]]:
    """The lines of each paper, in the paper's order."""
    text = Path(__file__).with_name("maps.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    return {
        paper: tuple(
            MapLine(line["place"], line["says"], _list(line["code"]), _list(line["claims"]), line["missing"])
            for line in lines
            if line["paper"] == paper
        )
        for paper in PAPERS
    }


def _list(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(";") if name)
