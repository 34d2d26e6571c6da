"""The gain that `mend` claims is that of the module it returns, whatever follows or holds the head; else a sentence."""

import copy

import numpy as np
import pytest
from torch.nn.functional import cross_entropy, linear, normalize
from torch.nn.utils import parametrizations

import torch
from lopsided.core.errors import InputError
from lopsided.torch import Monitor, mend, retrain_classifier, tau_normalise
from lopsided.torch.mending.head_readings import read_head
from torch import nn

CENTRES = 1.4 * torch.tensor([[1.0, 0.2, 0.0], [-0.4, 1.0, 0.3], [-0.6, -1.0, 0.4], [0.2, 0.1, -1.0]])
SHOWN = [600, 150, 40, 12]


def sample(sizes, seed) -> tuple[torch.Tensor, torch.Tensor]:
    """Four Gaussians."""
    random = torch.Generator().manual_seed(seed)
    codes = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes))
    return CENTRES[codes] + torch.randn(len(codes), 3, generator=random), codes


def balanced(model, seed=99) -> float:
    inputs, codes = sample([4000] * 4, seed)
    with torch.no_grad():
        answer = model.eval()(inputs)
    right = answer.argmax(dim=1) == codes
    return float(np.mean([right[codes == code].double().mean() for code in range(4)]))


class After(nn.Module):
    """A network that changes its head's output."""

    def __init__(self, change, head=None) -> None:
        super().__init__()
        self.body, self.head, self.change = nn.Linear(3, 8), head or nn.Linear(8, 4), change

    def forward(self, inputs):
        return self.change(self.head(self.body(inputs).relu()))


class CosineLinear(nn.Linear):
    """Linear by its class only."""

    def forward(self, features):
        return 10 * linear(normalize(features, dim=1), normalize(self.weight, dim=1))


