"""Models that change the output of their head: what is judged is what they answer, and a note says so."""

import numpy as np
import pytest
from torch.nn.functional import cross_entropy

import torch
from lopsided.torch import Monitor, PostHocAdjustment, mend
from torch import nn

pytestmark = pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")


class Network(nn.Module):
    def __init__(self, change) -> None:
        super().__init__()
        self.body, self.head, self.other, self.change = nn.Linear(5, 8), nn.Linear(8, 4), nn.Linear(8, 4), change

    def forward(self, inputs):
        hidden = self.body(inputs).relu()
        return self.change(self.head(hidden), self.other(hidden))


def shown():
    torch.manual_seed(0)
    return torch.randn(80, 5), torch.arange(80) % 4


def record_of(model, inputs, labels, **options):
    with Monitor(model, head="head", patterns=0, **options) as monitor:
        for training in (True, False):
            model.train(training)
            for rows in torch.arange(80).split(20):
                model(inputs[rows])
                monitor.update(labels[rows])
        return monitor.end_epoch()


CHANGED = {
    "bias": lambda own, other: own + torch.tensor([5.0, 0, 0, 0]),
    "temperature": lambda own, other: own / 0.1,
    "two heads": lambda own, other: (own + other) / 2,
    "ensemble of chances": lambda own, other: (own.softmax(dim=1) + other.softmax(dim=1)) / 2,
    "in a mapping": lambda own, other: {"logits": own * torch.arange(4)},
}


@pytest.mark.parametrize("name", CHANGED)
def test_the_models_answer_is_judged(name) -> None:
    inputs, labels = shown()
    model = Network(CHANGED[name])
    record = record_of(model, inputs, labels)
    with torch.no_grad():
        answer = model(inputs)
    answer = answer["logits"] if isinstance(answer, dict) else answer
    logits = answer.log() if name == "ensemble of chances" else answer
    for found in (record.train, record.held_out):
        assert found.loss == pytest.approx(float(cross_entropy(logits, labels)), rel=1e-5)  # single precision
        right = (answer.argmax(dim=1) == labels).numpy()
        wanted = [right[labels.numpy() == k].mean() for k in range(4)]
        assert found.class_accuracy == pytest.approx(wanted)
    assert any("the model changes the output of 'head'" in note for note in record.notes)


SAME = {
    "as it is": lambda own, other: own,
    "log softmax": lambda own, other: own.log_softmax(dim=1),
    "softmax": lambda own, other: own.softmax(dim=1),
    "sigmoid": lambda own, other: own.sigmoid(),
    "beside another": lambda own, other: (other, own),
    "nothing comparable": lambda own, other: own.sum(),
}


@pytest.mark.parametrize("name", SAME)
def test_the_head_is_judged_where_the_model_says_the_same(name) -> None:
    inputs, labels = shown()
    torch.manual_seed(1)
    plain = record_of(Network(SAME["as it is"]), inputs, labels).to_dict()
    torch.manual_seed(1)
    found = record_of(Network(SAME[name]), inputs, labels).to_dict()
    for part in ("train", "held_out", "evidence"):
        assert found[part] == plain[part]
    assert not any("changes the output" in note for note in found["notes"])


def test_a_model_that_adjusts_its_logits_when_it_is_not_trained() -> None:
    inputs, labels = shown()
    model = PostHocAdjustment(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 4)), [1000, 10, 10, 10])
    with Monitor(model, patterns=0) as monitor:
        for training in (True, False):
            model.train(training)
            model(inputs)
            monitor.update(labels)
        record = monitor.end_epoch()
    with torch.no_grad():
        losses = [float(cross_entropy(one(inputs), labels)) for one in (model.model, model.eval())]
    assert [record.train.loss, record.held_out.loss] == pytest.approx(losses, rel=1e-5)


def test_a_head_at_every_place_of_which_the_model_picks_one() -> None:
    """As in GPT2ForSequenceClassification: one label for each sequence."""

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.score = nn.Embedding(20, 6), nn.Linear(6, 3, bias=False)

        def forward(self, tokens):
            logits = self.score(self.table(tokens).cumsum(dim=1))
            return logits[torch.arange(len(tokens)), (tokens != 0).sum(dim=1) - 1]

    torch.manual_seed(0)
    tokens = torch.randint(1, 20, (30, 7))
    tokens[::2, 5:] = 0
    labels = torch.arange(30) % 3
    model, loss = Decoder(), nn.CrossEntropyLoss()
    with Monitor(model, loss=loss) as monitor:
        loss(model(tokens), labels)
        record = monitor.end_epoch()
    right = (model(tokens).argmax(dim=1) == labels).double().numpy()
    assert record.train.examples == 30
    assert record.train.class_accuracy == pytest.approx([np.mean(right[k::3]) for k in range(3)])
    assert not any("changes the output" in note for note in record.notes)
    assert mend(model, [(tokens, labels)]).model(tokens).shape == (30, 3)
