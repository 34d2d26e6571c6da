"""Watch ten digits with a long tail, 120 down to 3 examples, in plain PyTorch: python monitor_digits.py [page.html]

The weight decay is large on purpose, so that small classes are lost while we look: of 0.01, 0.02 and 0.03 tried, the
largest. Some seconds on one core.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits

import torch
from lopsided.torch import Monitor
from torch import nn

COUNTS = np.round(120 * (3 / 120) ** (np.arange(10) / 9)).astype(int)  # 120, 80, 53, ... 3


def long_tail() -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Training digits with a long tail, and balanced digits to test on."""
    images, digits = load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(digits)
    members = [torch.where(y == k)[0] for k in range(10)]
    train = torch.cat([rows[:count] for rows, count in zip(members, COUNTS, strict=True)])
    test = torch.cat([rows[120:] for rows in members])
    return (x[train], y[train]), (x[test], y[test])


def train(epochs: int = 120, weight_decay: float = 0.03, seed: int = 0) -> Monitor:
    """A small network with batch normalisation, SGD with momentum; three lines of it are the monitor's."""
    torch.manual_seed(seed)
    (x, y), (test_x, test_y) = long_tail()
    model = nn.Sequential(
        *(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU()),
        *(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU()),
        nn.Linear(64, 10),
    )
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=weight_decay)

    monitor = Monitor(model, loss=loss, optimizer=optimizer)  # 1: before the loop
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(y)).split(32):
            optimizer.zero_grad()
            loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss(model(test_x), test_y)
        monitor.end_epoch()  # 2: after each epoch
    return monitor


if __name__ == "__main__":
    train().report(sys.argv[1] if len(sys.argv) > 1 else "monitor.html")  # 3: at the end
