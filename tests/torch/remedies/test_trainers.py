"""The sampler inside the real trainers: left in place, and the run stopped where it was replaced."""

import logging
import warnings

import numpy as np
import pytest
from torch.utils.data import DataLoader, Dataset

import torch
from lopsided.core.errors import InputError
from lopsided.torch import LightningSamplerGuard, OversamplingSampler, TransformersSamplerGuard

LABELS = np.repeat([0, 1], [20, 4])


class Rows(Dataset):
    """Examples that remember how often they were shown."""

    def __init__(self) -> None:
        self.shown = np.zeros(24, dtype=int)
        self.targets = LABELS

    def __len__(self):
        return 24

    def __getitem__(self, index):
        self.shown[index] += 1
        return {"x": torch.ones(3), "labels": torch.tensor(LABELS[index])}


def lightning_module():
    import lightning.pytorch as pl

    class Tiny(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.layer(batch["x"]), batch["labels"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Tiny()


def lightning_trainer(tmp_path, **options):
    import lightning.pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return pl.Trainer(max_epochs=2, accelerator="cpu", devices=1, default_root_dir=tmp_path, **quiet, **options)


def test_lightning_keeps_the_sampler_and_sets_its_epoch(tmp_path) -> None:
    data = Rows()
    sampler = OversamplingSampler(data, rate="balanced")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's hints about workers
        lightning_trainer(tmp_path, callbacks=[LightningSamplerGuard()]).fit(
            lightning_module(), DataLoader(data, batch_size=4, sampler=sampler)
        )
    assert data.shown.tolist() == [2] * 20 + [10] * 4
    assert sampler.epoch == 1


def test_lightning_under_ddp_leaves_a_distributed_sampler_alone() -> None:
    """The rule by which Lightning decides, asked directly: a plain sampler is replaced, ours is not."""
    from types import SimpleNamespace

    from lightning.pytorch.trainer.connectors.data_connector import _DataConnector
    from torch.utils.data import WeightedRandomSampler

    connector = SimpleNamespace(use_distributed_sampler=True, is_distributed=True)
    asked = SimpleNamespace(trainer=SimpleNamespace(_accelerator_connector=connector))
    data = Rows()
    replaces = _DataConnector._requires_distributed_sampler
    assert replaces(asked, DataLoader(data, sampler=WeightedRandomSampler([1.0] * 24, 24)))
    assert not replaces(asked, DataLoader(data, sampler=OversamplingSampler(data, rate=2)))


def test_lightning_guard_stops_a_run_whose_sampler_was_replaced(tmp_path) -> None:
    data = Rows()
    trainer = lightning_trainer(tmp_path, callbacks=[LightningSamplerGuard()], overfit_batches=2)
    loader = DataLoader(data, batch_size=4, sampler=OversamplingSampler(data, rate=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match="draws from SequentialSampler"):
            trainer.fit(lightning_module(), loader)


class TinyClassifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x, labels):
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def hugging_face_trainer(tmp_path, data, sampler):
    from transformers import Trainer, TrainingArguments

    class Oversampled(Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return sampler if sampler is not None else super()._get_train_sampler(train_dataset)

    settings = TrainingArguments(
        tmp_path,
        num_train_epochs=2,
        per_device_train_batch_size=4,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
    )
    return Oversampled(
        model=TinyClassifier(), args=settings, train_dataset=data, callbacks=[TransformersSamplerGuard()]
    )


def test_hugging_face_trainer_with_the_sampler_and_without(tmp_path) -> None:
    data = Rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Accelerate's hints about pinned memory
        hugging_face_trainer(tmp_path, data, OversamplingSampler(data, rate="balanced", shard=False)).train()
        assert data.shown.tolist() == [2] * 20 + [10] * 4
        with pytest.raises(InputError, match="override _get_train_sampler"):
            hugging_face_trainer(tmp_path, data, None).train()
