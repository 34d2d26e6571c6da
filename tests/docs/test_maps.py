"""The maps of the papers: the code and the claims that they name exist, and every claim of a paper is on its map."""

import runpy
from pathlib import Path
from pkgutil import resolve_name

import pytest

from lopsided.papers.catalogue import PAPERS, catalogue, paper_of
from lopsided.papers.register import register

MAPS = Path(__file__).parents[2] / "docs/extensions/paper_maps.py"
paper_map = runpy.run_path(str(MAPS))["paper_map"]


@pytest.mark.parametrize("paper", list(PAPERS))
def test_the_map_names_what_there_is(paper: str) -> None:
    lines = paper_map()[paper]
    assert len(lines) >= 15
    assert len({line.place for line in lines}) == len(lines)
    for line in lines:
        for name in line.code:
            assert resolve_name(f"lopsided.{name}") is not None
        for claim in line.claims:
            assert paper_of(claim) == paper
            assert register()[claim].claim is not None
        assert line.missing or (line.code and line.claims), f"{line.place}: nothing covers it, and it does not say so"


def test_every_claim_is_on_a_map() -> None:
    on_maps = {claim for lines in paper_map().values() for line in lines for claim in line.claims}
    assert on_maps == set(catalogue())
