"""A Hugging Face Trainer callback that stops training when the loader does not draw from the OversamplingSampler."""

from typing import Any

from transformers import TrainerCallback

from lopsided.torch.remedies.sampler_guard import check_loader


class TransformersSamplerGuard(TrainerCallback):  # type: ignore[misc]
    """`Trainer(callbacks=[TransformersSamplerGuard()])`. The Trainer makes its own sampler unless it is told otherwise:

    class Oversampled(transformers.Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return sampler  # made with shard=False: Accelerate divides the batches
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The Trainer has built its loader by now."""
        check_loader(kwargs["train_dataloader"])
