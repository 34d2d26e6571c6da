"""Every result of a public function shows itself in a notebook, escaped."""

import inspect

import numpy as np
import pytest

import lopsided
from lopsided.core.notebook import MOST_ROWS, notebook_view

EVIL = "<script>alert(1)</script>"
LABELS = np.array(["a", EVIL] * 15)
ROWS = np.random.default_rng(0).normal(size=(30, 3))
MIXTURE = {
    "group": [{"fraction": 0.7, "mean": 0, "covariance": 1}, {"fraction": 0.3, "mean": 0, "covariance": 2}],
    "teacher": {"neurons": 2, "dimension": 2},
}
CALLS = {
    "audit": lambda: lopsided.audit(ROWS, labels=LABELS, checks=["counts"]),
    "claims": lambda: lopsided.claims(),
    "collapse": lambda: lopsided.collapse("500*2,5*2", tau=3.0),
    "mixture": lambda: lopsided.mixture(MIXTURE, 1000),
    "oversampling_rates": lambda: lopsided.oversampling_rates({"a": 90, EVIL: 9}, "balanced"),
    "plan": lambda: lopsided.plan(ROWS, labels=LABELS),
    "results": lambda: lopsided.results(f"select '{EVIL}' as found"),
    "score": lambda: lopsided.score(ROWS, labels=LABELS),
    "skill": lambda: lopsided.skill(run=False),
}
# the same classes' results are made by slower tests: their methods are only looked for
ELSEWHERE = {
    "trial": "lopsided.report.results.ShownTrial",
    "mixture_fit": "lopsided.checkup.mixture_fit.MixtureFit",
    "reproduce": "lopsided.papers.reproduce.Run",
    "compare": "lopsided.torch.checkpoints.CheckpointComparison",
}
# results inside results, and those of lopsided.torch
PARTS = (
    "lopsided.checkup.baseline.Changes",
    "lopsided.checkup.decision.recommendation.Recommendation",
    "lopsided.torch.mending.mend_model.MendedModel",
    "lopsided.torch.monitor.epoch_record.EpochRecord",
    "lopsided.torch.monitor.recall_outlook.RecallOutlook",
)
NO_RESULT = {"serve", "load_example"}  # serves; an Arrow table


def test_every_public_function_is_listed() -> None:
    functions = {name for name in lopsided.__all__ if name[0].islower()}
    assert functions == {*CALLS, *ELSEWHERE, *NO_RESULT}


@pytest.mark.parametrize("name", list(CALLS))
def test_results_show_themselves(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOPSIDED_STORE", str(tmp_path / "store"))
    view = CALLS[name]()._repr_html_()
    assert view.startswith("<p><b>")
    assert "<td" in view
    assert "<script" not in view


@pytest.mark.parametrize("place", [*ELSEWHERE.values(), *PARTS])
def test_the_other_results_have_a_view_too(place: str) -> None:
    module, _, name = place.rpartition(".")
    assert inspect.isfunction(getattr(__import__(module, fromlist=[name]), name)._repr_html_)


def test_long_tables_are_cut_and_say_so() -> None:
    view = notebook_view("x & y", (["a"], [[EVIL]] * (MOST_ROWS + 1)), (["none"], []))
    assert "x &amp; y" in view
    assert view.count("<tr>") == MOST_ROWS + 1
    assert f"The first {MOST_ROWS} of {MOST_ROWS + 1} rows." in view
    assert EVIL not in view
    assert "none" not in view
