"""The measurements of the recall families: networks as people train them, each trained twice with
`lopsided.torch.Monitor`.

The first run is the one to forecast. A forecaster sees its evidence after 5, 10, 20 and 50 % of the steps, and the
results of simple rules on the data before training; the truth is the recall of every class on the test set at the end.
The second run, with other examples, start and order, is scored as a forecast itself. The store keeps what the monitor
recorded, not its forecasts, so that a changed law can be scored on the same networks.
"""

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from lopsided.core.validation import FloatArray, IntArray
from lopsided.engine.task import Numbers, Settings
from lopsided.skill.recall_tasks import DrawnExamples, counts_of, drawn
from lopsided.skill.small_networks import halved

MARKS = (0.05, 0.1, 0.2, 0.5, 1.0)
FIRST_SEED = 100  # of a run's examples, start and order; smaller ones are those of other families


def measure(settings: Settings, seed: int) -> Numbers:
    """Evidence and outcome of the first run, and the outcome of another."""
    first, second = (WatchedRun(settings, FIRST_SEED + seed + place) for place in (0, 1))
    overlap = first.overlap()
    marks = {str(mark): rounded(evidence) for mark, evidence in first.train()}
    for _ in second.train(record=False):
        pass
    recall = first.test_recalls()
    return {
        "seen": {"marks": marks, "before": overlap, "another run": rounded_list(second.test_recalls()[0])},
        "truth": {
            "recall": rounded_list(recall[0]),
            "adjusted": rounded_list(recall[1]),
            "train_recall": rounded_list(first.train_recall()),
        },
    }


