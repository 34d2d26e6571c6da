"""The rules of the claims of Xu and Chen 2025 answer to the numbers alone; that they run is the contract suite's."""

import importlib

import numpy as np
import pytest

from lopsided.core.seeds import generator
from lopsided.engine.task import Row
from lopsided.papers.claim import Outcome


def claim_of(name):
    return importlib.import_module(f"lopsided.papers.{name[:2]}.{name.replace('-', '_')}").CLAIM


def graded(claim, accuracy, seeds=(0, 1)):
    """Rows of the quick plan whose numbers come from a formula instead of a run."""
    return [
        Row(settings, seed, {"tests": 1000, **accuracy(settings, seed)})
        for settings in claim.plans["quick"].settings
        for seed in seeds
    ]


def shuffled(rows, seed=0):
    order = generator(seed, "shuffle").permutation(len(rows))
    return [Row(row.settings, row.seed, rows[i].numbers) for row, i in zip(rows, order, strict=True)]


def both(u, ratio):
    """A formula with the paper's trends."""
    return 0.2 + 0.79 * (1 - np.exp(-(u**2) - np.log(ratio)))


def test_heatmap_rule() -> None:
    claim = claim_of("bo-heatmap")

    def rows_with(accuracy, bayes=0.99):
        return graded(claim, lambda s, seed: {"accuracy": accuracy(s["feature_norm"], s["ratio"]), "bayes": bayes})

    rows = rows_with(both)
    assert claim.judge(rows).outcome is Outcome.HOLDS
    assert claim.judge(rows_with(both, bayes=1.1)).outcome is Outcome.PARTLY
    assert claim.judge(rows_with(lambda u, ratio: 1.2 - both(u, ratio))).outcome is Outcome.CONTRADICTED
    assert claim.judge(rows_with(lambda u, ratio: 0.2)).outcome is Outcome.FAILS
    half = rows_with(lambda u, ratio: both(u, 1.0))
    assert claim.judge(half).outcome is Outcome.FAILS  # two parts of five
    assert all(claim.judge(shuffled(rows, seed)).outcome is not Outcome.HOLDS for seed in range(5))


def test_size_rules() -> None:
    feature, noise = claim_of("bo-size-feature"), claim_of("bo-size-noise")

    def rising(s, seed):
        return {"accuracy": both(s["feature_norm"] * s["per_class"] / 60, 1.0)}

    assert feature.judge(graded(feature, rising)).outcome is Outcome.HOLDS
    falling = graded(feature, lambda s, seed: {"accuracy": 0.9 - rising(s, seed)["accuracy"] / 2})
    assert feature.judge(falling).outcome is Outcome.CONTRADICTED
    assert feature.judge(graded(feature, lambda s, seed: {"accuracy": 0.5})).outcome is Outcome.FAILS
    constant = graded(noise, lambda s, seed: {"accuracy": both(0, s["ratio"])})
    assert noise.judge(constant).outcome is Outcome.HOLDS
    growing = graded(noise, lambda s, seed: {"accuracy": 0.3 + 0.6 * s["per_class"] / 100})
    assert noise.judge(growing).outcome is Outcome.CONTRADICTED
    mixed = graded(noise, lambda s, seed: {"accuracy": 0.9 if s["ratio"] > 100 else 0.3 + 0.6 * s["per_class"] / 100})
    assert noise.judge(mixed).outcome is Outcome.CONTRADICTED  # four of six lines move
    most = graded(noise, lambda s, seed: {"accuracy": 0.9 if s["ratio"] > 10 else 0.3 + 0.6 * s["per_class"] / 100})
    assert noise.judge(most).outcome is Outcome.PARTLY


def test_train_loss_rule() -> None:
    claim = claim_of("bo-train-loss")
    good = {"final": 0.01, "rate_kept": 0.9, "slope": -1.0}
    for change, outcome in (
        ({}, Outcome.HOLDS),
        ({"rate_kept": 0.5}, Outcome.PARTLY),
        ({"final": 0.5, "rate_kept": 0.5, "slope": -0.3}, Outcome.FAILS),
    ):
        numbers = {**good, **change}
        assert claim.judge([Row({}, seed, numbers) for seed in range(3)]).outcome is outcome


