"""The sentence beside a forecast: from what is published, and nothing where nothing is."""

import json

import pytest

from lopsided.core import published_skill as record
from lopsided.skill.benchmark import families


def _entry(split: str, right: int, recipe: str = "lopsided.mixture, true mixture") -> dict:
    rate = {"asked": 52, "decided": 50, "right": right, "rate": right / 50, "interval": [0.7, 0.95], "ties": 3}
    return {
        "family": "skill-group-mixtures",
        "split": split,
        "tasks": 20,
        "recipe": recipe,
        "baseline": "more data helps",
        "baseline_rate": 0.7,
        "numbers": {"recipes": {recipe: rate}, "baselines": {}},
    }


@pytest.fixture
def publish(monkeypatch):
    def put(*scores: dict) -> None:
        monkeypatch.setattr(record, "published_text", lambda: json.dumps({"scores": list(scores)}))
        record._held_out.cache_clear()

    yield put
    record._held_out.cache_clear()


def test_only_the_held_out_half_is_quoted(publish) -> None:
    publish(_entry("development", 50), _entry("held-out", 44))
    found = record.measured_skill("more of a group")
    assert found is not None
    assert (found.right, found.decided) == (44, 50)
    assert found.sentence == (
        "Such forecasts were right in 88% of cases with random mixtures (44 of 50 in 20 held-out tasks, 2 undecided; "
        "the best simple rule, more data helps, in 70%)."
    )


def test_nothing_is_said_where_nothing_was_measured(publish) -> None:
    publish(_entry("development", 50))
    assert record.skill_sentence("more of a group") == ""
    publish(_entry("held-out", 44, recipe="another recipe"))  # the forecast shown is not the one that was scored
    assert record.measured_skill("more of a group") is None
    assert record.skill_sentence("collapse") == ""


@pytest.mark.parametrize("kind", list(record.FORECASTS))
def test_every_kind_names_a_recipe_that_is_scored_and_shipped(kind: str) -> None:
    family, recipe, _ = record.FORECASTS[kind]
    question = families()[family].question
    assert recipe in question.recipes.keys() - set(question.unshipped)


def test_an_audit_and_a_plan_carry_it(publish) -> None:
    import numpy as np

    import lopsided

    entry = {**_entry("held-out", 44, "constant multiplier of the pilot"), "family": "skill-collapse-ratio"}
    publish(entry)
    found = lopsided.audit(labels=["cat"] * 900 + ["dog"] * 8, checks=["collapse_forecast", "counts"])
    said = {finding.id: finding.skill for finding in found.findings}
    assert said["collapse_forecast"].startswith("Such forecasts were right in 88% of cases")
    assert said["counts"] == ""  # it measures, it does not forecast
    assert "right in 88% of cases" in str(found.to_html())
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], [60, 12])
    made = lopsided.plan(features=random.standard_normal((72, 3)) + labels[:, None], labels=labels)
    assert made.skill.startswith("On 46 held-out tables, the first remedy of such a plan was ")
    assert made.skill in str(made)
