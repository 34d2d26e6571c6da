"""The PyTorch sampler: the indices of the plan, epochs, shards, data sets, wrappers and trainers."""

import warnings
from collections import Counter

import numpy as np
import pytest
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split
from torch.utils.data.distributed import DistributedSampler

import torch
from lopsided.core.errors import InputError
from lopsided.remedies.resampling import resampling_plan
from lopsided.torch import OversamplingSampler, check_loader, dataset_labels

LABELS = np.repeat([0, 1, 2], [60, 20, 5])


def test_indices_are_those_of_the_plan() -> None:
    sampler = OversamplingSampler(LABELS, rate={1: 2.5, 2: 4}, seed=3)
    plan = resampling_plan(LABELS, np.array([1, 2.5, 4]))
    assert list(sampler) == plan.indices(3, 0).tolist()
    assert len(sampler) == 60 + 50 + 20
    assert all(type(index) is int for index in sampler)


def test_every_pass_is_a_new_epoch_and_set_epoch_repeats_one() -> None:
    sampler = OversamplingSampler(LABELS, rate="balanced")
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.set_epoch(1)
    assert list(sampler) == second
    assert list(sampler) == list(OversamplingSampler(LABELS, rate="balanced").epoch_indices(2))
    resumed = OversamplingSampler(LABELS, rate="balanced")
    resumed.load_state_dict({"seed": 0, "epoch": 1})
    assert list(resumed) == second
    assert resumed.state_dict() == {"seed": 0, "epoch": 1}
    with pytest.raises(InputError, match="that seed"):
        resumed.load_state_dict({"seed": 7, "epoch": 1})


def test_rate_one_is_a_plain_shuffle() -> None:
    assert sorted(OversamplingSampler(LABELS, rate=1)) == list(range(85))


def test_relabelling_the_classes_relabels_nothing_else() -> None:
    names = np.array(["a", "b", "c"])
    assert list(OversamplingSampler(LABELS, rate=3)) == list(OversamplingSampler(names[LABELS], rate=3))