def test_train_loss_shapes() -> None:
    """The measured shape tells an exponential from 1/(1 + t), which a straight-line fit would not."""
    rate = importlib.import_module("lopsided.papers.bo.bo_train_loss")._rate
    t = np.linspace(0, 5, 2000)
    for loss, kept in ((np.exp(-t), 1.0), (1 / (1 + t), 0.5)):
        found = rate(t, loss, 0.55, 0.5) / rate(t, loss, 1.0, 0.95)
        assert found == pytest.approx(kept, abs=0.05)  # rates are averaged over a twentieth of the loss


def phase_rows(claim):
    """The quick plan with the terms of each cell, to be given a law."""

    def numbers(s, seed):
        own, other = (
            np.array(pair, dtype=float) for pair in ((s["per_class"], s["others"]), (s["others"], s["per_class"]))
        )
        signals = own**2 * s["feature_norm"] ** 4 / (other * (s["dimension"] - 2) / 16)
        levels = [[0.2, 0.5, 0.8, 1.1, 1.5, 2.2]] * 2
        return {
            "signals": signals.tolist(),
            "ratios": (s["ratio"] * own / other).tolist(),
            "levels": levels,
            "tests_per_class": s["tests"],
        }

    return graded(claim, numbers, seeds=claim.quick.seeds)


def test_phase_rule_sees_every_wrong_power() -> None:
    claim = claim_of("bo-phase")
    rows = phase_rows(claim)
    law = importlib.import_module("lopsided.papers.bo.phase_powers").as_law
    whole = law(rows)
    assert claim.judge(whole).outcome is Outcome.HOLDS
    for name, alternative in claim.alternatives.items():
        verdict = claim.judge(alternative(rows))
        wrong = "noise: power of ratio" if "Gamma" in name else "signal: power of |u|"
        assert verdict.outcome is not Outcome.HOLDS
        assert next(part for part in verdict.parts if part.name == wrong).outcome in (
            Outcome.CONTRADICTED,
            Outcome.FAILS,  # signal^0.05 leaves too few losses between 0 and chance
        )
    assert all(claim.judge(_mixed_losses(whole, seed)).outcome is not Outcome.HOLDS for seed in range(3))


def _mixed_losses(rows, seed):
    order = generator(seed, "losses").permutation(len(rows))
    keys = ("accuracy", "class_accuracy", "losses", "tail_loss")
    return [
        Row(
            row.settings,
            row.seed,
            {**row.numbers, **{key: rows[i].numbers[key] for key in keys if key in rows[i].numbers}},
        )
        for row, i in zip(rows, order, strict=True)
        if row.settings["kind"] == rows[i].settings["kind"]
    ]


def test_tail_rule() -> None:
    claim = claim_of("bo-tail")

    def rows(accuracy):
        line = {"tail": list(range(8)), "accuracy": accuracy}
        return graded(claim, lambda s, seed: {"accuracy": 0.5, "definition 1": line, "own direction": line})

    rising = list(np.linspace(0.1, 0.9, 8))
    assert claim.judge(rows(rising)).outcome is Outcome.HOLDS
    assert claim.judge(rows(rising[::-1])).outcome is Outcome.CONTRADICTED
    assert claim.judge(rows([0.5] * 8)).outcome is Outcome.FAILS
    assert claim.judge(rows([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6])).outcome is not Outcome.HOLDS


def test_majority_rule() -> None:
    claim = claim_of("bo-majority-hurts")

    def rows(slope):
        keys = ("accuracy", "tail_accuracy", "others_accuracy")
        return graded(claim, lambda s, seed: dict.fromkeys(keys, 0.6 + 0.05 * seed + slope * s["others"] / 100))

    assert claim.judge(rows(-0.2)).outcome is Outcome.HOLDS
    assert claim.judge(rows(0.2)).outcome is Outcome.CONTRADICTED
    assert claim.judge(rows(0.0)).outcome is Outcome.FAILS


