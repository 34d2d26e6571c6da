"""Rows that simple rules can compare, and samples of them in which no class is forgotten."""

import numpy as np
import pytest

import torch
from lopsided.skill.small_networks import halved
from lopsided.torch import comparable_rows
from lopsided.torch.comparable_rows import RowSample, comparable, model_inputs


@pytest.mark.parametrize(("side", "left"), [(8, 8), (27, 27), (28, 14), (32, 16), (64, 16), (224, 16)])
def test_pictures_keep_14_to_28_pixels_a_side(side: int, left: int) -> None:
    pictures = torch.rand(3, 2, side, side)
    found = comparable(pictures)
    assert found.shape == (3, 2 * left * left)
    if side <= 32:  # as the networks of the skill benchmark are shown them
        assert found.numpy() == pytest.approx(halved(pictures.numpy()).reshape(3, -1), abs=1e-6)
    assert float(found.mean()) == pytest.approx(float(pictures.mean()), abs=1e-5)  # float32 means of float32 means


def test_bytes_are_pictures_and_numbers_stay_as_they_are() -> None:
    assert comparable(torch.full((2, 3, 8, 8), 200, dtype=torch.uint8)).unique().tolist() == [200.0]
    table = torch.rand(4, 7, dtype=torch.float64)
    assert comparable(table).numpy() == pytest.approx(table.numpy(), rel=1e-7)


def test_tokens_are_counted_and_padding_once() -> None:
    short, longer = torch.tensor([[5, 6, 5, 0, 0, 0]]), torch.tensor([[0, 0, 0, 0, 5, 6, 5]])
    found = comparable(short)
    assert found.nonzero()[:, 1].tolist() == [0, 5, 6]
    assert found[0, [0, 5, 6]].tolist() == [1.0, 2.0, 1.0]
    assert torch.equal(found, comparable(longer))


def test_many_columns_keep_their_distances() -> None:
    rows = torch.randn(30, 20_000, generator=torch.Generator().manual_seed(0))
    small = comparable(rows)
    assert small.shape == (30, comparable_rows.MOST_COLUMNS)
    # the relative error of a squared distance has deviation sqrt(2 / 2048) = 0.03, and there are 435 of them
    assert torch.pdist(small).numpy() == pytest.approx(torch.pdist(rows).numpy(), rel=4 * 0.03 / 2)


def test_a_sample_has_every_class_in_its_share(monkeypatch) -> None:
    monkeypatch.setattr(comparable_rows, "MOST_ROWS", 100)
    random = np.random.default_rng(0)
    codes = random.permutation(np.repeat(np.arange(4), [600, 300, 60, 1]))
    rows = torch.from_numpy(random.normal(size=(codes.size, 2)) + codes[:, None])
    samples = []
    for size in (codes.size, 50, 7):
        sample = RowSample()
        for part in range(0, codes.size, size):
            sample.add([rows[part : part + size]], codes[part : part + size])
        samples.append(sample)
        assert sample.counts.tolist() == [600, 300, 60, 1]
    found, own = samples[0].taken()
    assert 80 - 4 <= own.size <= 100  # the share falls by a fifth at a time
    kept = np.bincount(own)
    # multiples of the golden ratio are spread so evenly that of n a share has n times the share but for few
    assert kept.tolist() == pytest.approx(np.array([600, 300, 60, 1]) * own.size / 961, abs=3)
    assert kept[3] == 1
    assert found[:, 0].mean() == pytest.approx(np.mean(codes), abs=0.5)  # 4 errors of the mean
    for sample in samples[1:]:  # the same rows, however they come
        again, codes_again = sample.taken()
        assert np.array_equal(again, found)
        assert np.array_equal(codes_again, own)


def test_more_classes_than_rows_keep_one_each(monkeypatch) -> None:
    monkeypatch.setattr(comparable_rows, "MOST_ROWS", 10)
    sample = RowSample()
    sample.add([torch.arange(60.0)[:, None]], np.arange(60) % 30)
    assert np.bincount(sample.taken()[1]).tolist() == [1] * 30


def test_what_a_model_is_given() -> None:
    rows, ids, labels = torch.rand(4, 3), torch.ones(4, 5, dtype=torch.int64), torch.arange(4)
    found = model_inputs(
        (rows, 3), {"ids": ids, "attention_mask": ids, "labels": labels, "scale": torch.ones(2)}, "labels"
    )
    assert len(found) == 2
    assert found[0] is rows
    assert found[1] is ids
    assert model_inputs((), {}, None) == []
