"""The collapse families: specifications, one tiny task measured and scored, truths read off made-up angles."""

from typing import Any, ClassVar

import numpy as np
import pytest

from lopsided.engine.task import Row
from lopsided.skill import collapse_recipes, small_networks
from lopsided.skill.benchmark import score_family
from lopsided.skill.collapse_runs import asked, counts_at, tail_pilot_counts
from lopsided.skill.families import collapse_ratio, collapse_tail
from lopsided.skill.small_networks import HIDDEN_LAYERS, cosines_of_gram
from lopsided.theory.merging_law import _outside

FAMILIES = [collapse_ratio, collapse_tail]
TINY = {
    "index": -1,
    "data": "digits",
    "classes": [3, 1, 4, 5],
    "largest": 120,
    "network": "mlp 1",
    "optimiser": "sgd",
    "schedule": "cosine",
    "weight_decay": 2e-2,
    "rate": 0.2,
    "momentum": 0.9,
    "batch": 32,
    "steps": 40,
}
TWO_SIZES, TAIL = {**TINY, "majority": 2}, {**TINY, "profile": "power"}


@pytest.fixture(scope="module", params=FAMILIES)
def measured(request):
    pytest.importorskip("torch")
    settings = TWO_SIZES if request.param is collapse_ratio else TAIL
    return request.param, settings, request.param.measure(settings, 0)


@pytest.mark.parametrize("module", FAMILIES)
def test_specifications_reach_what_is_asked_for(module) -> None:
    tasks = list(module.tasks())
    for name, least in {"data": 4, "network": 6, "optimiser": 2, "schedule": 2, "batch": 3}.items():
        assert len({task[name] for task in tasks}) == least, name
    assert {len(task["classes"]) for task in tasks} == {3, 4, 5, 6, 8, 10}
    for task in tasks:
        assert len(set(task["classes"])) == len(task["classes"])
        counts = counts_at(task, 100)
        assert min(counts) >= 1
        assert counts[0] == task["largest"]
        assert counts == sorted(counts, reverse=True)
        training = collapse_recipes.training_of(task)
        # all that is drawn lies within what the law calls tested, but for AdamW and trainings that stop early
        reasons = _outside(len(task["classes"]), training, None)
        assert all(any(words in reason for words in ("adamw", "early", "inputs")) for reason in reasons) or (
            training.optimiser == "adamw"
        )


def test_a_run_is_kept_as_angles(measured) -> None:
    module, settings, numbers = measured
    runs = numbers["truth"]["runs"]
    assert list(runs) == [str(ratio) for ratio in asked(settings)]
    for run in [run for repeats in runs.values() for run in repeats]:
        gram = np.array(run["gram"])
        np.testing.assert_allclose(gram, gram.T)
        np.testing.assert_allclose(gram.sum(axis=0), 0.0, atol=1e-3)  # rows are centred, five digits are kept
        assert len(run["recall"]) == 4
    seen = numbers["seen"]
    assert seen["runs"]["10"] != seen["short"]
    for ratio, repeats in runs.items():  # what is seen is not what is asked about: every run has a seed of its own
        grams = [run["gram"] for run in (seen["runs"][ratio], *repeats)]
        assert len(grams) == 1 + small_networks.REPEATS
        assert all(grams[place] != grams[other] for place in range(len(grams)) for other in range(place))
    again = module.measure(settings, 0)
    assert again == numbers  # the seed decides


def test_every_recipe_answers_or_abstains(measured) -> None:
    module, settings, numbers = measured
    row = Row(settings, 0, numbers)
    scored = score_family(module.FAMILY, "development", [row])
    assert scored.tasks == 1
    assert scored.decided + scored.ties <= scored.asked + scored.ties
    for question in module.FAMILY.numbers:
        for name, recipe in question.recipes.items():
            found = recipe(settings, numbers["seen"])
            assert len(found) == len(question.truth(settings, numbers["truth"])), name
            for estimate in found:
                if estimate.value is not None and estimate.low is not None and estimate.high is not None:
                    assert estimate.low <= estimate.value <= estimate.high, name


def test_the_monitors_forecast_answers_by_its_classes_at_risk(measured, monkeypatch) -> None:
    """The recipe is the public function itself: a constant in its place changes the answers."""
    from lopsided.theory import network_forecast as public

    module, settings, numbers = measured
    recipe = module.FAMILY.question.recipes["network forecast"]
    before = [choice.answer for choice in recipe(settings, numbers["seen"])]
    assert "kept" in before
    real = public.network_forecast

    def rest_lost(counts, **options):
        return real([1_000_000] + [1] * (len(list(counts)) - 1), **options)

    monkeypatch.setattr(public, "network_forecast", rest_lost)
    after = [choice.answer for choice in recipe(settings, numbers["seen"])]
    assert after.count("lost") > before.count("lost")