class TwoHeads(nn.Module):
    """Its answer is the mean of two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Sequential(nn.Linear(3, 4))

    def forward(self, inputs):
        return (self.first(inputs) + self.second(inputs)) / 2


def plain(head=None) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), head or nn.Linear(8, 4))


def trained(model, steps=80):
    inputs, codes = sample(SHOWN, 7)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(model(inputs), codes).backward()
        optimizer.step()
    return model


NETWORKS = {
    "mlp": plain,
    "no bias, dropout": lambda: nn.Sequential(
        nn.Linear(3, 64), nn.GELU(), nn.Dropout(0.3), nn.Linear(64, 4, bias=False)
    ),
    "convolution, batch norm": lambda: nn.Sequential(
        nn.Unflatten(1, (3, 1, 1)), nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1), nn.Flatten()
    ),
    "log softmax": lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4), nn.LogSoftmax(dim=1)),
    "weight norm": lambda: plain(parametrizations.weight_norm(nn.Linear(8, 4))),
    "spectral norm": lambda: plain(parametrizations.spectral_norm(nn.Linear(8, 4))),
    "old weight norm": lambda: plain(nn.utils.weight_norm(nn.Linear(8, 4))),
    "old spectral norm": lambda: plain(nn.utils.spectral_norm(nn.Linear(8, 4))),
}


@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("name", NETWORKS)
def test_the_claim_is_the_gain_of_the_returned_module(name, tmp_path) -> None:
    torch.manual_seed(0)
    model = trained(NETWORKS[name]())
    before = balanced(model)
    model.train()
    state = {key: value.clone() for key, value in model.state_dict().items()}
    found = mend(model, [sample([80] * 4, 3)], counts=SHOWN)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    true = balanced(found.model) - before
    assert true > 0.1
    # A mean of four recalls of 80 examples has a standard error of at most 0.028, a paired difference hardly more.
    assert found.gain.value == pytest.approx(true, abs=0.06)
    torch.save(found.model.state_dict(), tmp_path / "state.pt")
    again = copy.deepcopy(found.model)
    for parameter in again.parameters():
        nn.init.zeros_(parameter)
    again.load_state_dict(torch.load(tmp_path / "state.pt"))
    fresh = sample([5] * 4, 4)[0]
    answer = found.model.eval()(fresh)
    assert torch.equal(answer, again.eval()(fresh))
    assert torch.equal(answer, torch.jit.script(found.model)(fresh))
    assert not any("original" in key or "weight_" in key for key in found.model.state_dict())


@pytest.mark.parametrize(
    "make",
    [
        lambda: After(lambda logits: logits * torch.tensor([1.0, 2.0, 3.0, 4.0])),
        lambda: After(lambda logits: logits - torch.tensor(SHOWN).log()),  # adjusted already
        lambda: After(lambda logits: logits / 1.5),
        lambda: After(lambda logits: -logits),
        TwoHeads,
    ],
    ids=["scaled", "adjusted", "temperature", "distances", "two heads"],
)
def test_an_answer_that_is_not_the_heads_is_refused(make) -> None:
    with pytest.raises(InputError, match=r"an output that is changed after that layer; .*PostHocAdjustment"):
        mend(make(), [sample([20] * 4, 0)], counts=SHOWN, head="second.0" if make is TwoHeads else None)


def test_the_answer_may_be_the_softmax_of_the_head_and_anywhere_in_the_output() -> None:
    batches = [sample([40] * 4, 0)]
    torch.manual_seed(0)
    model = trained(After(lambda logits: logits))
    wanted = read_head(model, batches)
    for change in (
        lambda logits: logits.softmax(dim=1),
        lambda logits: {"logits": logits},
        lambda logits: {"out": logits},
        lambda logits: (logits, logits.sum()),
    ):
        model.change = change
        assert np.array_equal(read_head(model, batches).weights.weight, wanted.weights.weight)
    single = After(torch.sigmoid, nn.Linear(8, 1))
    inputs, codes = sample([40, 40, 0, 0], 0)
    assert mend(single, [(inputs, codes)], counts=[90, 10]).model(inputs).shape == (80, 1)
    single.change = lambda logits: logits[:, 0] + 3
    with pytest.raises(InputError, match="changed after that layer"):
        mend(single, [(inputs, codes)], counts=[90, 10])


@pytest.mark.parametrize("kind", [CosineLinear, nn.Bilinear])
def test_heads_that_are_not_linear_are_refused(kind) -> None:
    class Cosine(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 8))

        def forward(self, features):
            return linear(normalize(features, dim=1), normalize(self.weight, dim=1))

    torch.manual_seed(0)
    model = plain(CosineLinear(8, 4, bias=False) if kind is CosineLinear else Cosine())
    with pytest.raises(InputError, match=r"a last layer '2' whose output is W h \+ b"):
        mend(model, [sample([20] * 4, 0)], counts=SHOWN, head="2")
    if kind is not CosineLinear:
        with pytest.raises(InputError, match=r"W h \+ b"):
            tau_normalise(model, head="2")


def test_a_tied_head_does_not_change_the_embedding() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(4, 6), nn.Linear(6, 4, bias=False)
            self.head.weight = self.table.weight

        def forward(self, places):
            return self.head(self.table(places) + 0.5 * self.table(places // 2))

    torch.manual_seed(0)
    places = torch.randint(0, 4, (120,))
    batches = [(places, (places + (torch.rand(120) < 0.2).long()) % 4)]
    model = Tied()
    found = retrain_classifier(model, batches)
    assert torch.equal(found.table.weight, model.table.weight)
    assert not torch.equal(found.head.weight, model.head.weight)


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_watched_models_and_their_copies_can_be_mended_and_scripted() -> None:
    torch.manual_seed(0)
    model, loss = plain(), nn.CrossEntropyLoss()
    batch = sample([20] * 4, 0)
    with Monitor(model, loss=loss) as monitor:
        loss(model(batch[0]), batch[1])
        copied = copy.deepcopy(model)
        for one in (model, copied):
            assert torch.jit.script(mend(one, [batch], counts=SHOWN).model)(batch[0]).shape == (80, 4)
        assert monitor.end_epoch().train.examples == 80  # what mend and the copy did is not part of it
        another = copy.deepcopy(model)
        another(batch[0])  # copies leave the monitor's hooks at their first forward
        assert torch.jit.script(another)(batch[0]).shape == (80, 4)


def test_a_bias_that_is_added_is_said() -> None:
    torch.manual_seed(0)
    model = trained(plain(nn.Linear(8, 4, bias=False)))
    found = mend(model, [sample([40] * 4, 3)], counts=SHOWN)
    assert found.model[2].bias is not None
    assert found.notes == ("The head '2' had no bias and has one now; a network that loads its state needs one too.",)
    assert mend(trained(plain()), [sample([40] * 4, 3)], counts=SHOWN).notes == ()


def test_networks_that_diverged_and_labels_of_several_classes() -> None:
    inputs, codes = sample([20] * 4, 0)
    model = plain()
    table = torch.eye(4)[codes]
    assert np.array_equal(read_head(model, [(inputs, table)]).codes, codes.numpy())
    table[0, :2] = 1
    with pytest.raises(InputError, match="one class for each example"):
        mend(model, [(inputs, table)], counts=SHOWN)
    nn.init.constant_(model[2].weight, torch.nan)
    with pytest.raises(InputError, match="a network with finite logits, but got NaN"):
        mend(model, [(inputs, codes)], counts=SHOWN)


def test_of_a_model_with_several_heads_the_one_that_is_named() -> None:
    class Both(TwoHeads):
        def forward(self, inputs):
            return self.first(inputs), self.second(inputs)

    torch.manual_seed(0)
    inputs, codes = sample([20] * 4, 0)
    model = Both()
    for name, place in (("first", 0), ("second.0", 1)):
        read = read_head(model, [(inputs, codes)], name)
        wanted = model(inputs)[place].detach().double().numpy()
        # single precision, of logits below 10
        np.testing.assert_allclose(read.weights.scores(read.features), wanted, atol=1e-5)