class WatchedRun:
    """One training: data, network, optimiser."""

    def __init__(self, settings: Settings, seed: int) -> None:
        import torch
        from lopsided.core.seeds import generator

        self.settings, self.seed = settings, seed
        self.counts: IntArray = counts_of(settings)
        split = drawn(settings, seed)
        torch.manual_seed(int(generator(seed, "recall start").integers(2**31)))
        self.model, self.split = _network(settings, split)
        self.counts = np.bincount(self.split.codes, minlength=settings["classes"])
        self.loss = torch.nn.CrossEntropyLoss()
        kind = torch.optim.AdamW if settings["optimiser"] == "adamw" else torch.optim.SGD
        options = {} if settings["optimiser"] == "adamw" else {"momentum": 0.9}
        self.optimizer = kind(
            self.model.parameters(), lr=settings["rate"], weight_decay=settings["weight_decay"], **options
        )

    def train(self, *, record: bool = True) -> Iterator[tuple[float, dict[str, Any]]]:
        """Train to the end; yields mark and evidence of the monitor at each mark."""
        import torch
        from lopsided.core.seeds import generator
        from lopsided.torch.monitor.monitor import Monitor

        steps, batch = self.settings["steps"], self.settings["batch"]
        inputs, codes = torch.from_numpy(self.split.inputs), torch.from_numpy(self.split.codes)
        order, n = generator(self.seed, "recall order"), len(codes)
        epoch = max(1, n // batch)
        ends = {max(1, round(mark * steps)): mark for mark in MARKS}
        # One epoch before each mark the record is reset, so that it has only the latest epoch; the first one is whole.
        starts = {max(end - epoch, epoch) for end in ends if end >= 1.5 * epoch} - set(ends)
        watched = {"loss": self.loss, "optimizer": self.optimizer, "layers": False, "patterns": 0, "geometry_every": 1}
        monitor = Monitor(self.model, counts=self.counts, steps=steps, **watched) if record else None
        was, place, queue = torch.get_num_threads(), n, torch.arange(0)
        torch.set_num_threads(1)
        try:
            for step in range(1, steps + 1):
                if place + min(batch, n) > n:
                    queue, place = torch.from_numpy(order.permutation(n)), 0
                rows = queue[place : place + batch]
                place += batch
                if len(rows) < 2:
                    continue
                self.model.train()
                for group in self.optimizer.param_groups:
                    group["lr"] = self.settings["rate"] * _schedule(self.settings["schedule"], step - 1, steps)
                self.optimizer.zero_grad()
                self.loss(self.model(inputs[rows]), codes[rows]).backward()
                self.optimizer.step()
                if monitor is not None and step in starts:
                    _closed(monitor)
                if step in ends:
                    if monitor is not None:
                        with torch.no_grad():
                            self._validate()
                        yield ends[step], _closed(monitor, self.counts)
                    else:
                        yield ends[step], {}
        finally:
            torch.set_num_threads(was)
            if monitor is not None:
                monitor.close()
        self.model.eval()

    def _validate(self) -> None:
        import torch

        self.model.eval()
        inputs, codes = torch.from_numpy(self.split.held_out), torch.from_numpy(self.split.held_out_codes)
        for rows in torch.arange(len(codes)).split(256):
            self.loss(self.model(inputs[rows]), codes[rows])

    def logits(self, inputs: Any) -> FloatArray:
        """Of the trained network, in evaluation mode."""
        import torch

        self.model.eval()
        with torch.inference_mode():
            parts = [self.model(rows) for rows in torch.from_numpy(inputs).split(256)]
            return np.asarray(torch.cat(parts).double().numpy())

    def test_recalls(self) -> tuple[FloatArray, FloatArray]:
        """Recall of every class on the test set, as it is and after adding -log of the class frequencies."""
        logits = self.logits(self.split.test)
        codes, classes = self.split.test_codes, self.settings["classes"]
        adjusted = logits - np.log(np.maximum(self.counts, 1))
        return recalls(logits.argmax(axis=1), codes, classes), recalls(adjusted.argmax(axis=1), codes, classes)

    def train_recall(self) -> FloatArray:
        """Recall of every class on the training set at the end."""
        predicted = self.logits(self.split.inputs).argmax(axis=1)
        return recalls(predicted, self.split.codes, self.settings["classes"])

    def overlap(self) -> Numbers:
        """What simple rules say about the training data, as `recall_before` compares them."""
        from lopsided.torch.before_training import training_overlap
        from lopsided.torch.monitor.first_inputs import RULES

        classes = self.settings["classes"]
        counts, found = training_overlap(self.split.inputs, self.split.codes, model=self.model, classes=classes)
        rates = {rule: rounded_list(recalls) for rule, recalls in zip(RULES, found, strict=True)}
        return {"counts": counts.tolist(), **rates}


def recalls(predicted: IntArray, codes: IntArray, classes: int) -> FloatArray:
    """Share of every class that is predicted correctly."""
    found: FloatArray = np.array([np.mean(predicted[codes == k] == k) for k in range(classes)])
    return found


def rounded_list(values: FloatArray) -> list[float | None]:
    """Four significant digits; nan as None."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values]


def rounded(evidence: dict[str, Any]) -> Numbers:
    """The same of every list of an evidence."""
    return {
        name: rounded_list(np.array(values, dtype=float)) for name, values in evidence.items() if values is not None
    }


def _closed(monitor: Any, counts: IntArray | None = None) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = monitor.end_epoch()
    if counts is None:
        return {}
    found = record.evidence.to_dict()
    del found["seen"], found["before_score"]
    return {
        **found,
        "counts": counts.tolist(),
        "posthoc": [record.posthoc.gain, record.posthoc.low, record.posthoc.high],
        **{f"inputs_{rule}": rates for rule, rates in monitor._first.rates.items()},
    }


def _schedule(name: str, step: int, steps: int) -> float:
    if name == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * step / steps))
    return 1.0 if name == "constant" else 0.1 ** ((step >= steps / 2) + (step >= 3 * steps / 4))


def _network(settings: Settings, split: DrawnExamples) -> tuple[Any, DrawnExamples]:
    """The network and the inputs as it takes them."""
    from lopsided.learners.deep import attention, backbone
    from lopsided.learners.deep.classifier import Classifier
    from torch import nn

    name, classes = settings["network"], settings["classes"]
    if name == "text transformer":
        from lopsided.data.message_catalogues import CHARACTERS, PLACES

        return Classifier(attention.TextTransformer(CHARACTERS, PLACES), 48, classes), split
    if name == "frozen backbone":
        parts = [backbone.backbone_features(inputs) for inputs in (split.inputs, split.held_out, split.test)]
        split = split._replace(inputs=parts[0], held_out=parts[1], test=parts[2])
        return nn.Linear(backbone.FEATURES, classes), split
    if name == "fine-tuned backbone":
        return Classifier(backbone.Backbone(), backbone.FEATURES, classes), split
    if settings["data"] == "clusters":
        return _mlp(settings["dimension"], classes, settings["norm"]), split
    parts = [
        np.ascontiguousarray(halved(inputs), dtype=np.float32) for inputs in (split.inputs, split.held_out, split.test)
    ]
    split = split._replace(inputs=parts[0], held_out=parts[1], test=parts[2])
    shape = parts[0].shape[1:]
    if name == "vit":
        return Classifier(attention.PatchTransformer(shape), 48, classes), split
    if name == "small resnet":
        from lopsided.learners.deep.networks import build

        network = build("resnet-9", shape, classes, width=8)
        return (_with_groups(network) if settings["norm"] == "group" else network), split
    return _mlp(int(np.prod(shape)), classes, settings["norm"]), split


def _mlp(inputs: int, classes: int, norm: str) -> Any:
    from torch import nn

    layers: list[Any] = [nn.Flatten()]
    for wide in (128, 64):
        kinds = {"batch": [nn.BatchNorm1d(wide)], "layer": [nn.LayerNorm(wide)], "none": []}
        layers += [nn.Linear(inputs, wide), *kinds[norm], nn.ReLU()]
        inputs = wide
    return nn.Sequential(*layers, nn.Linear(inputs, classes))


def _with_groups(network: Any) -> Any:
    """The same network with GroupNorm in place of BatchNorm."""
    from torch import nn

    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.BatchNorm2d):
                setattr(module, name, nn.GroupNorm(4, child.num_features))
    return network