@pytest.mark.parametrize("name", ["constant multiplier of the pilot", "measured energies of the pilot"])
def test_the_collapse_forecast_answers_by_its_collapsed_classes(measured, monkeypatch, name) -> None:
    """So does `lopsided collapse`, beside which the score of these recipes stands."""
    module, settings, numbers = measured
    recipe = module.FAMILY.question.recipes[name]

    def collapsing(which):
        class Made:
            collapsed: ClassVar = which
            solution = type("Angles", (), {"factors": staticmethod(lambda: (np.eye(4), np.eye(4)))})

        monkeypatch.setattr(collapse_recipes, "collapse", lambda counts, **held: Made)
        return [choice.answer for choice in recipe(settings, numbers["seen"])]

    kept = collapsing([])
    assert set(kept) == {"kept"}
    assert set(collapsing([0, 1, 2, 3])) == {"lost"}  # the same angles


def test_adamw_is_outside_and_abstained_from(measured) -> None:
    module, settings, numbers = measured
    other = {**settings, "optimiser": "adamw"}
    answers = module.FAMILY.question.recipes["merging law"](other, numbers["seen"])
    assert all(choice.answer is None for choice in answers)


def test_another_run_is_read_off_as_the_truth_is(measured) -> None:
    """Where a forecaster sees the very runs that are asked about, it misses nothing."""
    module, settings, numbers = measured
    truth = {"runs": {ratio: [run, run] for ratio, run in numbers["seen"]["runs"].items()}}
    for question in module.FAMILY.numbers:
        said = [answer.value for answer in question.recipes[collapse_recipes.ANOTHER_RUN](settings, numbers["seen"])]
        assert said == [answer.value for answer in question.truth(settings, truth)]  # two equal runs: an exact mean
    question = module.FAMILY.question
    said = question.recipes[collapse_recipes.ANOTHER_RUN](settings, numbers["seen"])
    happened = question.truth(settings, truth)
    assert all(right.answer in (None, found.answer) for right, found in zip(happened, said, strict=True))


def made_runs(cosine: float) -> list[dict[str, Any]]:
    """Four classes of which the last two have this cosine in the mean of two runs."""
    grams = np.array([np.eye(4)] * 2)
    grams[:, 2, 3] = grams[:, 3, 2] = (cosine + 0.1, cosine - 0.1)
    return [{"gram": gram.tolist()} for gram in grams]


def truth_of(module: Any, question: str) -> Any:
    return next(one.truth for one in module.FAMILY.numbers if one.name == question)


def test_the_threshold_is_where_the_cosine_passes_a_half() -> None:
    values = {5: -0.1, 10: 0.0, 20: 0.42, 40: 0.44, 80: 0.8}
    truth = {"runs": {str(ratio): made_runs(value) for ratio, value in values.items()}}
    (found,) = truth_of(collapse_ratio, "R50, BatchNorm")(TWO_SIZES, truth)
    assert found.value == pytest.approx(40 * 2 ** (1 / 6))  # a sixth of the way from 0.44 to 0.8, in log R
    assert truth_of(collapse_ratio, "R50, no BatchNorm")(TWO_SIZES, truth)[0].value is None
    answers = [choice.answer for choice in collapse_ratio.FAMILY.question.truth(TWO_SIZES, truth)]
    assert answers == ["kept", None, "lost"]  # 10 and 40 are pilots; 0.42 is within 0.1 of 1/2


def test_a_class_is_lost_where_its_nearest_is_near() -> None:
    truth = {"runs": {str(ratio): made_runs(0.9) for ratio in (30, 100)}}
    answers = [choice.answer for choice in collapse_tail.FAMILY.question.truth(TAIL, truth)]
    assert answers == ["kept", "kept", "lost", "lost"] * 2
    pairs = truth_of(collapse_tail, "pair cosine, BatchNorm")(TAIL, truth)
    assert [pair.value for pair in pairs] == pytest.approx([0, 0, 0, 0, 0, 0.9] * 2)


def test_profiles_end_at_the_ratio() -> None:
    for profile in ("geometric", "power"):
        counts = counts_at({**TINY, "largest": 600, "profile": profile}, 100)
        assert (counts[0], counts[-1]) == (600, 6)
    geometric = counts_at({**TINY, "largest": 1000, "profile": "geometric"}, 1000)
    assert geometric == [1000, 100, 10, 1]
    tail = tail_pilot_counts({**TWO_SIZES, "largest": 800})
    assert tail == [800, 800, 100, 5]


def test_depths_are_those_of_the_networks() -> None:
    pytest.importorskip("torch")
    from lopsided.learners.deep.networks import build, hidden_layers
    from lopsided.skill.small_networks import ARCHITECTURES

    for name, (kind, options) in ARCHITECTURES.items():
        network = build(kind, (1, 8, 8), 4, **options)
        assert hidden_layers(network) == HIDDEN_LAYERS[name]
        assert any("BatchNorm" in type(layer).__name__ for layer in network.modules()) is not name.startswith("plain")


def test_cosines_of_a_gram_matrix() -> None:
    rows = np.random.default_rng(0).standard_normal((4, 7))
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(cosines_of_gram(rows @ rows.T), rows @ rows.T / np.outer(lengths, lengths))
