"""What a plan's remedies are in PyTorch, against what they are in NumPy and scikit-learn."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from lopsided.core.errors import InputError
from lopsided.remedies.contract import torch_form
from lopsided.remedies.noisy_oversampling import NoisyOversampling
from lopsided.remedies.oversampling import Oversampling
from tests.remedies.test_contract import REMEDIES, TRAINING, named

torch = pytest.importorskip("torch")
from lopsided.torch import OversamplingSampler  # noqa: E402 - needs torch
from lopsided.torch.remedies import forms  # noqa: E402


@pytest.mark.parametrize("remedy", named(REMEDIES[1:]))  # plain training needs none
def test_every_remedy_has_a_form_or_says_where_to_go(remedy) -> None:
    if torch_form.dispatch(type(remedy)) is not torch_form.dispatch(object):
        assert torch_form(remedy, TRAINING) is not None
        return
    assert not remedy.needs_network  # it is trained with its form
    with pytest.raises(InputError, match=re.escape(f"{remedy.name!r}; {remedy.without_form}")):
        torch_form(remedy, TRAINING)


@pytest.mark.parametrize("remedy", named([remedy for remedy in REMEDIES if isinstance(remedy, Oversampling)]))
def test_samplers_show_the_rows_of_the_remedy(remedy) -> None:
    sampler = torch_form(remedy, TRAINING, seed=4)
    assert isinstance(sampler, OversamplingSampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        assert list(sampler) == remedy.epoch_indices(TRAINING, 4, epoch).tolist()
    assert len(sampler) == remedy.epoch_indices(TRAINING, 4).size


@pytest.mark.parametrize("name", ["oversampling", "group weights"])
def test_shards_of_several_processes_are_one_epoch(name) -> None:
    remedy = next(remedy for remedy in REMEDIES if remedy.name == name)
    shards = []
    for rank in range(2):
        sampler = torch_form(remedy, TRAINING, seed=4)
        sampler._place = 2, rank
        shards.append(list(sampler))
    whole = remedy.epoch_indices(TRAINING, 4, 0).tolist()
    together = [row for pair in zip(*shards, strict=True) for row in pair]
    assert together[: len(whole)] == whole
    assert len(together) - len(whole) < 2


def test_noise_is_not_lost() -> None:
    """The share of examples that move is that of copies, their deviation that of the class times the noise; in eval
    mode nothing moves."""
    remedy = NoisyOversampling({"rare": 4.0}, noise=0.5)
    sampler = torch_form(remedy, TRAINING, seed=1)
    inputs = torch.zeros(6000, 3)
    for code, share in ((0, 0.0), (2, 0.75)):
        moved = sampler.noise(inputs, torch.full((6000,), code))
        changed = (moved != 0).any(dim=1)
        # three standard errors of a share of 6000
        assert abs(float(changed.double().mean()) - share) < 3 * np.sqrt(share * (1 - share) / 6000) + 1e-9
        if share:
            spread = TRAINING.features[TRAINING.classes.codes == code].std(axis=0)
            # 4500 draws: a deviation is known to 1/sqrt(9000) = 1.1 percent; three of those and a little
            np.testing.assert_allclose(moved[changed].std(dim=0).numpy(), 0.5 * spread, rtol=0.04)
    sampler.noise.eval()
    assert torch.equal(sampler.noise(inputs, torch.full((6000,), 2)), inputs)
    pictures = torch.zeros(5, 1, 3, 1)
    noise = forms.CopyNoise(np.ones((3, 3)), np.ones(3))
    assert noise(pictures, torch.zeros(5, dtype=torch.long)).shape == (5, 1, 3, 1)
    with pytest.raises(InputError, match="3 features"):
        noise(torch.zeros(5, 4), torch.zeros(5, dtype=torch.long))


@pytest.mark.parametrize("kind", ["array", "frame", "sparse"])
def test_noise_of_the_export_is_that_of_the_trial(kind) -> None:
    """Its scale are the deviations that copies are drawn with, also with missing values and in other containers."""
    features = np.where(np.arange(720).reshape(240, 3) % 7 == 3, np.nan if kind != "sparse" else 0.0, TRAINING.features)
    make = {"array": np.asarray, "frame": pd.DataFrame, "sparse": csr_array}[kind]
    training = TRAINING.with_features(make(features))
    remedy = NoisyOversampling({"rare": 4.0}, noise=0.5)
    rare = features[TRAINING.classes.codes == 2]
    noise = torch_form(remedy, training).noise
    # float32; nanstd divides by the number of values, as the trial does
    np.testing.assert_allclose(noise.deviations[2].numpy(), 0.5 * np.nanstd(rare, axis=0), rtol=1e-6)
    drawn = remedy.draw(training, 0)
    copies = np.concatenate([[False], drawn.rows[1:] == drawn.rows[:-1]])
    found = np.asarray(drawn.features.toarray() if kind == "sparse" else drawn.features)
    added = found[copies] - features[drawn.rows[copies] // 2]
    # 90 copies, a seventh of them without a value: a deviation is known to 1/sqrt(150) = 8 percent; three of those
    np.testing.assert_allclose(np.nanstd(added, axis=0), noise.deviations[2].numpy(), rtol=0.25)


def test_noise_on_columns_of_text_is_refused_in_a_sentence() -> None:
    table = pd.DataFrame(TRAINING.features).assign(town="here")
    with pytest.raises(InputError, match="table of numbers for noise in PyTorch, but got 3 of 4 columns"):
        torch_form(NoisyOversampling({"rare": 4.0}), TRAINING.with_features(table))


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_class_weight_counts_fully_in_a_batch_of_any_classes(scale) -> None:
    """The mean of the examples' weights times their cross entropies, with the weights of the trial: they have mean 1
    over the training rows, whatever the scale of those given."""
    given = next(remedy for remedy in REMEDIES if remedy.name == "class weights")
    remedy = type(given)({name: scale * weight for name, weight in given.class_weights.items()})
    loss, weights, codes = torch_form(remedy, TRAINING), remedy.example_weights(TRAINING), TRAINING.classes.codes
    logits = np.random.default_rng(0).standard_normal((codes.size, 3))
    each = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(codes.size), codes]
    for batch in (np.arange(codes.size), np.array([codes.size - 1]), np.array([0, 200, 1, 239])):
        found = loss(torch.tensor(logits[batch]), torch.tensor(codes[batch]))
        assert float(found) == pytest.approx((weights * each)[batch].mean(), rel=1e-6)  # weights are float32


def test_losses_and_layers_carry_the_numbers() -> None:
    by_name = {remedy.name: remedy for remedy in REMEDIES}
    for name in ("logit adjustment", "threshold moving"):
        layer = torch_form(by_name[name], TRAINING)
        np.testing.assert_allclose(layer(torch.zeros(1, 3))[0], by_name[name].class_offsets(TRAINING), atol=1e-6)
        assert not any(parameter.requires_grad for parameter in layer.parameters())
    for name, words in (("group DRO", "GroupDROLoss"), ("collect class rare", "collect the examples first")):
        with pytest.raises(InputError, match=words):
            torch_form(by_name[name], TRAINING)
