"""Plans and trials at hand: their pages, notebook views, frames, and the code that trains what was recommended."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import lopsided
from lopsided.core.errors import InputError
from lopsided.report.results import ShownPlan, ShownTrial
from tests.report.test_audit import EVIL, Anchors


def sample():
    random = np.random.default_rng(3)
    labels = np.repeat(["often", EVIL], [160, 50])
    groups = np.where(np.arange(210) % 3 == 0, "b", EVIL)
    return random.standard_normal((210, 2)) + 1.4 * (labels == EVIL)[:, None], labels, groups


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    features, labels, groups = sample()
    store = tmp_path_factory.mktemp("store")
    return lopsided.trial(
        features, labels=labels, groups=groups, metric="balanced", folds=3, repeats=1, store=store, forecasts=False
    )


def test_a_trials_page_opens_with_the_recommendation_and_ends_with_the_code(tried) -> None:
    page = tried.to_html()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)" in page
    parser = Anchors()
    parser.feed(page)
    assert len(parser.ids) == len(set(parser.ids))
    assert all(link.removeprefix("#") in parser.ids for link in parser.links)
    places = [place for place in parser.ids if place in ("data", "trial", "plan", "summary", "provenance", "train")]
    assert places == ["data", "trial", "plan", "provenance", "train"]
    assert f'<p class="verdict plain">{_escaped(tried.headline())}' in page
    assert tried.headline().startswith(("Use ", "Keep plain training"))
    assert page.index("verdict plain") < page.index('id="data"')
    best, chance = max(tried.recommendation.chances.items(), key=lambda part: part[1])
    assert f"{_escaped(best)} {chance:.0%}" in page
    assert "&gt;often&lt;" not in page
    bars = re.findall(r"width:([\d.]+)%\"></span></span>([\d,]+)<", page)
    assert bars == [("100.0", "160"), ("31.2", "50")]  # 50 / 160
    # Arms that need new examples stand in a table of their own.
    arms, collected = (part.partition("</table>")[0] for part in page.split("<caption>")[2:4])
    assert "class weights" in arms
    assert "collect class" not in arms
    assert "collect class" in collected
    assert "helps?" in arms
    assert "forecast held?" in arms


def _escaped(text: str) -> str:
    from markupsafe import escape

    return str(escape(text))


def test_pages_go_to_paths(tried, tmp_path) -> None:
    assert tried.to_html(tmp_path / "trial.html").read_text() == tried.to_html()
    page = tried.plan.to_html(tmp_path / "plan.html", title="Mine & theirs").read_text()
    assert "<h1>Mine &amp; theirs</h1>" in page
    assert EVIL not in page
    for wanted in (tried, tried.plan):
        with pytest.raises(InputError, match="create it first"):
            wanted.to_html(tmp_path / "no" / "x.html")


def test_many_classes_are_a_few_bars() -> None:
    """The bars of the page add up to the data, however many classes there are."""
    from lopsided.core.partition import Partition
    from lopsided.report.checkup_page import _bars

    for classes in (1, 12, 13, 400):
        codes = np.repeat(np.arange(classes), np.arange(classes, 0, -1))
        bars = _bars(Partition("class", codes, tuple(map(str, range(classes)))))
        assert len(bars) <= 12
        assert sum(int(words.split(" ")[0].replace(",", "")) for _, words, _ in bars) == codes.size
        assert max(length for *_, length in bars) == 100


def test_notebook_views_are_escaped_and_whole(tried) -> None:
    for view in (tried._repr_html_(), tried.plan._repr_html_()):
        assert EVIL not in view
        assert all(_escaped(remedy.name) in view for remedy in tried.plan.remedies)
    assert _escaped(tried.headline()) in tried._repr_html_()
    assert isinstance(tried.plan, ShownPlan)


def test_helps_follows_the_interval_and_frames_have_every_arm(tried) -> None:
    frame = tried.frame()
    assert frame["arm"].tolist() == [arm.name for arm in tried.arms]
    assert frame["helps"].isna()[0]  # plain training is what the others are compared with
    for arm, told in zip(tried.arms[1:], tried.to_dict()["arms"][1:], strict=True):
        if arm.skipped is not None:
            assert arm.helps is None
            continue
        gain = arm.metrics[arm.read_in].gain
        low, high = (gain.low, gain.high) if arm.simulated else told["simultaneous_interval"]
        assert told["helps"] == ("yes" if low > 0 else "no" if high < 0 else "unclear")
        row = frame[frame["arm"] == arm.name].iloc[0]
        assert (row["gain"], row["gain_low"]) == (gain.value, gain.low)
    plan = tried.plan.frame()
    assert plan["remedy"].tolist() == [remedy.name for remedy in tried.plan.remedies]
    assert plan["counts_as"].dropna().is_monotonic_decreasing


@pytest.mark.parametrize(("low", "high", "word"), [(0.01, 0.2, "yes"), (-0.2, -0.01, "no"), (-0.1, 0.1, "unclear")])
def test_helps_in_a_word(tried, low, high, word) -> None:
    assert replace(tried["class weights"], widened=(low, high)).helps == word


@pytest.mark.parametrize("name", ["plain", "class weights", "logit adjustment", "threshold moving", "group weights"])
@pytest.mark.parametrize("learner", ["logistic", LogisticRegression(C=0.5)])
def test_the_code_trains_the_arm_that_was_tried(tried, name, learner) -> None:
    """The five lines are run; what they predict is what the arm's own object predicts."""
    features, labels, groups = sample()
    words = learner if isinstance(learner, str) else repr(learner)
    chosen = replace(tried, recommendation=replace(tried.recommendation, arm=name), learner=words)
    lines = chosen.code().splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) < 300
    known = {"X": features, "y": labels, "groups": groups, "learner": learner}
    exec(chosen.code(), known)
    remedy = tried[name].remedy
    given = [groups] if remedy.needs_groups else []
    expected = remedy.wrap(learner, seed=0).fit(features, labels, *given).predict(features, *given)
    np.testing.assert_array_equal(known["predicted"], expected)
    assert (lines[2].count("'logistic'") == 1) == isinstance(learner, str)


@pytest.mark.parametrize("own", [LogisticRegression(class_weight="balanced"), lopsided.Oversampler("balanced")])
def test_the_code_trains_an_arm_of_the_users_own(tried, own) -> None:
    from lopsided.remedies.own import own_arm

    features, labels, _ = sample()
    arm = replace(tried["class weights"], remedy=own_arm(("it's mine", own)))
    chosen = replace(tried, arms=(*tried.arms, arm), recommendation=replace(tried.recommendation, arm="it's mine"))
    known = {"X": features, "y": labels, "own": own}
    exec(chosen.code(), known)
    expected = arm.remedy.wrap("logistic", seed=0).fit(features, labels).predict(features)
    np.testing.assert_array_equal(known["predicted"], expected)
    assert len(chosen.code().splitlines()) == 5


def test_what_an_audit_leads_to_can_show_itself() -> None:
    features, labels, _ = sample()
    found = lopsided.audit(features, labels=labels, checks=["counts"])
    plan = found.plan()
    trial = found.trial(plan, folds=3, repeats=1, forecasts=False)
    assert isinstance(trial, ShownTrial)
    assert 'id="plan"' in plan.to_html()
    page = found.to_html(plan=plan, trial=trial)
    assert page.index(_escaped(trial.headline())) < page.index('id="summary"')
