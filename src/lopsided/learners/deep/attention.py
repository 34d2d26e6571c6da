"""Small transformers as bodies of a `Classifier`: over patches of a picture, or over the characters of a text.

Pre-norm blocks as in ViT (Dosovitskiy et al. 2021):  x + attention(LN(x)),  then  x + MLP(LN(x)),  with learned
positions; the features are the mean over places after a last LayerNorm.
"""

import math

from torch.nn.functional import gelu, scaled_dot_product_attention

import torch
from torch import Tensor, nn


class AttentionBlock(nn.Module):  # type: ignore[misc]  # PyTorch is not typed here
    """Self-attention and a hidden layer of twice the width."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the rows."""
        rows, places, width = inputs.shape
        parts = self.mixed(self.first(inputs)).view(rows, places, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(rows, places, width)
        inputs = inputs + self.joined(seen)
        return inputs + self.narrow(gelu(self.wide(self.second(inputs))))


class PatchTransformer(nn.Module):  # type: ignore[misc]
    """Pictures (n, channels, height, width) to features (n, width)."""

    def __init__(self, shape: tuple[int, int, int], *, patch: int = 4, width: int = 48, depth: int = 3) -> None:
        super().__init__()
        channels, height, across = shape
        places = math.ceil(height / patch) * math.ceil(across / patch)
        self.padding = (0, -across % patch, 0, -height % patch)
        self.patches = nn.Conv2d(channels, width, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, places, width))
        self.blocks = nn.Sequential(*(AttentionBlock(width, 4) for _ in range(depth)), nn.LayerNorm(width))

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the rows."""
        patches = self.patches(nn.functional.pad(inputs, self.padding)).flatten(2).transpose(1, 2)
        return self.blocks(patches + self.positions).mean(dim=1)


class TextTransformer(nn.Module):  # type: ignore[misc]
    """Character codes (n, places), 0 for none, to features (n, width)."""

    def __init__(self, characters: int, places: int, *, width: int = 48, depth: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width, padding_idx=0)
        self.positions = nn.Parameter(torch.zeros(1, places, width))
        self.blocks = nn.Sequential(*(AttentionBlock(width, 4) for _ in range(depth)), nn.LayerNorm(width))

    def forward(self, inputs: Tensor) -> Tensor:
        """Features of the rows."""
        codes = inputs.long()
        there = (codes != 0).unsqueeze(2)
        hidden = self.blocks(self.embedding(codes) + self.positions)
        return (hidden * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)