@pytest.mark.parametrize("replicas", [2, 3, 7, 200])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shards_are_disjoint_and_complete(replicas, drop_last) -> None:
    whole = OversamplingSampler(LABELS, rate="sqrt", seed=1).epoch_indices(5)
    shards = []
    for rank in range(replicas):
        sampler = OversamplingSampler(
            LABELS, rate="sqrt", seed=1, num_replicas=replicas, rank=rank, drop_last=drop_last
        )
        sampler.set_epoch(5)
        shards.append(list(sampler))
        assert len(shards[-1]) == len(sampler)
    assert len({len(shard) for shard in shards}) == 1
    # the same as PyTorch's own distributed sampler makes of a data set that holds the epoch's indices
    for rank, shard in enumerate(shards):
        peer = DistributedSampler(whole, num_replicas=replicas, rank=rank, shuffle=False, drop_last=drop_last)
        if drop_last and len(whole) % replicas:
            assert shard == whole[rank::replicas][: len(whole) // replicas].tolist()
        else:
            assert shard == whole[list(peer)].tolist()
    together = Counter(index for shard in shards for index in shard)
    extra = together - Counter(whole.tolist())
    missing = Counter(whole.tolist()) - together
    if drop_last:
        assert not extra
        assert missing.total() == len(whole) % replicas
    else:
        assert not missing
        assert extra.total() == -len(whole) % replicas


def test_a_second_pass_over_one_epoch_is_said_under_ddp() -> None:
    sampler = OversamplingSampler(LABELS, rate=2, num_replicas=2, rank=0)
    first = list(sampler)
    with pytest.warns(UserWarning, match="call set_epoch"):
        assert list(sampler) == first
    sampler.set_epoch(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(sampler) != first


class Wrapped(Dataset):
    """A data set of the torchvision kind."""

    def __init__(self, labels):
        self.targets = labels.tolist()

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        raise AssertionError("no example is loaded to find labels")


def test_labels_of_subset_and_concat() -> None:
    data = Wrapped(LABELS)
    np.testing.assert_array_equal(dataset_labels(data), LABELS)
    chosen = Subset(Subset(data, list(range(50, 85))), [0, 12, 34])
    np.testing.assert_array_equal(dataset_labels(chosen), [0, 1, 2])
    joined = ConcatDataset([chosen, TensorDataset(torch.zeros(2, 4), torch.tensor([7, 8]))])
    np.testing.assert_array_equal(dataset_labels(joined), [0, 1, 2, 7, 8])
    part, _ = random_split(data, [40, 45], generator=torch.Generator().manual_seed(0))
    np.testing.assert_array_equal(dataset_labels(part), LABELS[part.indices])
    # the sampler gives positions in the subset, which is what a loader wants
    sampler = OversamplingSampler(joined, rate="balanced")
    assert max(sampler) == 4


def test_labels_are_those_after_the_target_transform() -> None:
    """torchvision's data sets keep the labels of the files in `targets`, and give others."""
    data = Wrapped(np.array([3, 5, 3, 9, 5, 3]))
    data.target_transform = {3: 0, 5: 1, 9: 1}.__getitem__
    np.testing.assert_array_equal(dataset_labels(data), [0, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(dataset_labels(Subset(data, [3, 0])), [1, 0])
    assert OversamplingSampler(data, rate="balanced").rates.counts.tolist() == [3, 3]
    data.target_transform = None
    np.testing.assert_array_equal(dataset_labels(data), [3, 5, 3, 9, 5, 3])


def test_a_data_set_without_labels_gets_a_sentence() -> None:
    class Bare(Dataset):
        def __len__(self):
            return 3

    with pytest.raises(InputError, match="give the labels themselves"):
        dataset_labels(Bare())
    short = Bare()
    short.y = [1, 2]
    with pytest.raises(InputError, match="3 labels"):
        dataset_labels(short)


def test_hugging_face_columns() -> None:
    class Table(Dataset):
        column_names = ("text", "label")

        def __len__(self):
            return 3

        def __getitem__(self, key):
            return [0, 1, 1] if key == "label" else None

    np.testing.assert_array_equal(dataset_labels(Table()), [0, 1, 1])


def test_tensors_and_groups() -> None:
    groups = torch.arange(85) % 2
    sampler = OversamplingSampler(torch.tensor(LABELS), groups, "balanced")
    counts = Counter((int(LABELS[index]), int(index % 2)) for index in sampler)
    assert set(counts.values()) == {30}
    assert sampler.rates.names[0] == "0 | 0"
    assert list(OversamplingSampler([torch.tensor(0), torch.tensor(1)], rate=1).rates.names) == ["0", "1"]


def test_the_default_is_the_square_root_and_a_recipe_asks_for_the_forecast() -> None:
    assert list(OversamplingSampler(LABELS)) == list(OversamplingSampler(LABELS, rate="sqrt"))
    recipe = {"weight_decay": 5e-3, "step": 0.1, "momentum": 0.9, "batch_size": 64}
    assert OversamplingSampler(LABELS, recipe=recipe).rates.rule == "forecast"


@pytest.mark.parametrize("length", [3, 10, 85, 1000])
def test_an_epoch_has_the_length_that_is_asked_for(length) -> None:
    sampler = OversamplingSampler(LABELS, rate="balanced", length=length)
    shown = np.bincount(LABELS[list(sampler)], minlength=3)
    assert shown.sum() == len(sampler) == length
    assert shown.max() - shown.min() <= 1  # equal shares to within one index
    np.testing.assert_allclose(sampler.rates.effective_counts, shown)
    halves = [OversamplingSampler(LABELS, length=length, num_replicas=2, rank=rank) for rank in (0, 1)]
    assert {len(half) for half in halves} == {-(-length // 2)}


def test_forecast_by_the_survival_law() -> None:
    recipe = {"weight_decay": 5e-3, "step": 0.1, "momentum": 0.9, "batch_size": 64}
    sampler = OversamplingSampler(np.repeat(np.arange(10), [500] * 5 + [5] * 5), recipe=recipe)
    assert "merging law" in sampler.rates.why
    assert sampler.rates.rates[9] > 1


def test_a_wrapper_that_shards_again_is_refused() -> None:
    from accelerate.data_loader import BatchSamplerShard
    from lightning.fabric.utilities.distributed import DistributedSamplerWrapper

    sharded = OversamplingSampler(LABELS, rate=2, num_replicas=2, rank=0)
    with pytest.raises(InputError, match="inside DistributedSamplerWrapper"):
        list(DistributedSamplerWrapper(sharded, num_replicas=2, rank=0, shuffle=False))
    with pytest.raises(InputError, match="inside BatchSamplerShard"):
        list(BatchSamplerShard(BatchSampler(sharded, 4, drop_last=False), 2, 0))
    batches = [
        list(BatchSamplerShard(BatchSampler(OversamplingSampler(LABELS, rate=2, shard=False), 5, False), 2, rank))
        for rank in range(2)
    ]
    whole = OversamplingSampler(LABELS, rate=2).epoch_indices(0).tolist()
    assert sorted(index for part in batches for batch in part for index in batch) == sorted(whole)


def test_a_loader_that_draws_from_something_else_is_refused() -> None:
    data = TensorDataset(torch.zeros(85, 2), torch.tensor(LABELS))
    sampler = OversamplingSampler(data, rate=2)
    assert check_loader(DataLoader(data, batch_size=4, sampler=sampler)) is sampler
    assert check_loader(DataLoader(data, batch_sampler=BatchSampler(sampler, 4, False))) is sampler
    with pytest.raises(InputError, match="draws from RandomSampler"):
        check_loader(DataLoader(data, batch_size=4, shuffle=True))
    with pytest.raises(InputError, match="one for 85"):
        check_loader(DataLoader(Subset(data, range(10)), sampler=sampler))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_replicas": 2}, "give both"),
        ({"num_replicas": 2, "rank": 2}, "a rank below 2"),
        ({"seed": -1}, "seed"),
        ({"rate": 0}, "positive"),
        ({"length": 2}, "at least 3 indices"),
    ],
)
def test_mistakes_get_a_sentence(options, words) -> None:
    with pytest.raises(InputError, match=words):
        OversamplingSampler(LABELS, **({"rate": 2} | options))
    with pytest.raises(InputError):
        OversamplingSampler([], rate=2)
    with pytest.raises(InputError, match="groups"):
        OversamplingSampler(LABELS, [1, 2], rate=2)