def test_lemmas_rule() -> None:
    claim = claim_of("bo-lemmas")
    good = {
        "rank_share": 1.0,
        "tail_over_bound": 2.0,
        "rarely_active": 0.0,
        "preference": 50.0,
        "scale_factor": 0.3,
        "balance": 3.0,
        "largest_constant": 1.0,
        "preference_of_pairs": 20.0,
        "largest_over_bound": 0.5,
        "rate_over_stated": 1.0,
        "mean_loss_over_bound": 0.5,
        "bound_at_end": 0.1,
        "start_loss": 0.7,
        "times": [10.0, 20.0, 50.0],
        "times_over_bound": 0.01,
        "reached": True,
    }
    assert claim.judge(graded(claim, lambda s, seed: good)).outcome is Outcome.HOLDS
    with_m = graded(claim, lambda s, seed: {**good, "scale_factor": 0.3 * s["width"]})
    assert "6 scale, without the factor m" in claim.judge(with_m).numbers["missed"]
    with_width = graded(claim, lambda s, seed: {**good, "largest_over_bound": s["width"] ** 0.5})
    assert claim.judge(with_width).numbers["missed"] == ["3 largest singular value"]
    for key, value in (
        ("rank_share", 0.5),
        ("tail_over_bound", 0.5),
        ("rarely_active", 0.05),
        ("balance", 1e4),
        ("preference_of_pairs", 2.0),
        ("rate_over_stated", 0.01),
        ("mean_loss_over_bound", 2.0),
        ("bound_at_end", 5.0),
        ("times", [10.0, 14.0, 22.0]),
        ("times_over_bound", 3.0),
    ):
        bad = claim.judge(graded(claim, lambda s, seed, key=key, value=value: {**good, key: value}))
        assert bad.outcome is Outcome.PARTLY


def test_homogeneous_rule() -> None:
    claim = claim_of("bo-homogeneous")

    def rows(power):
        return graded(
            claim,
            lambda s, seed: {"accuracy": 0.5 + 0.5 / (1 + (0.3 / (s["feature_norm"] ** 4 * power(s) + 1e-12)) ** 0.7)},
        )

    assert claim.judge(rows(lambda s: s["per_class"] / s["dimension"])).outcome is Outcome.HOLDS
    assert claim.judge(rows(lambda s: 1 / 20)).outcome is not Outcome.HOLDS
    assert claim.judge(rows(lambda s: 0.0)).outcome is Outcome.FAILS


def test_image_rules() -> None:
    noise, influence, shapes = map(claim_of, ("bo-noise-matrix", "bo-influence", "bo-shapes"))
    eye = np.eye(4, dtype=bool)

    def matrix(off):
        return {
            key: np.where(eye, 1.0, off * factor).tolist()
            for key, factor in (("ratios", 1), ("low", 0.8), ("high", 1.2))
        }

    for off, outcome in (
        (30.0, Outcome.HOLDS),
        (3.0, Outcome.PARTLY),
        (1.0, Outcome.FAILS),
        (0.3, Outcome.CONTRADICTED),
    ):
        assert noise.judge(graded(noise, lambda s, seed, off=off: matrix(off))).outcome is outcome

    def table(high, low):
        part = {"high": [high, high + 0.1, high - 0.1], "middle": [1.0] * 3, "low": [low, low - 0.1, low + 0.05]}
        names = importlib.import_module("lopsided.papers.bo.bo_influence").MEASURES
        return {"table": dict.fromkeys(names, part), "extremes": []}

    for high, low, outcome in ((2, 1, Outcome.HOLDS), (1, 2, Outcome.CONTRADICTED), (1, 1, Outcome.FAILS)):
        assert influence.judge(graded(influence, lambda s, seed, a=high, b=low: table(a, b))).outcome is outcome
    for off, outcome in ((0.3, Outcome.HOLDS), (0.9, Outcome.FAILS), (1.2, Outcome.CONTRADICTED)):
        cosines = np.where(eye, 0.9, off).tolist()
        assert shapes.judge(graded(shapes, lambda s, seed, c=cosines: {"cosines": c})).outcome is outcome
