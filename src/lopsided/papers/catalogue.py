"""Every claim to be tested, whether or not its experiment exists: the claim, its source (a key of papers/refs.bib and
the place), and what the paper says in its own words.

The table is `register.csv`, one line per claim. The letters before the first dash of an id name its paper.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Paper:
    """One line of work; `keys` are its entries in papers/refs.bib, the main one first."""

    id: str
    title: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """The source of a claim: a key of papers/refs.bib and the place in that paper."""

    key: str
    place: str


@dataclass(frozen=True)
class CatalogueEntry:
    """One claim as the register words it, where the paper makes it, and what it says there."""

    id: str
    statement: str
    source: Source
    paper_says: str

    @property
    def paper(self) -> str:
        """The letters before the first dash."""
        return paper_of(self.id)


PAPERS = {
    paper.id: paper
    for paper in (
        Paper(
            "lp",
            "Exploring Deep Neural Networks via Layer-Peeled Model: Minority Collapse in Imbalanced Training",
            ("fang2021layerpeeled",),
        ),
        Paper(
            "gi",
            "How Does Promoting the Minority Fraction Affect Generalization?",
            ("li2024groupimbalance", "li2022groupimbalance"),
        ),
        Paper("bo", "Rethinking Benign Overfitting in Two-Layer Neural Networks", ("xu2025benign",)),
        Paper(
            "sd",
            "Learning Overparameterized Neural Networks via Stochastic Gradient Descent on Structured Data",
            ("li2018structured",),
        ),
    )
}


def paper_of(claim_id: str) -> str:
    """`lp` for `lp-etf`."""
    return claim_id.partition("-")[0]


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """All entries of the register by id, in its order."""
    text = files("lopsided.papers").joinpath("register.csv").read_text(encoding="utf-8")
    lines = csv.DictReader(text.splitlines())
    return {
        line["id"]: CatalogueEntry(
            line["id"], line["statement"], Source(line["key"], line["place"]), line["paper_says"]
        )
        for line in lines
    }
