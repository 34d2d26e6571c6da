"""The callbacks in real trainers: Lightning and Hugging Face Transformers, a few small steps on the CPU."""

import numpy as np
import pytest
from torch.utils.data import DataLoader, Subset, TensorDataset, WeightedRandomSampler

import torch
from lopsided.core.errors import InputError
from lopsided.torch import LightningMonitor, Monitor, TransformersMonitor
from torch import nn

from .reference import small_network

# Trainers warn about themselves (few workers, unused hardware, their own deprecations).
pytestmark = [
    pytest.mark.filterwarnings("ignore::lopsided.torch.ImbalanceWarning"),  # a few epochs of noise teach nothing
    pytest.mark.filterwarnings("ignore:::lightning.*"),
    pytest.mark.filterwarnings("ignore:::(transformers|accelerate|torch.utils.data).*"),
]


@pytest.fixture
def data():
    torch.manual_seed(0)
    return TensorDataset(torch.randn(64, 5), torch.arange(64) % 4)


def test_lightning(data, tmp_path) -> None:
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = small_network(batch_norm=True)

        def forward(self, x):
            return self.network(x)

        def training_step(self, batch, _):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, _, dataloader_idx=0):
            self(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)

    def fit(callback, module):
        trainer = pl.Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=CSVLogger(tmp_path),
            callbacks=[callback],
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(
            module,
            DataLoader(data, batch_size=16),
            [DataLoader(data, batch_size=32), DataLoader(Subset(data, range(24)), 8)],
        )

    callback = LightningMonitor(report=tmp_path / "page.html")
    fit(callback, Module())
    assert len(callback.records) == 2
    last = callback.records[1]
    assert (last.train.examples, last.held_out.examples, last.step) == (64, 64, 8)  # the sanity check is not counted
    assert last.phases["validation 1"].examples == 24
    assert last.forecast.settings.weight_decay == 5e-3
    assert last.forecast.merging_threshold is not None
    assert [record.seen for record in callback.records] == [0.5, 1.0]  # planned steps come from the trainer
    assert last.patterns
    assert (tmp_path / "page.html").exists()
    written = next(tmp_path.rglob("metrics.csv")).read_text()
    assert "lopsided/train/neural_collapse/nc1" in written
    with pytest.raises(InputError, match="labels=lambda batch"):
        fit(LightningMonitor(labels=lambda batch: batch["label"]), Module())
    with pytest.raises(InputError, match="name of a layer"):
        fit(LightningMonitor(module="nowhere"), Module())


def test_transformers(data, tmp_path) -> None:
    from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments
    from transformers.modeling_outputs import SequenceClassifierOutput

    class Small(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config):
            super().__init__(config)
            self.network = small_network()
            self.post_init()

        def forward(self, x, labels=None):
            logits = self.network(x)
            loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
            return SequenceClassifierOutput(loss=loss, logits=logits)

    class TakesLabelsOut(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **_):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            loss = nn.functional.cross_entropy(outputs.logits, labels)
            return (loss, outputs) if return_outputs else loss

    rows = [{"x": x, "labels": y} for x, y in data]

    def train(callback, trainer=Trainer, **options):
        trainer(
            model=Small(PretrainedConfig()),
            args=TrainingArguments(
                output_dir=str(tmp_path),
                num_train_epochs=2,
                per_device_train_batch_size=16,
                gradient_accumulation_steps=2,
                eval_strategy="epoch",
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
                optim="sgd",
                weight_decay=0.01,
                **options,
            ),
            train_dataset=rows,
            eval_dataset=rows[:24],
            callbacks=[callback],
        ).train()

    with pytest.raises(InputError, match="removes them"):
        train(TransformersMonitor(), label_smoothing_factor=0.1)
    with pytest.raises(InputError, match="compute_loss"):
        train(TransformersMonitor(), TakesLabelsOut)
    callback = TransformersMonitor(report=tmp_path / "page.html")
    train(callback)
    assert len(callback.records) == 2
    last = callback.records[1]
    assert (last.train.examples, last.held_out.examples, last.step) == (64, 24, 4)
    assert [record.seen for record in callback.records] == [0.5, 1.0]
    assert last.forecast.settings.optimizer == "SGD"
    assert last.forecast.settings.batch_size == 32
    assert last.forecast.settings.weight_decay == 0.01
    assert (tmp_path / "page.html").exists()


def test_trainers_know_the_sampler(tmp_path) -> None:
    import lightning.pytorch as pl

    labels = torch.repeat_interleave(torch.arange(4), torch.tensor([50, 10, 3, 1]))
    data = TensorDataset(torch.randn(64, 5), labels)
    sampler = WeightedRandomSampler(1 / torch.bincount(labels)[labels], 64)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = small_network()

        def training_step(self, batch, _):
            return nn.functional.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = LightningMonitor()
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, callbacks=[callback], default_root_dir=tmp_path, **quiet
    )
    trainer.fit(Module(), DataLoader(data, 16, sampler=sampler))
    assert callback.records[0].evidence.counts.tolist() == [50, 10, 3, 1]
    assert max(callback.records[0].labels) < 40


