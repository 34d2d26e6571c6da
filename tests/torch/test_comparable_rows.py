"""Rows that simple rules can compare, and samples of them in which no class is forgotten."""

import numpy as np
import pytest

import torch
from lopsided.torch import comparable_rows
from lopsided.torch.comparable_rows import MOST_COLUMNS, IncomparableError, InputForm, RowSample, model_inputs


def comparable(inputs: torch.Tensor, columns: int = MOST_COLUMNS, embeddings: int = 0) -> torch.Tensor:
    return InputForm(inputs, columns, embeddings).rows(inputs)


@pytest.mark.parametrize(
    ("shape", "left"),
    [
        ((1, 14, 14), 196),
        ((1, 28, 28), 196),  # 14 x 14
        ((3, 32, 32), 192),  # 8 x 8
        ((3, 224, 224), 147),  # 7 x 7
        ((224, 224, 3), 147),
        ((1, 45, 45), 144),  # 12 x 12 of unequal squares
        ((1, 160_000), 157),  # a long signal
        ((2, 1, 20, 20), 200),  # a film
    ],
)
def test_pictures_are_means_over_neighbours(shape, left) -> None:
    pictures = torch.rand(3, *shape)
    found = comparable(pictures)
    assert found.shape == (3, left)
    # means of float32 means; unequal squares weigh their pixels unequally
    tolerance = 1e-5 if 45 not in shape and 160_000 not in shape else 0.02
    assert found.mean(dim=1).numpy() == pytest.approx(pictures.flatten(1).mean(dim=1).numpy(), abs=tolerance)
    if shape == (3, 32, 32):
        squares = torch.nn.functional.avg_pool2d(pictures, 4).flatten(1)
        assert found.numpy() == pytest.approx(squares.numpy(), abs=1e-6)


def test_bytes_are_pictures_and_numbers_stay_as_they_are() -> None:
    assert comparable(torch.full((2, 3, 8, 8), 200, dtype=torch.uint8)).unique().tolist() == [200.0]
    table = torch.rand(4, 7, dtype=torch.float64)
    assert comparable(table).numpy() == pytest.approx(table.numpy(), rel=1e-7)
    waves = torch.complex(table, 2 * table)
    assert comparable(waves).shape == (4, 14)  # both parts


def test_tokens_are_counted_and_padding_once() -> None:
    short, longer = torch.tensor([[5, 6, 5, 0, 0, 0]]), torch.tensor([[0, 0, 0, 0, 5, 6, 5]])
    found = comparable(short, embeddings=1)
    assert found.nonzero()[:, 1].tolist() == [0, 5, 6]
    assert found[0, [0, 5, 6]].tolist() == [1.0, 2.0, 1.0]
    assert torch.equal(found, comparable(longer, embeddings=1))


def test_categories_keep_their_columns() -> None:
    """Two rows with the same values in other columns are as far from each other as rows without a common one."""
    table = torch.tensor([[1, 2, 3], [2, 3, 1], [1, 2, 4]])
    found = comparable(table, embeddings=3)
    distances = torch.cdist(found, found).square()
    assert distances[0].tolist() == pytest.approx([0, 6, 2], abs=1e-5)  # float32


def test_the_model_tells_what_whole_numbers_are() -> None:
    table = torch.randint(0, 20, (30, 6))
    codes = np.zeros(30, dtype=np.int64)
    found = {}
    for many in (0, 1, 6):
        sample = RowSample(torch.nn.ModuleList(torch.nn.Embedding(20, 2) for _ in range(many)))
        sample.add([table], codes)
        found[many] = sample.taken()[0]
    assert np.array_equal(found[0], table.numpy())  # pixels, or counts
    assert found[1].sum() < 30 * 6  # tokens: runs count once
    assert found[6].sum() == 30 * 6  # one value in each column


def test_many_columns_keep_their_distances() -> None:
    rows = torch.randn(30, 20_000, generator=torch.Generator().manual_seed(0))
    small = comparable(rows)
    assert small.shape == (30, MOST_COLUMNS)
    # the relative error of a squared distance has deviation sqrt(2 / 256) = 0.09, and there are 435 of them
    assert torch.pdist(small).numpy() == pytest.approx(torch.pdist(rows).numpy(), rel=4 * 0.09 / 2)


def sampled(*batches: torch.Tensor) -> np.ndarray:
    sample = RowSample()
    for batch in batches:
        sample.add([batch], np.zeros(len(batch), dtype=np.int64))
    return sample.taken()[0]


def test_inputs_of_varying_size_are_brought_to_that_of_the_first() -> None:
    parts = [torch.rand(4, 1, length) + 1 for length in (200, 260, 120)]
    found = sampled(*parts)
    assert found.shape[0] == 12
    assert found.mean() == pytest.approx(1.5, abs=0.05)
    assert sampled(torch.rand(2, 3, 64, 64), torch.rand(2, 3, 48, 80)).shape == (4, 192)
    with pytest.raises(IncomparableError, match="numbers of axes"):
        sampled(torch.rand(2, 5), torch.rand(2, 5, 5))
    sample = RowSample()
    sample.add([torch.rand(2, 5)], np.zeros(2, dtype=np.int64))
    with pytest.raises(IncomparableError, match="a different number of inputs"):
        sample.add([torch.rand(2, 5), torch.rand(2, 5)], np.zeros(2, dtype=np.int64))


def test_columns_of_unlike_units_are_scaled() -> None:
    rows = torch.randn(50, 4)
    as_they_are = sampled(rows)
    assert np.array_equal(as_they_are, rows.numpy())
    income = sampled(rows * torch.tensor([1.0, 1.0, 1.0, 1e5]))
    assert income.std(axis=0) == pytest.approx([1.0] * 4, rel=1e-5)  # float32
    several = RowSample()
    several.add([rows, rows * 1e4], np.zeros(50, dtype=np.int64))
    found = several.taken()[0]
    assert found[:, :4] == pytest.approx(found[:, 4:], rel=1e-5)


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


def test_what_has_no_rows_is_left_out() -> None:
    rows = torch.rand(4, 3)
    others = {
        "graph": torch.eye(4).to_sparse(),
        "lengths": torch.nested.nested_tensor([torch.ones(2)] * 4, layout=torch.jagged),
        "shape": torch.zeros(4, 2, device="meta"),
        "target": torch.arange(4),
        "seen": torch.ones(4, dtype=torch.bool),
    }
    assert [id(one) for one in model_inputs((rows,), others, None)] == [id(rows)]
    given = model_inputs(({"x": rows, "labels": torch.arange(4)}, [rows]), {}, None)
    assert [id(one) for one in given] == [id(rows)] * 2
    flags = torch.ones(4, 9, dtype=torch.bool)
    assert model_inputs((flags,), {}, None)[0] is flags  # the only inputs are no mask
