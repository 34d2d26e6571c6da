"""The adapters with the real packages, offline and in a temporary folder."""

import warnings

import pytest

import torch
from lopsided.torch import Logger, MLflowLogger, Monitor, TensorBoardLogger, WandbLogger
from torch import nn

from .reference import small_network

# Third-party packages warn about themselves (deprecations inside protobuf, Lightning, Trainer, MLflow's file store); a
# test of ours must not fail on them. Warnings about lopsided's own lines stay errors.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:(google|tensorboard|mlflow|wandb|pydantic).*"),
    pytest.mark.filterwarnings("ignore::FutureWarning:(mlflow|wandb).*"),
]


def watched_run(**options):
    torch.manual_seed(0)
    model = small_network()
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, loss=loss, optimizer=optimizer, **options)
    for _ in range(2):
        loss(model(torch.randn(64, 5)), torch.arange(64) % 4).backward()
        optimizer.step()
        monitor.end_epoch()
    return monitor


def test_the_protocol_is_one_method() -> None:
    class Own:
        def __init__(self):
            self.seen = []

        def log(self, values, step):
            self.seen.append((step, values))

    logger = Own()
    assert isinstance(logger, Logger)
    monitor = watched_run(loggers=logger)
    assert [step for step, _ in logger.seen] == [1, 2]
    scalars = monitor.records[1].scalars()
    assert logger.seen[1][1] == {f"lopsided/{name}": value for name, value in scalars.items()}
    assert all(type(value) is float for value in logger.seen[1][1].values())


def test_tensorboard(tmp_path) -> None:
    logger = TensorBoardLogger(tmp_path)
    monitor = watched_run(loggers=[logger])
    logger.close()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path))
    events.Reload()
    read = events.Scalars("lopsided/train/neural_collapse/nc1")
    assert [event.step for event in read] == [1, 2]
    # Event files hold single precision.
    assert read[1].value == pytest.approx(monitor.records[1].train.neural_collapse.nc1, rel=1e-6)


def test_mlflow(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions ask before using plain files
    import mlflow

    before = mlflow.get_tracking_uri()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # MLflow says that its file store will go; it is only a test's
        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())  # made, with its default experiment, by MLflow
        try:
            with mlflow.start_run() as active:
                monitor = watched_run(loggers=MLflowLogger())
                run_id = active.info.run_id
            MLflowLogger(run_id).log({"later (by id)": 3.0}, step=9)
            client = mlflow.MlflowClient()
            history = client.get_metric_history(run_id, "lopsided/train/loss")
            later = client.get_metric_history(run_id, "later _by id_")
        finally:
            mlflow.set_tracking_uri(before)
    assert [entry.step for entry in history] == [1, 2]
    assert history[1].value == pytest.approx(monitor.records[1].train.loss)
    assert (later[0].step, later[0].value) == (9, 3.0)


def test_wandb_offline(tmp_path, monkeypatch) -> None:
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    logger = WandbLogger(mode="offline", project="lopsided-test", dir=str(tmp_path))
    monitor = watched_run(loggers=logger)
    logger.log({"end": 1.0}, step=monitor.records[1].step + 1)  # a step is committed when the next one begins
    summary = dict(logger.run.summary)
    logger.close()
    assert summary["lopsided/train/loss"] == pytest.approx(monitor.records[1].train.loss)
    assert list(tmp_path.glob("wandb/offline-run-*"))
    own = WandbLogger(run=type("Run", (), {"log": lambda self, values, step: None})())
    own.log({"a": 1.0}, 0)
    own.close()  # a run that was given is not finished here
