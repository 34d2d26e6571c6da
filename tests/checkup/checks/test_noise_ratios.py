"""The constants by which a class is said to overfit are what the fit in the tree gives."""

from dataclasses import asdict

import pytest
from bench.laws.overfitting_fit import fitted, held_to_account

from lopsided.checkup.checks.noise_ratios import CONSTANTS


def test_the_committed_constants_are_what_the_fit_gives() -> None:
    found, errors = fitted()
    assert asdict(found) == pytest.approx(asdict(CONSTANTS), rel=0.005)  # three digits are written down
    assert errors["c3"] == 0.0  # the limit of a harmful loss is chosen, not fitted


def test_fresh_seeds_keep_what_the_constants_promise() -> None:
    kept = held_to_account(CONSTANTS).share_kept()
    assert kept is not None
    assert kept >= 0.9  # the share that the rule of bo-phase asks for
