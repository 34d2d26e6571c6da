"""`lopsided demo` end to end."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from lopsided.checkup.digits_demo import DigitsDemo
from lopsided.cli.main import main
from lopsided.data.examples import long_tailed_digits
from tests.docs.test_readme import shown


def test_demo(capsys, tmp_path) -> None:
    report = tmp_path / "demo.html"
    assert main(["demo", "--out", str(report), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    page = report.read_text()
    assert page.startswith("<!doctype html>")
    assert len(page) < 2_000_000
    assert "oversampling" in page
    assert {"findings", "skipped", "arms", "winner", "recommendation", "seconds"} <= facts.keys()
    assert len(facts["lines"]) == 4
    for told, now in zip(shown()[-1], facts["lines"][2:], strict=True):  # the README shows the last two
        pieces = [re.split(r"([-+]?\d\.\d+|\d+%)", text) for text in (told, now)]
        assert pieces[0][:6:2] == pieces[1][:6:2]  # the words, up to the first numbers
        # other linear algebra changes the last digits; the story must stay
        assert [float(n) for n in pieces[0][1:6:2]] == pytest.approx([float(n) for n in pieces[1][1:6:2]], abs=0.02)
    assert "Results on held-out data that the trial never saw" in page
    # The rarest digits are what the audit is about: one of the three smallest is named as failing or at risk.
    subjects = {finding["subject"] for finding in facts["findings"] if finding["level"] != "healthy"}
    assert subjects & {"class 7", "class 8", "class 9"}
    arms = {arm["name"]: arm for arm in facts["arms"]}
    assert arms["logit adjustment"]["forecast"]["metric"] == "balanced accuracy"
    # Held-out digits judge the trial: its 95% intervals hold the truth in at least four of five arms.
    truth = {
        name: np.mean(recall) - np.mean(facts["held_out_recall"]["plain"])
        for name, recall in facts["held_out_recall"].items()
    }
    gains = [(truth[name], arms[name]["metrics"]["balanced accuracy"]) for name in truth if name != "plain"]
    assert sum(gain["gain_low"] <= value <= gain["gain_high"] for value, gain in gains) >= 4


def test_the_tail_is_what_it_says() -> None:
    _, digits, held_out = long_tailed_digits(3)
    counts = np.bincount(digits[~held_out])
    assert (counts.max(), counts.min()) == (120, 5)
    assert np.bincount(digits[held_out]).min() >= 54


@pytest.mark.parametrize("arguments", [["--out", "x.pdf"], ["--seed", "-1"], ["--seed", "x"]])
def test_refusals(capsys, arguments) -> None:
    assert main(["demo", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(("recommended", "words"), [("plain", "rank 2 of 2"), ("class weights", "rank 1 of 2")])
def test_it_ends_with_the_recommendation_and_what_held_out_digits_showed(recommended, words) -> None:
    trial = SimpleNamespace(recommended=SimpleNamespace(name=recommended), headline=lambda brief: "Use it.")
    recall = {"plain": np.linspace(1.0, 0.1, 10), "class weights": np.full(10, 0.9)}
    counts = np.arange(10, 0, -1)
    demo = DigitsDemo(counts, 0.1, None, None, trial, recall, 700)  # type: ignore[arg-type]
    lines = demo.lines("3 failing.")
    assert lines[:3] == [
        "Data: 55 training digits, from 10 of the commonest class to 1 of the rarest; 700 held out.",
        "Audit: 3 failing.",
        "Trial: Use it.",
    ]
    assert words in lines[3]
    assert "0.550 with plain training" in lines[3]
    assert ("0.900 with class weights (+0.350); digits 7, 8, 9: 0.200 to 0.900" in lines[3]) == (recommended != "plain")
    heads, rows = demo.held_out_table()
    assert [row[0] for row in rows] == ["class weights", "plain"]
    assert len(heads) == len(rows[0])
