"""`mend` on networks whose right correction is known, and everything a finished network may be."""

import numpy as np
import pytest
from torch.utils.data import DataLoader, TensorDataset

import torch
from lopsided.core.errors import InputError
from lopsided.torch import mend, retrain_classifier, tau_normalise
from torch import nn

CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
COUNTS = [900, 90, 10]


def sample(sizes, seed) -> tuple[torch.Tensor, torch.Tensor]:
    """Three Gaussians; the last two columns are noise."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(3), sizes)
    points = np.concatenate([CENTRES[codes], np.zeros((codes.size, 2))], axis=1) + random.normal(size=(codes.size, 4))
    return torch.tensor(points, dtype=torch.float32), torch.tensor(codes)


def loader(sizes=(60, 60, 60), seed=0, **options) -> DataLoader:
    return DataLoader(TensorDataset(*sample(sizes, seed)), batch_size=50, **options)


def bayes(scale: float = 1.0, *, turned: bool = False) -> nn.Sequential:
    """The best network for the prior of COUNTS; with `turned` its head confuses the second and third class."""
    body, head = nn.Linear(4, 4), nn.Linear(4, 3)
    with torch.no_grad():
        body.weight.copy_(torch.eye(4))
        body.bias.zero_()
        weight = np.concatenate([CENTRES, np.zeros((3, 2))], axis=1)[[0, 2, 1] if turned else [0, 1, 2]]
        head.weight.copy_(torch.tensor(scale * weight))
        bias = np.log(COUNTS) - 0.5 * np.square(CENTRES).sum(axis=1)
        head.bias.copy_(torch.tensor(scale * bias))
    return nn.Sequential(body, nn.Dropout(0.5), head)


def balanced(model, seed=9) -> float:
    inputs, codes = sample([4000] * 3, seed)
    with torch.no_grad():
        right = model.eval()(inputs).argmax(dim=1) == codes
    return float(np.mean([right[codes == code].double().mean() for code in range(3)]))


def test_a_perfect_network_is_adjusted_by_its_prior() -> None:
    model = bayes()
    found = mend(model, loader(), counts=COUNTS)
    assert found.chosen == "post-hoc adjustment, tau 1"
    true = balanced(found.model) - balanced(bayes())
    assert found.gain.low < true < found.gain.high
    assert true > 0.1
    assert max(found.scores, key=found.scores.get) in found.scores
    assert str(found).startswith("post-hoc adjustment, tau 1: expected gain in balanced accuracy +")


def test_a_wrong_head_is_retrained() -> None:
    found = mend(bayes(turned=True), loader(), counts=COUNTS)
    assert found.chosen.startswith("retraining")
    assert balanced(found.model) > balanced(bayes(turned=True)) + 0.3


def test_a_network_for_equal_classes_is_left_alone() -> None:
    model = bayes()
    with torch.no_grad():
        model[2].bias -= torch.tensor(np.log(COUNTS), dtype=torch.float32)
    found = mend(model, loader([100, 100, 100]), counts=COUNTS)
    assert balanced(found.model) > balanced(model) - 0.01
    even = mend(model, loader([100, 100, 100]), counts=[1, 1, 1])
    assert even.gain.low <= 0.0 <= even.gain.high
    assert "post-hoc" not in " ".join(even.scores)  # which would change nothing, and have a gain nevertheless


def test_rare_classes_with_one_example_do_not_decide() -> None:
    random_gains = [
        balanced(mend(bayes(), loader([60, 6, 1], seed=seed), counts=COUNTS).model) - balanced(bayes())
        for seed in range(3)
    ]
    assert min(random_gains) > -0.01


@pytest.mark.parametrize("metric", ["worst-class", "overall", "f1:macro", "mcc", "log-loss"])
def test_other_metrics(metric) -> None:
    found = mend(bayes(turned=True), loader([60, 30, 20]), metric, counts=COUNTS)
    assert np.isfinite(list(found.scores.values())).all()
    assert found.gain.low <= found.gain.value <= found.gain.high
    assert found.to_dict()["chosen"] == found.chosen


def test_costs() -> None:
    dear = np.ones((3, 3)) - np.eye(3)
    dear[2] *= 50
    found = mend(bayes(), loader([90, 30, 20]), "cost", costs=dear, counts=COUNTS)
    inputs, codes = sample([300, 300, 300], 5)
    with torch.no_grad():
        calls = [model.eval()(inputs).argmax(dim=1) for model in (bayes(), found.model)]
    assert float((calls[1][codes == 2] == 2).double().mean()) > float((calls[0][codes == 2] == 2).double().mean())


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_the_network_and_its_modes_stay_and_the_copy_is_plain() -> None:
    model = bayes()
    model.train()
    model[0].eval()  # frozen
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = mend(nn.DataParallel(model), loader(), counts=COUNTS)
    assert [module.training for module in model] == [False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert type(found.model) is nn.Sequential
    again = bayes()
    again.load_state_dict(found.model.state_dict())
    inputs, _ = sample([5, 5, 5], 3)
    scripted = torch.jit.script(found.model.eval())
    assert torch.equal(scripted(inputs), again.eval()(inputs))
    assert not len(model[2]._forward_hooks)


def test_heads_without_bias_and_with_one_output() -> None:
    inputs, codes = sample([60, 60, 0], 0)
    batches = [(inputs, codes)]
    bare = nn.Linear(4, 2, bias=False)
    assert mend(bare, batches, counts=[90, 10]).model(inputs).shape == (120, 2)
    single = nn.Linear(4, 1)
    with torch.no_grad():
        single.weight.copy_(torch.tensor([[2.0, 0, 0, 0]]))
        single.bias.fill_(-2.0 - np.log(9))
    found = mend(single, [(inputs, codes.float())], counts=[90, 10])
    assert found.model(inputs).shape == (120, 1)
    right = [((model(inputs)[:, 0] > 0) == (codes == 1)).double().mean() for model in (single, found.model)]
    assert right[1] > right[0]


def test_mappings_sequences_and_maps() -> None:
    inputs, codes = sample([40, 40, 40], 0)

    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = bayes()[2]

        def forward(self, points):
            return {"logits": self.head(points)}

    batches = [{"points": inputs, "labels": codes}]
    assert mend(Named(), batches, counts=COUNTS).chosen
    tokens = [(inputs.reshape(20, 6, 4), codes.reshape(20, 6))]
    assert mend(bayes()[2], tokens, counts=COUNTS).chosen == mend(bayes()[2], [(inputs, codes)], counts=COUNTS).chosen
    map_head = nn.Conv2d(4, 3, 1)
    with torch.no_grad():
        map_head.weight.copy_(bayes()[2].weight[:, :, None, None])
        map_head.bias.copy_(bayes()[2].bias)
    changed = mend(map_head, [(inputs[:, :, None, None], codes)], counts=COUNTS).model
    assert changed.weight.shape == map_head.weight.shape


def test_without_counts_the_shares_of_the_validation_set_count() -> None:
    assert "class shares of the validation set" in mend(bayes(), loader([90, 9, 4])).notes[0]
    assert "logits are not adjusted" in mend(bayes(), loader([9, 9, 9])).notes[0]


def test_retraining_and_tau_norm_alone() -> None:
    model = bayes(turned=True)
    assert balanced(retrain_classifier(model, loader([300, 100, 20]))) > balanced(model) + 0.3
    scaled = retrain_classifier(bayes(), loader([300, 100, 20]), free="scales")
    ratio = (scaled[2].weight / bayes()[2].weight)[:, :2]
    assert torch.allclose(ratio[1, 0], scaled[2].weight[1, 0] / 2.0)
    plain = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    lengths = tau_normalise(plain, 1.0)[2].weight.norm(dim=1)
    assert torch.allclose(lengths, plain[2].weight.norm(dim=1).mean().expand(3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mend(bayes(), []), "labelled examples"),
        (lambda: mend(bayes(), [torch.zeros(3, 4)]), "batches \\(inputs, labels\\)"),
        (lambda: mend(bayes(), loader(), counts=[1, 2]), "counts of 3 classes"),
        (lambda: mend(bayes(), [(torch.zeros(2, 4), torch.tensor([0, 7]))]), "labels from 0 to 2"),
        (lambda: mend(bayes(), [(torch.zeros(2, 4), torch.tensor([0, 1]))]), "two examples of at least two classes"),
        (lambda: mend(bayes(), loader(), "worst-group"), "a metric of classes"),
        (lambda: mend(nn.ReLU(), loader()), "a linear layer"),
        (lambda: retrain_classifier(bayes(), loader(), free="bias"), "all, scales, offsets"),
    ],
)
def test_mistakes_are_one_sentence(call, words) -> None:
    with pytest.raises(InputError, match=words):
        call()
