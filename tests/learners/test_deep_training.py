"""The training loop against torch.optim.SGD, its own interruption, and answers that need no training."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.functional import cross_entropy  # noqa: E402

from lopsided.core.errors import InputError  # noqa: E402
from lopsided.core.seeds import generator  # noqa: E402
from lopsided.learners.deep.networks import NETWORKS, build, hidden_layers  # noqa: E402
from lopsided.learners.deep.recipe import TrainingRecipe  # noqa: E402
from lopsided.learners.deep.training import train  # noqa: E402

RECIPE = TrainingRecipe(steps=23, batch_size=8, rate=0.05, weight_decay=1e-2)


@pytest.fixture(scope="module")
def data():
    stream = generator(0, "blobs")
    labels = np.repeat(np.arange(3), 20)
    centres = 2 * stream.standard_normal((3, 6))
    return (centres[labels] + stream.standard_normal((60, 6))).astype(np.float32), labels


def network(seed=0, name="mlp"):
    return build(name, (6,), 3, seed=seed, widths=(16, 8))


def bits(trained):
    return {name: tensor.numpy().tobytes() for name, tensor in trained.network.state_dict().items()}


def test_the_same_numbers_as_the_plain_loop(data) -> None:
    """torch.optim.SGD and MultiStepLR over the same batches."""
    trained = train(network(), *data, RECIPE, seed=3, threads=1)
    reference = network().train()
    optimiser = torch.optim.SGD(reference.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-2, foreach=False)
    rates = torch.optim.lr_scheduler.MultiStepLR(optimiser, [8, 16], gamma=0.1)  # 23/3 and 46/3, rounded up
    plain_loop(reference, optimiser, rates, *data)
    for name, tensor in reference.state_dict().items():
        # the products' kernel depends on where a buffer begins in memory: a rounding or so in each of 23 steps
        torch.testing.assert_close(trained.network.state_dict()[name], tensor, rtol=2e-5, atol=2e-6)
    assert trained.steps == 23
    assert [record.step for record in trained.history] == [7, 14, 21, 23]


def test_adamw_on_a_cosine_has_the_numbers_of_the_plain_loop(data) -> None:
    recipe = replace(RECIPE, optimiser="adamw", schedule="cosine", rate=3e-3, weight_decay=0.5)
    trained = train(network(), *data, recipe, seed=3, threads=1)
    reference = network().train()
    optimiser = torch.optim.AdamW(reference.parameters(), lr=3e-3, weight_decay=0.5, foreach=False)
    plain_loop(reference, optimiser, torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 23), *data)
    for name, tensor in reference.state_dict().items():
        # where a gradient is near 0, m / sqrt(v) turns a rounding of it into a change of order one of one step's 3e-3
        torch.testing.assert_close(trained.network.state_dict()[name], tensor, rtol=2e-3, atol=2e-4)


def plain_loop(reference, optimiser, rates, inputs, labels) -> None:
    """23 steps over the batches that `train` draws with seed 3."""
    step = epoch = 0
    while step < 23:
        order = generator(3, "order", epoch).permutation(60)
        for batch in np.split(order[:56], 7)[: 23 - step]:
            optimiser.zero_grad()
            chosen = torch.from_numpy(batch)
            loss = cross_entropy(reference(torch.from_numpy(inputs)[chosen]), torch.from_numpy(labels)[chosen])
            loss.backward()
            optimiser.step()
            rates.step()
            step += 1
        epoch += 1


def test_adamw_is_resumed_too(data, tmp_path) -> None:
    recipe = replace(RECIPE, optimiser="adamw", rate=3e-3)
    plain, file = train(network(), *data, recipe, seed=5), tmp_path / "run.safetensors"
    with pytest.raises(_Stop):
        train(network(), *data, recipe, seed=5, checkpoint=file, checkpoint_seconds=0, after_epoch=_stop_at(2))
    assert bits(train(network(), *data, recipe, seed=5, checkpoint=file)) == bits(plain)


def test_a_seed_decides_everything(data) -> None:
    first, second, other = (train(network(), *data, RECIPE, seed=seed) for seed in (1, 1, 2))
    assert bits(first) == bits(second)
    assert first.history == second.history
    assert bits(first) != bits(other)
    assert bits(train(network(1), *data, RECIPE, seed=1)) != bits(first)


class _Stop(Exception):
    pass


@pytest.mark.parametrize("stop_at", [1, 7, 12, 22])
def test_an_interrupted_run_ends_in_the_same_bits(data, tmp_path, stop_at) -> None:
    """Interrupted by Ctrl-C at a step in the middle or at the end of an epoch, resumed by a fresh network."""

    def noisy(batch, stream):
        return batch + 0.1 * torch.randn(batch.shape, generator=stream)

    plain = train(network(), *data, RECIPE, seed=5, transform=noisy)
    seen = []

    def interrupt(batch, stream):
        seen.append(1)
        if len(seen) == stop_at:
            os.kill(os.getpid(), signal.SIGINT)
        return noisy(batch, stream)

    file = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(network(), *data, RECIPE, seed=5, transform=interrupt, checkpoint=file)
    assert len(seen) == stop_at, "the interruption waits for the step at hand and for no other"
    resumed = train(network(9), *data, RECIPE, seed=5, transform=noisy, checkpoint=file)
    assert bits(resumed) == bits(plain)
    assert resumed.history == plain.history
    again = train(network(9), *data, RECIPE, seed=5, transform=noisy, checkpoint=file)  # finished: nothing left to do
    assert bits(again) == bits(plain)
    assert again.steps == 23


def test_dropout_is_resumed_too(data, tmp_path) -> None:
    def dropping():
        made = network()
        made.body.append(torch.nn.Dropout(0.5))
        return made

    plain = train(dropping(), *data, RECIPE, seed=5)
    file = tmp_path / "run.safetensors"
    with pytest.raises(_Stop):
        train(dropping(), *data, RECIPE, seed=5, checkpoint=file, checkpoint_seconds=0, after_epoch=_stop_at(2))
    resumed = train(dropping(), *data, RECIPE, seed=5, checkpoint=file)
    assert bits(resumed) == bits(plain)
    assert bits(plain) != bits(train(network(), *data, RECIPE, seed=5))


def _stop_at(epoch):
    def stop(done, net):
        if done == epoch:
            raise _Stop

    return stop


def test_a_checkpoint_of_another_run_is_refused(data, tmp_path) -> None:
    file = tmp_path / "run.safetensors"
    train(network(), *data, RECIPE, checkpoint=file)
    with pytest.raises(InputError, match="another recipe"):
        train(network(), *data, replace(RECIPE, rate=0.1), checkpoint=file)
    with pytest.raises(InputError, match="another recipe"):
        train(network(), data[0] + 1, data[1], RECIPE, checkpoint=file)
    file.write_bytes(b"\x80\x04nonsense")
    with pytest.raises(InputError, match="something else"):
        train(network(), *data, RECIPE, checkpoint=file)


def test_weights_equal_repetition(data) -> None:
    """Full batches: an example of weight 3 is an example listed three times."""
    inputs, labels = data
    recipe = TrainingRecipe(steps=5, batch_size=1000, anneal_at=())
    rates = np.where(labels == 0, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), rates.astype(int))
    weighted = train(network(name="mlp-plain"), inputs, labels, recipe, example_weights=rates)
    by_class = train(network(name="mlp-plain"), inputs, labels, recipe, class_weights=[6.0, 2.0, 2.0])
    listed = train(network(name="mlp-plain"), inputs, labels, recipe, order=lambda epoch: repeated)
    # float32 sums in another order, five steps of size 0.1
    np.testing.assert_allclose(weighted.classifier, listed.classifier, atol=2e-6)
    np.testing.assert_allclose(weighted.classifier, by_class.classifier, atol=2e-6)
    assert np.abs(weighted.classifier - train(network(name="mlp-plain"), *data, recipe).classifier).max() > 1e-3


def test_logit_adjustment_shifts_the_loss_only(data) -> None:
    """With logits + c in the loss the bias alone can take up c: a network trained so says f(x) without it."""
    inputs, labels = np.zeros((60, 6), dtype=np.float32), data[1]
    recipe = TrainingRecipe(steps=400, batch_size=60, weight_decay=0.0, momentum=0.0, rate=1.0, anneal_at=())
    shift = np.array([1.0, 0.0, -1.0])
    trained = train(network(name="mlp-plain"), inputs, labels, recipe, logit_adjustment=shift)
    logits = trained.logits(inputs[:1])[0].astype(np.float64)
    # equal classes and no information: softmax(logits + shift) is uniform; descent contracts by 2/3 a step
    np.testing.assert_allclose(logits - logits.mean(), -shift, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "width"), [("small-cnn", 8), ("vgg-11", 8), ("resnet-9", 8), ("resnet-18", 4), ("lenet-5", None)]
)
def test_convolutions_by_the_plain_loop(name, width) -> None:
    """Their weights lie in memory in another order, so the last digits may differ; the course must not. With four
    channels in that order PyTorch corrupts memory."""
    stream = generator(0, "pictures")
    inputs = stream.standard_normal((24, 2, 16, 16)).astype(np.float32)
    labels = stream.integers(3, size=24)
    options = {} if width is None else {"width": width}
    recipe = TrainingRecipe(steps=4, batch_size=24, rate=0.02, weight_decay=1e-2, anneal_at=())
    trained = train(build(name, (2, 16, 16), 3, **options), inputs, labels, recipe, threads=1)
    reference = build(name, (2, 16, 16), 3, **options).train()
    optimiser = torch.optim.SGD(reference.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-2)
    for _ in range(4):
        optimiser.zero_grad()
        cross_entropy(reference(torch.from_numpy(inputs)), torch.from_numpy(labels)).backward()
        optimiser.step()
    for key, tensor in reference.state_dict().items():
        # float32 sums in another order, magnified by BatchNorm and four steps; weights move by about 0.05
        np.testing.assert_allclose(trained.network.state_dict()[key].numpy(), tensor.numpy(), atol=2e-4, err_msg=key)


def test_a_resumed_cnn_ends_in_the_same_bits(tmp_path) -> None:
    stream = generator(0, "pictures")
    inputs = stream.standard_normal((24, 1, 16, 16)).astype(np.float32)
    labels = stream.integers(3, size=24)
    recipe = TrainingRecipe(steps=9, batch_size=8)

    def fresh(seed=0):
        return build("resnet-9", (1, 16, 16), 3, seed=seed, width=4)

    plain = train(fresh(), inputs, labels, recipe, threads=1)
    file = tmp_path / "run.safetensors"
    with pytest.raises(_Stop):
        train(
            fresh(), inputs, labels, recipe, checkpoint=file, checkpoint_seconds=0, after_epoch=_stop_at(2), threads=1
        )
    assert bits(train(fresh(5), inputs, labels, recipe, checkpoint=file, threads=1)) == bits(plain)


def test_divergence_is_reported_and_stops(data) -> None:
    recipe = TrainingRecipe(steps=500, batch_size=8, rate=1e20, anneal_at=())
    trained = train(network(name="mlp-plain"), *data, recipe)
    assert trained.diverged
    assert trained.steps < 500


def test_progress_counts_down(data) -> None:
    seen = []
    train(network(), *data, RECIPE, progress=seen.append)
    assert (seen[-1].step, seen[-1].total, seen[-1].seconds_left) == (23, 23, 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.array([0, 1])}, "60 labels"),
        ({"labels": np.full(60, 3)}, "labels from 0 to 2"),
        ({"inputs": np.full((60, 6), np.nan)}, "finite inputs"),
        ({"class_weights": [1.0, -1.0, 1.0]}, "none below 0"),
        ({"example_weights": np.zeros(60)}, "weights that are not all zero"),
        ({"order": lambda epoch: np.array([0, 60])}, "indices from 0 to 59"),
        ({"logit_adjustment": [0.0]}, "a logit adjustment per class"),
    ],
)
def test_mistakes_are_sentences(data, change, words) -> None:
    given = {"inputs": data[0], "labels": data[1], **change}
    with pytest.raises(InputError, match=words):
        train(network(), given.pop("inputs"), given.pop("labels"), RECIPE, **given)


def test_recipes_are_checked() -> None:
    with pytest.raises(InputError, match="steps or in epochs"):
        TrainingRecipe()
    with pytest.raises(InputError, match="the weight decay"):
        TrainingRecipe(steps=1, weight_decay=-1.0)
    with pytest.raises(InputError, match="an optimiser among sgd, adamw"):
        TrainingRecipe(steps=1, optimiser="lion")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a schedule among cuts, cosine"):
        TrainingRecipe(steps=1, schedule="linear")  # type: ignore[arg-type]
    recipe = TrainingRecipe(epochs=350)
    total = recipe.total_steps(50_000)
    assert total == 350 * 390
    assert [recipe.rate_at(step, total) for step in (0, total // 3 - 1, total // 2, total - 1)] == pytest.approx(
        [0.1, 0.1, 0.01, 0.001]
    )


@pytest.mark.parametrize(
    ("name", "shape", "parameters"),
    [
        # counted by hand: layers without bias where BatchNorm follows, two numbers per channel for BatchNorm
        ("mlp", (1, 14, 14), 196 * 128 + 256 + 128 * 64 + 128 + 650),
        ("mlp-plain", (196,), 196 * 128 + 128 + 128 * 64 + 64 + 650),
        ("lenet-5", (1, 28, 28), 61_706),  # as published
        ("lenet-5", (3, 32, 32), 62_006),
        ("vgg-11", (3, 32, 32), 9_228_362),  # the usual count of this form with convolution biases, minus those 2,752
        ("vgg-13", (3, 32, 32), 9_413_066),
        ("resnet-18", (3, 32, 32), 11_173_962),  # as published for this form
        ("resnet-9", (3, 32, 32), 6_573_130),
        ("small-cnn", (1, 28, 28), 144 + 32 + 4608 + 64 + 32 * 49 * 64 + 128 + 650),
    ],
)
def test_networks_have_their_size_and_shapes(name, shape, parameters) -> None:
    made = build(name, shape, 10)
    assert sum(parameter.numel() for parameter in made.parameters()) == parameters
    made.eval()
    inputs = torch.from_numpy(generator(0, "inputs").standard_normal((2, *shape)).astype(np.float32))
    with torch.inference_mode():
        features = made.features(inputs)
        assert features.shape == (2, made.head.in_features)
        assert torch.equal(made.head(features), made(inputs))
    normalised = any("BatchNorm" in type(layer).__name__ for layer in made.modules())
    assert normalised == (name not in ("mlp-plain", "lenet-5"))


def test_depth_and_unknown_networks() -> None:
    assert hidden_layers(build("mlp", (4,), 2)) == 2
    assert hidden_layers(build("vgg-13", (3, 32, 32), 10, width=8)) == 10
    assert set(NETWORKS) >= {"mlp", "lenet-5", "vgg-11", "vgg-13", "resnet-9", "resnet-18"}
    with pytest.raises(InputError, match="a network among"):
        build("alexnet", (4,), 2)
    with pytest.raises(InputError, match="options of lenet-5, but got an unexpected keyword argument 'width'"):
        build("lenet-5", (1, 28, 28), 10, width=3)
    with pytest.raises(InputError, match="use an mlp"):
        build("vgg-11", (4,), 2)