def test_lightning_counts_the_latest_validation_and_reads_the_optimizer_of_the_head(tmp_path) -> None:
    import lightning.pytorch as pl

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 5), torch.arange(64) % 4)

    class Manual(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.automatic_optimization = small_network(), False

        def training_step(self, batch, _):
            first, second = self.optimizers()
            self.manual_backward(nn.functional.cross_entropy(self.network(batch[0]), batch[1]))
            for one in (first, second):
                one.step()
                one.zero_grad()

        def validation_step(self, batch, _):
            self.network(batch[0])

        def configure_optimizers(self):
            body, head = self.network[:-1].parameters(), self.network[-1].parameters()
            return torch.optim.AdamW(body, 1e-3), torch.optim.SGD(head, 0.1, weight_decay=0.02)

    callback = LightningMonitor()
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = pl.Trainer(
        max_epochs=2,
        val_check_interval=0.5,
        accelerator="cpu",
        logger=False,
        callbacks=[callback],
        default_root_dir=tmp_path,
        **quiet,
    )
    trainer.fit(Manual(), DataLoader(data, 16), DataLoader(Subset(data, range(24)), 8))
    last = callback.records[-1]
    assert (last.train.examples, last.held_out.examples) == (64, 24)
    settings = last.forecast.settings
    assert (settings.optimizer, settings.weight_decay) == ("SGD", 0.02)
    # the body is trained too, by the other optimizer
    assert (settings.frozen, settings.hidden_layers) == (0.0, 1)


def test_lightning_with_a_stream_and_a_part_that_is_called(tmp_path) -> None:
    """Of a stream Lightning knows no number of steps, but the epochs; and `self.network(x)` passes the module by."""
    import lightning.pytorch as pl

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(64, 5), torch.arange(64) % 4)

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(data)

    class Streamed(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = small_network()

        def training_step(self, batch, _):
            return nn.functional.cross_entropy(self.network(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    callback = LightningMonitor()
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    options = {"accelerator": "cpu", "logger": False, "default_root_dir": tmp_path}
    pl.Trainer(max_epochs=2, callbacks=[callback], **options, **quiet).fit(Streamed(), DataLoader(Stream(), 16))
    assert [record.seen for record in callback.records] == [0.5, 1.0]
    assert np.isfinite(callback.records[0].evidence.before_score).all()


def test_transformers_evaluations_and_a_resume(tmp_path) -> None:
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    torch.manual_seed(0)
    rows = [{"input_ids": torch.randint(1, 20, (6,)).tolist(), "labels": k % 3} for k in range(48)]
    config = BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=3
    )

    def train(epochs, evaluated, resume=False, **options):
        callback = TransformersMonitor(patterns=0, layers=False)
        arguments = TrainingArguments(
            output_dir=str(tmp_path),
            num_train_epochs=epochs,
            per_device_train_batch_size=8,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            **options,
        )
        Trainer(
            model=BertForSequenceClassification(config),
            args=arguments,
            train_dataset=rows,
            eval_dataset=evaluated,
            callbacks=[callback],
        ).train(resume_from_checkpoint=resume)
        return callback.records

    two = train(2, {"a": rows[:12], "b": rows[:9]}, eval_strategy="epoch", save_strategy="epoch")
    assert [(one.train.examples, one.held_out.examples) for one in two] == [(48, 12)] * 2
    assert [one.phases["evaluation 1"].examples for one in two] == [9, 9]
    resumed = train(4, rows[:12], resume=True, eval_strategy="epoch", save_strategy="no")
    assert [one.seen for one in resumed] == [0.75, 1.0]
    often = train(1, rows[:12], eval_strategy="steps", eval_steps=2, save_strategy="no")
    assert [(one.train.examples, one.held_out.examples) for one in often] == [(48, 12)]  # 6 steps, 3 evaluations


def test_language_models_are_given_the_tokens_that_they_shift() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=12, n_positions=9, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    )
    tokens = torch.randint(0, 12, (5, 9))
    with Monitor(model.eval(), labels="labels", patterns=0, layers=False) as monitor, torch.no_grad():
        loss = model(input_ids=tokens, labels=tokens.masked_fill(tokens == 3, -100)).loss
        held_out = monitor.end_epoch().held_out
    wanted = torch.bincount(tokens[:, 1:].reshape(-1), minlength=12)
    assert held_out.counts == tuple(0 if k == 3 else int(n) for k, n in enumerate(wanted))
    assert held_out.loss == pytest.approx(float(loss), rel=1e-5)  # single precision
