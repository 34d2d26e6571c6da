"""Labels that are many numbers and hardly repeat: the question whether those are classes, and its boundary."""

import numpy as np
import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.core.validation import FEW_CLASSES, ROWS_PER_VALUE, check_classes, check_labels

SOURCE = np.random.default_rng(0)


def asked(values) -> bool:
    try:
        check_classes(values, len(check_labels(values)[1]))
    except InputError:
        return True
    return False


def test_measurements_and_identifiers_are_asked_about() -> None:
    amounts = SOURCE.lognormal(8, 0.8, 1000).astype(int)  # as German credit's, 921 values in 1,000 rows
    assert asked(amounts)
    assert asked(amounts.astype(float))
    assert asked(amounts.astype(object))
    assert asked(np.arange(1000))
    assert asked(SOURCE.permutation(1000) + 10**6)


def test_classes_are_not() -> None:
    long_tail = np.maximum(1, (1000 / (1 + np.arange(8142)) ** 0.7)).astype(int)
    assert not asked(np.repeat(np.arange(8142), long_tail))
    assert not asked(np.repeat(7 * np.arange(8142), ROWS_PER_VALUE))  # codes with gaps, which repeat
    assert not asked(np.concatenate([np.arange(5749), np.arange(1680)]))  # faces, most of them once
    assert not asked(np.array([f"name {k}" for k in range(900)]))  # words are names
    assert not asked(10 * np.arange(FEW_CLASSES))


def test_the_boundary() -> None:
    values = 10 * np.arange(FEW_CLASSES + 1)
    assert asked(values)
    assert asked(np.repeat(values, ROWS_PER_VALUE)[1:])
    assert not asked(np.repeat(values, ROWS_PER_VALUE))


@pytest.mark.parametrize("name", ["audit", "plan", "trial", "score"])
def test_every_command_asks_and_can_be_told(tmp_path, capsys, monkeypatch, name) -> None:
    monkeypatch.chdir(tmp_path)
    rows = SOURCE.normal(size=(120, 2))
    np.savez("d.npz", features=rows, amount=10 * np.repeat(np.arange(60), 2))
    assert main([name, "d.npz", "--labels", "amount"]) == 2
    assert "60 different numbers in 120 rows" in capsys.readouterr().err
    with pytest.raises(InputError, match="many_classes"):
        getattr(lopsided, name)("d.npz", labels="amount")
    if name in ("audit", "score"):
        more = ["--checks", "counts", "--no-report"] if name == "audit" else []
        assert main([name, "d.npz", "--labels", "amount", "--many-classes", *more]) == 0
