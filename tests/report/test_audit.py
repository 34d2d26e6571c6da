"""The audit's page, command and notebook view: complete, escaped, small, and nothing half written."""

import inspect
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.core.errors import InputError

EVIL = "<script>alert(1)</script>"
FAST = ["counts", "class_accuracy", "group_accuracy", "duplicates"]


@pytest.fixture(scope="module")
def found():
    random = np.random.default_rng(0)
    labels = np.array(["a", EVIL])[(np.arange(300) % 30 == 0).astype(int)]
    predictions = np.where(np.arange(300) % 60 == 0, "a", labels)
    return lopsided.audit(
        random.standard_normal((300, 3)),
        labels=labels,
        predictions=predictions,
        groups={EVIL: np.arange(300) % 2},
        checks=[*FAST, "calibration", "influence"],
    )


class Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a":
            self.links.append(named["href"])


def test_page_is_whole_and_escaped(found) -> None:
    page = found.to_html()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)
    parser = Anchors()
    parser.feed(page)
    assert len(parser.ids) == len(set(parser.ids))
    assert all(link.removeprefix("#") in parser.ids for link in parser.links)
    assert {"main", "nav", "h1", "caption", "thead"} <= set(parser.tags)
    assert page.count('role="img" aria-label="') == page.count("data-plot=") > 0
    for finding in found.findings:
        assert finding.remedy.split(";")[0][:20] in page or finding.level.value == "healthy"
    assert "No probabilities given" in page  # the skipped check, with its reason
    assert "Provenance" in page


def test_notebook_view(found) -> None:
    view = found._repr_html_()
    assert EVIL not in view
    assert "failing" in view or "at risk" in view


def test_plan_section(found) -> None:
    from lopsided.checkup.plan.result import Plan, PlannedRemedy
    from lopsided.remedies.contract import GainForecast
    from lopsided.remedies.oversampling import Oversampling

    forecast = GainForecast("balanced accuracy", 0.1, 0.0, 0.2, "a law")
    page = found.to_html(plan=Plan([PlannedRemedy(Oversampling({}), "because", forecast)]))
    assert 'id="plan"' in page
    assert "+0.100 [+0.000, +0.200]" in page


def test_page_hardly_grows_with_rows() -> None:
    def size(rows: int) -> int:
        random = np.random.default_rng(1)
        result = lopsided.audit(
            random.standard_normal((rows, 2)), labels=np.arange(rows) % 3, checks=["counts", "influence", "duplicates"]
        )
        return len(result.to_html())

    small, large = size(300), size(6000)
    assert large < 2_000_000
    assert large < 1.05 * small


def write(path: Path) -> Path:
    random = np.random.default_rng(2)
    labels = (np.arange(240) % 40 == 0).astype(int)
    np.savez(path, features=random.standard_normal((240, 3)), labels=labels, predictions=np.zeros(240, dtype=int))
    return path


def test_command(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    path = write(tmp_path / "d.npz")
    names = ["--checks", "counts,class_accuracy,group_accuracy"]
    assert main(["audit", str(path), "--json", *names]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"findings", "skipped", "measures", "report", "seconds"} <= facts.keys()
    assert all(
        {"id", "level", "subject", "value", "interval", "message", "remedy"} <= one.keys() for one in facts["findings"]
    )
    assert facts["skipped"][0]["check"] == "group_accuracy"
    assert Path(facts["report"]).read_text().startswith("<!doctype html>")
    assert main(["audit", str(path), "--no-report", "--fail-on", "at-risk", *names]) == 1
    assert main(["audit", str(path), "--no-report", "--fail-on", "failing", "--checks", "separability"]) == 0
    shown = capsys.readouterr().out
    assert "class 1" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--labels", "colour"], "labels, predictions"),
        (["--groups", "sex"], "'sex'"),
        (["--fail-on", "sad"], "at-risk or failing"),
        (["--report", "x.txt"], ".html"),
        (["--report", "nowhere/x.html"], "create it first"),
        (["--checks", "stars"], "a check among"),
        (["--weight-decay", "much"], "number"),
    ],
)
def test_mistakes_end_in_one_sentence(tmp_path, capsys, arguments, words) -> None:
    path = write(tmp_path / "d.npz")
    assert main(["audit", str(path), "--no-report" if "--report" not in arguments else "--json", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1


def test_ctrl_c_leaves_nothing_half_written(tmp_path, capsys, monkeypatch) -> None:
    """The key is pressed while the second check runs."""
    path = write(tmp_path / "d.npz")
    asked = []

    def press(*_) -> list:
        asked.append(1)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr("lopsided.checkup.audit.example_pictures", press)
    monkeypatch.chdir(tmp_path)
    assert main(["audit", str(path)]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert [left.name for left in tmp_path.iterdir()] == ["d.npz"]


def test_report_path_is_asked_before_the_work(tmp_path, found) -> None:
    with pytest.raises(InputError, match="create it first"):
        found.to_html(tmp_path / "no" / "x.html")
    assert found.to_html(tmp_path / "x.html").stat().st_size > 100_000


def test_json_goes_to_a_path_as_the_page_does(tmp_path, found) -> None:
    written = found.to_json(tmp_path / "facts.json")
    assert written == tmp_path / "facts.json"
    assert json.loads(written.read_text()) == json.loads(found.to_json())
    for path, words in (("no/x.json", "create it first"), ("x.html", r"ends in \.json")):
        with pytest.raises(InputError, match=words):
            found.to_json(tmp_path / path)


def test_plan_and_trial_of_an_audit() -> None:
    """From one audit to its plan, a trial of it and the page with both."""
    random = np.random.default_rng(8)
    labels = np.repeat([0, 1, 2], [150, 60, 12])
    features = 1.2 * np.eye(3, 4)[labels] + random.standard_normal((222, 4))
    result = lopsided.audit(features, labels=labels, checks=["counts"])
    plan = result.plan()
    assert plan.remedies
    trial = result.trial(plan, folds=3, repeats=1, forecasts=False)
    page = result.to_html(plan=plan, trial=trial)
    assert all(remedy.name in page for remedy in plan.remedies)
    assert 'id="trial"' in page
    assert len(page) < 2_000_000


@pytest.mark.parametrize("name", ["plan", "trial"])
def test_what_an_audit_goes_on_with_shows_its_parameters(name: str) -> None:
    """Those of the public function, less what describes the data; each is documented."""
    whole = inspect.signature(getattr(lopsided, name)).parameters
    left, told = inspect.signature(getattr(lopsided.Audit, name)).parameters, getattr(lopsided.Audit, name).__doc__
    assert {"labels", "groups", "data", "weight_decay"} <= whole.keys() - left.keys()
    assert {"metric", "costs", "learner", "recipe", "seed"} <= left.keys()
    assert left.keys() - {"self"} < whole.keys()
    assert all(f"\n{parameter} : " in told for parameter in left if parameter != "self")
    assert "labels :" not in told
