"""A training that is resumed goes on as if it had not been interrupted: the same records, field by field."""

import copy
import io

import pytest

import torch
from lopsided.torch import Monitor
from torch import nn

SIZES = [70, 30, 9, 3]


def plain(record) -> dict:
    """A record without the time it took."""
    found = record.to_dict()
    del found["seconds"], found["epoch_seconds"]
    return found


class Run:
    """A long-tailed run with validation; `resume` starts it anew from checkpoints of everything."""

    def __init__(self, **options) -> None:
        torch.manual_seed(0)
        self.inputs = torch.randn(112, 5)
        self.labels = torch.repeat_interleave(torch.arange(4), torch.tensor(SIZES))
        self.inputs[:, :4] += 1.5 * nn.functional.one_hot(self.labels)
        self.held_out = torch.randn(20, 5), torch.arange(20) % 4
        self.options = options
        self.make()

    def make(self) -> None:
        self.model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
        self.monitor = Monitor(self.model, loss=self.loss, optimizer=self.optimizer, epochs=12, **self.options)

    def resume(self) -> None:
        parts = (self.model, self.optimizer, self.monitor)
        buffer = io.BytesIO()
        torch.save([part.state_dict() for part in parts], buffer)
        buffer.seek(0)
        self.make()
        states = torch.load(buffer, weights_only=True)
        for part, state in zip((self.model, self.optimizer, self.monitor), states, strict=True):
            part.load_state_dict(state)

    def epoch(self, number):
        self.model.train()
        for rows in torch.randperm(112, generator=torch.Generator().manual_seed(number)).split(16):
            self.optimizer.zero_grad()
            self.loss(self.model(self.inputs[rows]), self.labels[rows]).backward()
            self.optimizer.step()
        self.model.eval()
        self.loss(self.model(self.held_out[0]), self.held_out[1])
        return plain(self.monitor.end_epoch())


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
@pytest.mark.parametrize("options", [{}, {"geometry_every": 1}, {"counts": [100, 40, 10, 5]}], ids=str)
def test_records_after_a_resume_are_those_of_an_uninterrupted_run(options) -> None:
    wanted = Run(**options)
    through = [wanted.epoch(number) for number in range(10)]
    broken = Run(**options)
    for number in range(10):
        if number in (1, 5, 8):
            broken.resume()
        assert broken.epoch(number) == through[number], number
    assert [plain(record) for record in broken.monitor.records] == through
    assert through[-1]["evidence"]["nearest_recall"][0] is not None


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_going_back_forgets_the_epoch_that_was_broken_off(monkeypatch) -> None:
    monkeypatch.setattr("lopsided.torch.monitor.epoch_counters.FULLY_OBSERVED", 32)  # so that most batches pass
    wanted, broken = Run(), Run()
    through = [wanted.epoch(number) for number in range(4)]
    for number in range(2):
        broken.epoch(number)
    parts = (broken.model, broken.optimizer, broken.monitor)
    states = [copy.deepcopy(part.state_dict()) for part in parts]
    broken.model.train()
    for rows in torch.arange(112).split(16)[:5]:
        broken.loss(broken.model(broken.inputs[rows]), broken.labels[rows]).backward()
        broken.optimizer.step()
    broken.model(broken.inputs[:7])  # its loss was not finite, say
    for part, state in zip(parts, states, strict=True):
        part.load_state_dict(state)
    assert [broken.epoch(number) for number in range(2, 4)] == through[2:]
    assert through[-1]["labels"] == list(SIZES)
