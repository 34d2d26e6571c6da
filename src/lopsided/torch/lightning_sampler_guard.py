"""A Lightning callback that stops training when the loader no longer draws from the OversamplingSampler."""

from typing import Any

from lightning.pytorch import Callback

from lopsided.torch.remedies.sampler_guard import check_loader


class LightningSamplerGuard(Callback):  # type: ignore[misc]
    """`Trainer(callbacks=[LightningSamplerGuard()])`: checks every training loader before the first step."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Lightning has built its loaders by now."""
        for loader in trainer.fit_loop._combined_loader.flattened:
            check_loader(loader)
