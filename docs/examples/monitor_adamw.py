"""AdamW on ten digits with a long tail: the monitor warns early, names a cause, and the remedy it names is applied.

python monitor_adamw.py [picture.png]: some seconds on one core. Prints what was said, and the recall before and after.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import torch
from lopsided.torch import ImbalanceWarning, MendedModel, Monitor, mend
from torch import nn

COUNTS = np.round(110 * (2 / 110) ** (np.arange(10) / 9)).astype(int)  # 110, 70, 45, ... 2
EPOCHS, SHOWN = 15, 15  # validation examples of a class


def parts() -> list[TensorDataset]:
    """Training digits with a long tail, a small balanced validation set, and the rest to test on."""
    images, digits = load_digits(return_X_y=True)
    x, y = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(digits)
    members = [torch.where(y == k)[0] for k in range(10)]
    chosen = [
        torch.cat([rows[:count] for rows, count in zip(members, COUNTS, strict=True)]),
        torch.cat([rows[110 : 110 + SHOWN] for rows in members]),
        torch.cat([rows[110 + SHOWN :] for rows in members]),
    ]
    return [TensorDataset(x[rows], y[rows]) for rows in chosen]


def recall(model: nn.Module, data: TensorDataset) -> list[float]:
    """The share of each digit that is recognised."""
    model.eval()
    with torch.no_grad():
        right = model(data.tensors[0]).argmax(1) == data.tensors[1]
    return [float(right[data.tensors[1] == k].float().mean()) for k in range(10)]


def train(seed: int = 0) -> tuple[nn.Module, Monitor, list[TensorDataset]]:
    """A plain loop; three lines of it are the monitor's."""
    torch.manual_seed(seed)
    data = parts()
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 10))
    loss, optimizer = nn.CrossEntropyLoss(), torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=EPOCHS)
    for _ in range(EPOCHS):
        model.train()
        for inputs, labels in DataLoader(data[0], batch_size=32, shuffle=True):
            optimizer.zero_grad()
            loss(model(inputs), labels).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss(model(data[1].tensors[0]), data[1].tensors[1])
        monitor.end_epoch()
    return model, monitor, data


def draw(path: str | Path, monitor: Monitor, before: list[float], after: list[float]) -> None:
    """What was forecast while training, and what the remedy did: the picture of docs/monitor.md, drawn by the build."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, style in ((3, ":"), (7, "-."), (8, "--"), (9, "-")):
        chances = [record.recall_forecast.classes[k].chance_lost for record in monitor.records]
        left.plot(range(1, EPOCHS + 1), chances, style, label=f"digit {k}, {COUNTS[k]} examples")
    left.set(xlabel="epoch", ylabel="forecast chance of a recall below 0.2", ylim=(-0.03, 1.35), xticks=[1, 5, 10, 15])
    left.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    places = np.arange(10)
    right.bar(places - 0.2, before, 0.4, label=f"as trained, mean {np.mean(before):.2f}", color="#b0b0b0")
    right.bar(places + 0.2, after, 0.4, label=f"after mend, mean {np.mean(after):.2f}", color="#0072b2")
    right.set(
        xlabel=f"digit, from {COUNTS[0]} examples to {COUNTS[-1]}",
        ylabel="recall on test digits",
        xticks=places,
        ylim=(0, 1.25),
    )
    right.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def run() -> tuple[Monitor, MendedModel, list[float], list[float]]:
    """Train, correct by means of the validation digits, and the recall of test digits before and after."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImbalanceWarning)  # the records keep them
        model, monitor, (_, shown, test) = train()
    mended = mend(model, DataLoader(shown, batch_size=64), counts=COUNTS.tolist())
    return monitor, mended, recall(model, test), recall(mended.model, test)


if __name__ == "__main__":
    monitor, mended, before, after = run()
    for record in monitor.records:
        for words in record.warnings:
            if "likely to end" in words or "post-hoc" in words:
                print(f"epoch {record.epoch}: {words}")
    print("recall of test digits, before:", " ".join(f"{value:.2f}" for value in before), f"mean {np.mean(before):.3f}")
    print("recall of test digits, after: ", " ".join(f"{value:.2f}" for value in after), f"mean {np.mean(after):.3f}")
    gain = mended.gain
    print(f"mend chose: {mended.chosen}; expected gain {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
    if len(sys.argv) > 1:
        draw(sys.argv[1], monitor, before, after)
