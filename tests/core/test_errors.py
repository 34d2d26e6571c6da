"""Errors as one sentence, whatever came."""

import pickle

import numpy as np
import pytest

from lopsided.core.activation import ACTIVATIONS, check_activation
from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.validation import name_one_of


@pytest.mark.parametrize(
    "got", [3, "two\nlines", np.array(-3.7803705e16, dtype=">f4"), np.arange(40).reshape(8, 5), None]
)
def test_a_sentence_survives_the_way_between_processes(got) -> None:
    error = InputError("one thing", got, "give that")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert "\n" not in str(error)


def test_a_missing_package_survives_too() -> None:
    error = MissingPackage("torch", "networks", "torch")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("name", ["relu", None, 3, np.array(["sigmoid", "tanh"]), ["sigmoid"]])
def test_an_activation_is_a_name(name) -> None:
    with pytest.raises(InputError, match="choose one of those"):
        check_activation(name)
    assert [check_activation(known) for known in ACTIVATIONS] == list(ACTIVATIONS)


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    assert name_one_of(["Fraud", "amount"], "frod") == "name one of those (did you mean 'Fraud'?)"
    assert name_one_of(["Fraud", "amount"], "zzz") == "name one of those"
    assert name_one_of([], "anything") == "name one of those"
