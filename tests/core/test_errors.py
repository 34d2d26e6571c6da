"""Errors as one sentence, whatever came."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lopsided
import torch
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


def test_there_is_a_third_part_only_where_there_is_something_to_do() -> None:
    assert str(InputError("a number", "x")) == "Expected a number, but got x."
    assert str(InputError("a number", "x", "give one")) == "Expected a number, but got x; give one."


def test_a_missing_package_survives_too() -> None:
    error = MissingPackage("torch", "networks", "torch")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("name", ["relu", None, 3, np.array(["sigmoid", "tanh"]), ["sigmoid"]])
def test_an_activation_is_a_name(name) -> None:
    with pytest.raises(InputError, match="sigmoid"):
        check_activation(name)
    assert [check_activation(known) for known in ACTIVATIONS] == list(ACTIVATIONS)


def test_a_misspelt_name_gets_the_nearest_one() -> None:
    assert name_one_of(["Fraud", "amount"], "frod") == "did you mean 'Fraud'?"
    assert name_one_of(["Fraud", "amount"], "zzz") == ""
    assert name_one_of([], "anything") == ""


class _Raises:
    def __array__(self, *wanted: object, **more: object) -> None:
        raise RuntimeError("boom")


@pytest.mark.parametrize(
    "call",
    [
        lambda: lopsided.audit(features=np.eye(4), labels=[0, 1, 0, 1], checks=3),
        lambda: lopsided.audit(features=torch.eye(4).to_sparse(), labels=[0, 1, 0, 1]),
        lambda: lopsided.audit(features=torch.empty(4, 4, device="meta"), labels=[0, 1, 0, 1]),
        lambda: lopsided.audit(features=_Raises(), labels=[0, 1, 0, 1]),
        lambda: lopsided.score(np.eye(4), _Raises()),
        lambda: lopsided.reproduce(None),
        lambda: lopsided.reproduce([3]),
        lambda: lopsided.reproduce(papers=3),
        lambda: lopsided.skill(only=3),
        lambda: lopsided.skill(only="zz"),
        lambda: lopsided.skill(index=3),
    ],
)
def test_foreign_errors_become_sentences(call: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "[" + "a." * 100_000 + "b]",
        "x = {" + '"a" . ' * 100_000 + "b = 1}",
        "a=" + "{b=" * 100_000,
    ],
)
def test_brackets_without_end_are_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text)
    with pytest.raises(InputError, match="nested too deeply"):
        lopsided.mixture(tmp_path / "deep.toml", 10)


def test_costs_nested_without_end_are_one_sentence() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        lopsided.plan(np.eye(4), labels=[0, 1, 0, 1], metric="cost", costs="[" * 100_000)
