"""Report curves of what few epochs measured: drawn from one to the next, and one measurement is a dot."""

from dataclasses import replace

import numpy as np
import pytest

import torch
from lopsided.torch import Monitor
from lopsided.torch.monitor.report import overview
from torch import nn


@pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning")
def test_curves_of_few_epochs_are_drawn(tmp_path) -> None:
    torch.manual_seed(0)
    model, loss = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), nn.CrossEntropyLoss()
    inputs, labels = torch.randn(60, 4), torch.arange(60) % 3
    with Monitor(model, loss=loss, geometry_every=4, epochs=20) as monitor:
        for epoch in range(12):
            model.train()
            loss(model(inputs), labels)
            if epoch % 5 == 0:
                model.eval()
                loss(model(inputs), labels)
            monitor.end_epoch()
        monitor.records[6] = replace(
            monitor.records[6], train=replace(monitor.records[6].train, minority_accuracy=np.nan)
        )
        panels = {panel.title: panel for panel in overview(monitor.records, monitor.names).panels}
        curves = {
            line.label: line
            for title in ("Accuracy", "Neural collapse (training features)")
            for line in panels[title].series
        }
        assert list(curves["held out, majority"].x) == [0, 5, 10]
        collapse = curves["NC1 within over between"]
        measured = [r.epoch for r in monitor.records if r.train.neural_collapse and r.train.neural_collapse.nc1]
        assert list(collapse.x) == measured
        assert 2 < len(measured) < 12
        assert all(value is not None and np.isfinite(value) for line in curves.values() for value in line.y)
        for name in ("page.html", "page.png"):
            assert monitor.report(tmp_path / name).stat().st_size > 10_000
        once = {line.label: line for line in overview(monitor.records[1:9], monitor.names).panels[1].series}
        assert once["held out, majority"].markers  # a line of one point would not be seen
