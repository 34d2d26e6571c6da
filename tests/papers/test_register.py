"""The register knows every claim, written or not, and a file that cannot be loaded spoils only itself."""

from pathlib import Path

import pytest

from lopsided.core.errors import InputError
from lopsided.papers.catalogue import PAPERS, catalogue
from lopsided.papers.register import register, select
from tests.engine.conftest import TOYS


def test_the_catalogue_is_whole() -> None:
    entries = catalogue()
    counts = {paper: sum(entry.paper == paper for entry in entries.values()) for paper in PAPERS}
    assert counts == {"lp": 20, "gi": 29, "bo": 14, "sd": 12}
    assert all(entry.statement and entry.source.place for entry in entries.values())


def test_every_entry_is_shown_and_own_claims_come_last() -> None:
    known = register(TOYS)
    assert list(known)[:75] == list(catalogue())
    assert list(known)[75:] == ["toy-broken", "toy-deadly", "toy-needy", "toy-sum", "toy-syntax"]
    assert known["toy-sum"].claim is not None
    assert known["toy-syntax"].broken
    for entry in known.values():
        assert entry.statement or entry.id == "toy-syntax"
        assert (entry.claim is None) == bool(entry.problem)


def test_a_file_whose_id_is_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "toy_other.py").write_text((TOYS / "toy_sum.py").read_text())
    (tmp_path / "toy_empty.py").write_text("")
    known = register(tmp_path)
    assert "it says toy-sum" in (known["toy-other"].problem or "")
    assert "define CLAIM" in (known["toy-empty"].problem or "")


def test_selection() -> None:
    known = register(TOYS)
    assert select(known, ["toy-sum", "lp-etf", "toy-sum"], [], False) == ["lp-etf", "toy-sum"]
    assert len(select(known, [], ["sd"], False)) == 12
    assert len(select(known, [], [], True)) == 80
    with pytest.raises(InputError, match="perhaps lp-etf"):
        select(known, ["lp-etff"], [], False)
    with pytest.raises(InputError, match="folder of claim files"):
        register(TOYS / "nowhere")
