"""The run that most tests of the monitor watch."""

import pytest

import torch
from torch import nn

from .reference import small_network


@pytest.fixture
def run():
    torch.manual_seed(0)
    model = small_network(batch_norm=True)
    inputs, labels = torch.randn(96, 5), torch.arange(96) % 4
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)

    def train(count=1, size=32):
        model.train()
        for _ in range(count):
            for rows in torch.arange(96).split(size):
                optimizer.zero_grad()
                loss(model(inputs[rows]), labels[rows]).backward()
                optimizer.step()

    return model, inputs, labels, loss, optimizer, train
