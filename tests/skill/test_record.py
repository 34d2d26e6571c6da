"""The sentence beside a forecast: from what is published, and nothing where nothing is."""

import json

import numpy as np
import pytest

import lopsided
from lopsided.core import published_skill as record
from lopsided.report.collapse import summary
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


def test_an_audit_carries_it_where_the_scored_call_is_made(publish) -> None:
    """The multiplier was scored with energies of a last layer that was measured, and for the classes it loses."""
    recipes = {"collapse": "constant multiplier of the pilot", "energies": "measured energies of the pilot"}
    rates = {name: _entry("held-out", right, name) for name, right in zip(recipes.values(), (44, 30), strict=True)}
    entry = {**rates[recipes["collapse"]], "family": "skill-collapse-ratio"}
    entry["numbers"] = {"recipes": {name: one["numbers"]["recipes"][name] for name, one in rates.items()}}
    publish(entry)
    random = np.random.default_rng(4)
    labels = np.repeat(np.arange(4), [900, 700, 60, 8])
    weights = random.standard_normal((4, 6))
    layer = {"features": weights[labels] + random.standard_normal((labels.size, 6)), "classifier": weights}

    def skills(**given: object) -> dict[str, str]:
        found = lopsided.audit(labels=labels, checks=["collapse_forecast", "counts"], **given)
        assert all(not one.skill for one in found.findings if one.id == "counts")  # it measures, it does not forecast
        return {one.message: one.skill for one in found.findings if one.id == "collapse_forecast"}

    told = skills(weight_decay=0.02, **layer)  # lambda N is about 30: class 3 collapses, class 2 is near
    assert [("forecast to collapse" in words, skill != "") for words, skill in told.items()] == [
        (True, True),
        (False, False),
    ]
    assert next(iter(told.values())).startswith("Forecasts of collapse were right in 88% of cases")
    by_energies = skills(features=layer["features"] * 0.3, classifier=weights)  # no weight decay: the energies are held
    lost = [skill for words, skill in by_energies.items() if "forecast to collapse" in words]
    assert lost
    assert all(skill.startswith("Forecasts of collapse were right in 60% of cases") for skill in lost)
    for usual in ({}, {"weight_decay": 0.05}):  # energies that nobody measured
        assert set(skills(**usual).values()) == {""}
    assert any("forecast to collapse" in words for words in skills(weight_decay=0.05))
    page = str(lopsided.audit(labels=labels, weight_decay=0.02, checks=["collapse_forecast"], **layer).to_html())
    assert page.count("Forecasts of collapse were right in 88% of cases") == 1


def test_a_collapse_forecast_is_scored_with_a_multiplier_or_energies_and_free_features() -> None:
    def told(features: str = "free", **held: float) -> list[str]:
        rows = summary(lopsided.collapse([500, 500, 5, 5], features=features, **held), held)
        return [name for name, _ in rows if "skill" in name]

    assert told(multiplier=0.01) == ["measured skill with the multiplier of a pilot run"]
    assert told(feature_energy=5.0, weight_energy=1.0) == ["measured skill with the energies of a pilot run"]
    assert told(weight_decay=0.01) == told(tau=9.0) == told("relu", multiplier=0.01) == []


def test_a_plan_carries_it() -> None:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], [60, 12])
    made = lopsided.plan(features=random.standard_normal((72, 3)) + labels[:, None], labels=labels)
    assert made.skill.startswith("On 46 held-out tables, the first remedy of such a plan was ")
    assert made.skill in str(made)
    # neither three classes nor arms of one's own were scored
    three = np.where(np.arange(72) < 8, 2, labels)
    other = [lopsided.plan(features=random.standard_normal((72, 3)), labels=three)]
    other.append(lopsided.plan(features=random.standard_normal((72, 3)), labels=labels, arms=["class weights"]))
    assert [one.skill for one in other] == ["", ""]
