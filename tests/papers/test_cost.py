"""The estimate before a run: it scales with the steps, and says what it leaves out."""

import pytest

pytest.importorskip("torch")

from lopsided.papers.cost import RunCost, estimate
from lopsided.papers.register import register
from lopsided.papers.reproduce import expand

TINY = {"images": "digits", "network": "mlp", "widths": [4], "batch": 8, "steps": 100}


def test_an_estimate_is_that_of_a_step_times_the_steps() -> None:
    one, ten = estimate([TINY]), estimate([{**TINY, "steps": 1000}])
    assert ten.seconds == pytest.approx(10 * one.seconds)
    mixed = estimate([TINY, {"classes": 3}, {**TINY, "images": "celeba"}])
    assert (mixed.seconds, mixed.estimated, mixed.others) == (one.seconds, 1, 2)
    assert "the other 2 tasks are not estimated" in mixed.words


def test_epochs_become_steps_by_the_class_sizes() -> None:
    sizes = {"majority_classes": 1, "minority_classes": 1, "majority_size": 64, "minority_size": 16}
    by_epochs = {**TINY, **sizes, "rate": 0.1, "weight_decay": 0.0, "epochs": 5}
    del by_epochs["steps"]
    assert estimate([by_epochs]).seconds == pytest.approx(estimate([{**TINY, "steps": 50}]).seconds)


def test_words() -> None:
    assert RunCost(7200.0, 3, 0).words == "Estimated time: about 2 hours of one core for 3 networks."
    assert RunCost(90.0, 2, 0, "cuda").words == "Estimated time: about 90 seconds of one GPU for 2 networks."


@pytest.mark.parametrize("claim_id", ["lp-networks", "lp-oversampling-networks", "bo-removal"])
def test_the_papers_networks_are_in_the_papers_plans(claim_id: str) -> None:
    entry = register()[claim_id]
    assert entry.claim is not None
    networks = {task.settings["network"] for task in expand(entry.claim, str(entry.home), "paper")}
    assert "resnet-18" in networks
