"""The recall law: its constants are those of the fit in the tree, and its forecasts behave as distributions do."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bench.laws import recall_fit

from lopsided.core.errors import InputError
from lopsided.skill.recall_questions import before_of, evidence_at, inputs_at
from lopsided.theory import recall_law
from lopsided.theory.class_evidence import NEEDED, ClassEvidence
from lopsided.theory.lost_cause import lost_causes
from lopsided.theory.recall_law import recall_before_training, recall_forecast


@pytest.fixture(scope="module")
def tasks():
    return recall_fit.measured_rows()


def test_the_committed_constants_are_what_the_fit_gives(tasks) -> None:
    committed = json.loads(recall_fit.COMMITTED.read_text())
    assert committed["tasks"] == len(tasks)
    assert tuple(committed["laws"]) == recall_fit.VARIANTS
    before = None
    for variant, told in committed["laws"].items():
        law = recall_fit.fit_variant(tasks, variant, before, start=recall_law.RecallLaw.read(told))
        before = before or law
        for name, values in told.items():
            if name != "names":
                # five digits are kept, and the optimum is flat: L-BFGS stops within 1e-3 of it
                assert getattr(law, name) == pytest.approx(values, abs=5e-3), f"{variant}: {name}"


def test_the_fit_leaves_other_constants_for_its_own(tasks) -> None:
    """So the test above can fail: of a law that is off by a tenth, nothing is left."""
    some = tasks[:20]
    law = recall_fit.fit_variant(some, "before")
    moved = replace(law, cuts=law.cuts + 0.1, slopes=law.slopes * 1.1)
    again = recall_fit.fit_variant(some, "before", start=moved)
    for name in ("cuts", "slopes"):
        assert getattr(again, name) == pytest.approx(getattr(law, name), abs=5e-3)


def test_a_planted_law_is_found() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(4000, 2))
    score = 1.5 * x[:, 0] - 0.5 * x[:, 1]
    recalls = 1 / (1 + np.exp(-(score + random.logistic(size=4000))))
    law = recall_fit.fit(x, np.zeros(4000), recalls, np.ones(4000), ("a", "b"), ridge=0.1)
    # P(r <= c) = sigmoid(logit c - score): slopes 1.5 and -0.5; 4,000 examples know them to about 0.04
    assert law.slopes / law.scale == pytest.approx([1.5, -0.5], abs=0.1)
    middle = recall_law.CUTS.index(0.5)
    assert law.cuts[middle] == pytest.approx(0.0, abs=0.1)


def test_forecasts_are_ordered_and_follow_the_evidence(tasks) -> None:
    row = max(tasks, key=lambda one: one["settings"]["classes"])
    for mark in (0.05, 0.5):
        found = recall_forecast(evidence_at(row["settings"], row["seen"], mark))
        assert (found.low <= found.recall).all()
        assert (found.recall <= found.high).all()
        assert ((found.chance_lost >= 0) & (found.chance_lost <= 1)).all()
        assert found.seen == mark
        # a median below 0.2 and a chance above one half are the same statement
        assert ((found.chance_lost > 0.5) == (found.recall < recall_law.LOST)).mean() > 0.95
    evidence = evidence_at(row["settings"], row["seen"], 0.5)
    assert recall_forecast(evidence.without_held_out()).recall != pytest.approx(recall_forecast(evidence).recall)


def test_at_the_end_a_large_validation_set_decides(tasks) -> None:
    """The likelihood of the validation examples, beside brute-force integration over a fine grid."""
    cuts = np.array(recall_law.CUTS)
    chances = np.array([np.linspace(0.1, 0.8, cuts.size)])
    right, shown = np.array([30.0]), np.array([50.0])
    found = recall_law.sharpened(chances, right, shown, 1.0)
    fine = np.linspace(0, 1, 200_001)
    cdf = np.interp(fine, [*cuts, 1.0], [*chances[0], 1.0])
    weight = 0.5 * 200 / (50 + 200)
    middle = (fine[1:] + fine[:-1]) / 2
    mass = np.diff(cdf) * (middle**30 * (1 - middle) ** 20) ** weight
    expected = np.append(0.0, np.cumsum(mass) / mass.sum())  # an atom at 0 has no likelihood left
    # steps of 0.01 and half a step at their ends: the density is at most 7
    assert found[0] == pytest.approx(np.interp(recall_law.FINE, fine, expected), abs=5e-3)
    # nothing early: a thousandth of the weight
    early = recall_law.sharpened(chances, right, shown, 0.05)
    assert early[0] == pytest.approx(np.interp(recall_law.FINE, [*cuts, 1.0], [*chances[0], 1.0]), abs=5e-3)


@pytest.mark.parametrize("seen", [0.5, 1.0])
def test_a_class_that_is_always_right_may_end_at_one(tasks, seen) -> None:
    row = next(one for one in tasks if max(one["truth"]["recall"]) == 1.0)
    found = recall_forecast(evidence_at(row["settings"], row["seen"], seen))
    best = int(np.argmax(found.score))
    assert found.high[best] == 1.0
    assert found.low[best] > 0.5


def test_permuted_classes_give_permuted_forecasts(tasks) -> None:
    row = tasks[0]
    told, _ = inputs_at(row["seen"], 0.2)
    order = np.random.default_rng(0).permutation(len(told["counts"]))
    moved = {name: [values[k] for k in order] for name, values in told.items()}
    one, two = (recall_forecast(ClassEvidence.of(given, seen=0.2)) for given in (told, moved))
    assert two.recall == pytest.approx(one.recall[order], abs=1e-12)
    assert two.chance_lost == pytest.approx(one.chance_lost[order], abs=1e-12)


def test_before_training_more_examples_help(tasks) -> None:
    counts, means, neighbours, linear, training = before_of(tasks[0]["settings"], tasks[0]["seen"])
    found = recall_before_training(counts, means, neighbours, linear, training)
    rare = int(np.argmin(counts))
    counts = counts.copy()
    counts[rare] = counts.max()
    better = recall_before_training(counts, means, neighbours, linear, training)
    assert better.chance_lost[rare] < found.chance_lost[rare]
    assert found.seen == 0.0


@pytest.mark.parametrize("classes", [2, 10, 300])
def test_the_features_are_those_of_one_column_after_the_other(classes) -> None:
    """The law was fitted to these columns, so computing them as one table may not change a bit."""
    random = np.random.default_rng(classes)
    rates = ("recall", "auc", "adjusted")
    names = [f"{phase}_{rate}" for phase in ("train", "held_out") for rate in rates]
    given = {name: random.random(classes) for name in (*names, "nearest_recall", "held_out_nearest")}
    given |= {"counts": random.integers(0, 40, classes), "held_out_counts": random.integers(0, 4, classes)}
    given |= {"train_loss": 3 * random.random(classes), "held_out_loss": 3 * random.random(classes)}
    given |= {"train_margin": random.normal(size=classes)}
    for name in set(given) - {"counts"}:
        given[name] = np.where(random.random(classes) < 0.2, np.nan, given[name])
    given["held_out_recall"] = np.where(np.arange(classes) == 0, 0.5, given["held_out_recall"])
    seen = ClassEvidence.of(given, seen=0.3)

    def logit(values, size, otherwise=0.0):
        smoothed = (np.where(np.isfinite(values), values, otherwise) * size + 0.5) / (size + 1.0)
        return np.clip(np.log(smoothed / (1.0 - smoothed)), -4.0, 4.0)

    def full(value):
        return np.full(classes, value)

    size, held = np.maximum(seen.counts, 1.0), np.nan_to_num(seen.held_out_counts, nan=1.0).clip(1.0)
    loss = np.where(np.isnan(seen.train_loss), np.nanmax([*seen.train_loss, np.log(classes)]), seen.train_loss)
    everyone = np.average(np.nan_to_num(seen.train_recall), weights=size)
    train = [
        *(np.log(size), np.log(size / size.mean()), full(np.log(classes)), logit(seen.train_recall, size)),
        *(np.log(loss + 0.05), np.arcsinh(np.where(np.isnan(seen.train_margin), -3.0, seen.train_margin))),
        *(logit(seen.train_auc, size, 0.5), logit(seen.train_adjusted, size), logit(seen.nearest_recall, size)),
        full(logit(np.array([everyone]), np.array([200.0]))[0]),
    ]
    assert (recall_law.training_features(seen) == np.stack(train, axis=1)).all()
    other = np.where(np.isnan(seen.held_out_loss), np.log(classes), seen.held_out_loss)
    shown = [
        *(logit(seen.held_out_recall, held), np.log(other + 0.05), logit(seen.held_out_auc, held, 0.5)),
        *(logit(seen.held_out_adjusted, held), logit(seen.held_out_nearest, held)),
        full(logit(np.array([np.nanmean(seen.held_out_recall)]), np.array([200.0]))[0]),
    ]
    assert (recall_law.held_out_features(seen) == np.stack([*train, *shown], axis=1)).all()

    score = np.array([-3.0, 0.2, 4.0])
    law = recall_law._law("held out")
    chances = np.maximum.accumulate(
        1 / (1 + np.exp(-np.clip(law.cuts - 0.4 * law.cuts_by_time - score[:, None], -50, 50))), axis=1
    )
    assert (law.distribution(score, -0.4, wider=1.0) == chances).all()
    odds = np.log(chances / (1 - chances)) / recall_law.WIDER
    chances = law.distribution(score, -0.4)
    assert np.log(chances / (1 - chances)) == pytest.approx(odds, abs=1e-9)  # logits of up to 20, in double precision
    levels = np.array([0.05, 0.5, 0.95])
    for row, found in zip(chances, recall_law._quantiles(chances, np.array(recall_law.CUTS), levels).T, strict=True):
        joined = np.interp(levels, [*row, 1.0], [*recall_law.CUTS, 1.0])
        # straight lines between cuts, here by NumPy's own rule; some digits of a difference of chances are lost
        assert found == pytest.approx(np.where(levels <= row[0], 0.0, joined), abs=1e-9)


def _evidence(**given):
    rates = {"counts": [100, 10], "train_recall": [1.0, 0.9], "train_loss": [0.1, 0.3], "train_margin": [2.0, 1.0]}
    return ClassEvidence.of(rates | given)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"held_out_recall": [1, 0.1], "held_out_adjusted": [0.9, 0.7]}, "prior"),
        ({"held_out_recall": [1, 0.1], "held_out_adjusted": [0.9, 0.1]}, "memorised"),
        ({"train_recall": [1, 0.1], "held_out_recall": [1, 0.0], "held_out_adjusted": [0.9, 0.1]}, "never learnt"),
        ({"train_recall": [1, 0.1], "train_adjusted": [1, 0.8]}, "prior"),
        ({"train_recall": [1, 0.1], "train_adjusted": [0.1, 0.8]}, "never learnt"),  # all is called by the rare class
        ({"train_recall": [1, 0.1], "train_adjusted": [1, 0.2]}, "never learnt"),
        ({"train_recall": [1, 0.0], "train_adjusted": [0, 1.0]}, "never learnt"),  # a tie: adjusting gains nothing
        ({"held_out_recall": [1, 0.8], "held_out_adjusted": [0.9, 0.8]}, None),
    ],
)
def test_causes(given, cause) -> None:
    assert lost_causes(_evidence(**given), {1}) == [None, cause]
    assert lost_causes(_evidence(**given), {1}, merged={1}) == [None, "merged"]


def test_evidence_that_is_not_whole_is_refused() -> None:
    with pytest.raises(InputError, match="no train_loss"):
        ClassEvidence.of({"counts": [1], "train_recall": [1.0], "train_margin": [0.0]})
    with pytest.raises(InputError, match="2 numbers for held_out_auc"):
        _evidence(held_out_auc=[0.5])
    with pytest.raises(InputError, match="among"):
        _evidence(something=[0.5, 0.5])
    with pytest.raises(InputError, match="share of the training"):
        ClassEvidence.of({name: [0.5] for name in NEEDED}, seen=2.0)
