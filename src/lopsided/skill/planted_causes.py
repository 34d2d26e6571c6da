"""Small synthetic sets with planted classes that are lost for a known reason, and networks trained on them.

    prior          a rare class that overlaps a frequent one, with examples enough to know where it lies: by Bayes' rule
                   its recall is below 0.2 with the frequencies as they are, and above 0.7 with equal ones
    memorised      rare examples drawn from the distribution of a frequent class, in many dimensions, in a network wide
                   and long enough to learn each by heart
    never learnt   a rare class that no linear rule finds (its inputs lie on both sides of a frequent class), with a
                   linear network
    merged         two rare classes under strong weight decay and batch normalisation, by the merging law

Three further classes are frequent and easy. The reason is in how the data and the training were made, not in what the
monitor measures.
"""

import warnings
from typing import Any

import numpy as np

from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.family import drawn_tasks

CAUSES = ("prior", "memorised", "never learnt", "merged")
SALT = 20261118
_EACH = 16  # tasks of a cause
_EASY = 3


@drawn_tasks("skill-recall-cause", _EACH * len(CAUSES), SALT, "planted causes")
def tasks(random: np.random.Generator, index: int) -> Settings:
    """The same number of tasks for each cause, with random sizes, distances and settings."""
    cause = CAUSES[index % len(CAUSES)]
    return {
        "cause": cause,
        "dimension": int(random.choice([20, 40])),
        "frequent": int(random.choice([400, 800])),
        "rare": {
            "prior": int(random.choice([20, 40])),
            "memorised": int(random.choice([6, 12])),
            "never learnt": int(random.choice([10, 20])),
            "merged": int(random.choice([4, 8])),
        }[cause],
        "distance": float(random.choice([1.6, 1.9])),
        "optimiser": str(random.choice(["sgd", "adamw"])) if cause != "merged" else "sgd",
        "batch": int(random.choice([32, 64])),
    }


def _sample(settings: Settings, seed: int, *, test: bool) -> tuple[Any, Any, list[int]]:
    """Inputs, codes and the planted classes. Class 0 is frequent; the easy ones lie far from it."""
    random = generator(seed, "planted", "test" if test else "train")
    d, cause = settings["dimension"], settings["cause"]
    d = 10 * d if cause == "memorised" else d
    frequent = 200 if test else settings["frequent"]
    rare = 200 if test else settings["rare"]
    means = np.zeros((_EASY + 3, d))
    means[1 : _EASY + 1, 2 : _EASY + 2] = 8 * np.eye(_EASY)
    planted = [_EASY + 1]
    counts = [frequent] * (_EASY + 1) + [rare]
    if cause == "merged":
        means[_EASY + 1, 5], means[_EASY + 2, 6] = 4.0, 4.0
        planted, counts = [_EASY + 1, _EASY + 2], [*counts, rare]
    codes = np.repeat(np.arange(len(counts)), counts)
    inputs = random.standard_normal((codes.size, d)) + means[codes]
    own = codes == _EASY + 1
    if cause == "prior":
        inputs[own, 0] += settings["distance"]
    elif cause == "never learnt":
        inputs[own, 0] = 3.0 * random.choice([-1.0, 1.0], own.sum()) + 0.3 * random.standard_normal(own.sum())
    return inputs.astype(np.float32), codes, planted


def measure(settings: Settings, seed: int) -> Numbers:
    """The monitor's evidence at the end, which classifiers it calls merged, and what was planted."""
    import torch
    from lopsided.torch.monitor.monitor import Monitor
    from torch import nn

    inputs, codes, planted = _sample(settings, seed, test=False)
    shown, shown_codes, _ = _sample(settings, seed + 1000, test=True)
    classes, cause = int(codes.max()) + 1, settings["cause"]
    was = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        model = {
            "never learnt": lambda: nn.Sequential(nn.Linear(inputs.shape[1], classes)),
            "prior": lambda: nn.Sequential(nn.Linear(inputs.shape[1], classes)),
            "memorised": lambda: _wide(inputs.shape[1], 256, classes, norm=False),
            "merged": lambda: _wide(inputs.shape[1], 64, classes, norm=True),
        }[cause]()
        decay = 0.03 if cause == "merged" else 1e-4
        adam = settings["optimiser"] == "adamw"
        optimizer = (
            torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=decay)
            if adam
            else torch.optim.SGD(
                model.parameters(), lr=0.1 if cause == "merged" else 0.05, momentum=0.9, weight_decay=decay
            )
        )
        loss, epochs = nn.CrossEntropyLoss(), 40
        monitor = Monitor(model, loss=loss, optimizer=optimizer, layers=False, patterns=0, epochs=epochs)
        order = generator(seed, "planted order")
        data, labels = torch.from_numpy(inputs), torch.from_numpy(codes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in range(epochs):
                model.train()
                for rows in torch.from_numpy(order.permutation(len(codes))).split(settings["batch"]):
                    if len(rows) > 1:
                        optimizer.zero_grad()
                        loss(model(data[rows]), labels[rows]).backward()
                        optimizer.step()
                model.eval()
                if epoch == epochs - 1:
                    with torch.no_grad():
                        loss(model(torch.from_numpy(shown)), torch.from_numpy(shown_codes))
                record = monitor.end_epoch()
        monitor.close()
    finally:
        torch.set_num_threads(was)
    assert record.evidence is not None
    assert record.held_out is not None
    return {
        "seen": {"evidence": record.evidence.to_dict(), "merged": list(record.merged)},
        "truth": {"planted": planted, "recall": list(record.held_out.class_accuracy)},
    }


def _wide(inputs: int, hidden: int, classes: int, *, norm: bool) -> Any:
    from torch import nn

    between = [nn.BatchNorm1d(hidden)] if norm else []
    return nn.Sequential(nn.Linear(inputs, hidden), *between, nn.ReLU(), nn.Linear(hidden, classes))
