"""What a claim needs and does not find becomes `not run` with a sentence that helps."""

from dataclasses import replace

from lopsided.core.figure import Figure
from lopsided.engine.needs import why_absent
from lopsided.papers.claim import Claim, Outcome, Runs, Source, Verdict
from lopsided.papers.register import Registered
from lopsided.papers.reproduce import _Planned

CLAIM = Claim(
    id="toy-packages",
    statement="s",
    source=Source("k", "p"),
    rule="r",
    quick=Runs([{}]),
    measure=lambda settings, seed: {},
    judge=lambda rows: Verdict(Outcome.HOLDS, "", {}),
    plot=lambda rows: Figure("t"),
    paper_says="",
    packages=("no_such_package",),
)


def planned(claim: Claim) -> _Planned:
    return _Planned.make(Registered(claim.id, None, claim, "home"), "quick", 0, None)


def test_a_missing_package_is_the_reason() -> None:
    plan = planned(CLAIM)
    assert plan.why == str(why_absent((), CLAIM.packages))
    assert "no_such_package" in str(plan.why)
    assert "pip install 'lopsided[no_such_package]'" in str(plan.why)
    assert not plan.broken
    assert planned(replace(CLAIM, packages=("json",))).tasks


def test_data_sets_are_found_by_their_loaders(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    for name in ("adult.data", "adult.test"):
        (tmp_path / "adult" / name).touch()
    (tmp_path / "mnist").mkdir()  # empty: the folder alone is no data set
    assert why_absent(("adult",)) is None
    assert "Needs mnist, cifar-10, not found" in str(why_absent(("adult", "mnist", "cifar-10")))
    monkeypatch.delenv("LOPSIDED_DATA")
    assert "--data-dir" in str(why_absent(("adult",)))
    assert why_absent(()) is None
