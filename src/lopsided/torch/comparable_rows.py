"""Examples as rows of numbers that simple rules can compare, and a sample of them that fits into memory.

pictures, films   means over squares, so that 14 to 28 pixels a side are left; smaller ones as they are
tokens            how often each occurs; a run of the same one counts once, so that padding does not outweigh words
other numbers     as they are, up to MOST_COLUMNS; of more, sums over random columns with random signs, which keep
                  distances up to some percent
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import torch
from lopsided.core.validation import FloatArray, IntArray

LARGE_SIDE, SMALL_SIDE = 28, 16  # pixels
MOST_COLUMNS = 2048
MOST_TOKENS = 1024  # beyond, tokens share columns
MOST_ROWS = 6000
GOLDEN = (5**0.5 - 1) / 2  # its multiples, less their whole parts, are spread evenly
THINNED_TO = 0.8


def comparable(inputs: torch.Tensor) -> torch.Tensor:
    """n x columns in single precision."""
    if inputs.ndim == 2 and not inputs.is_floating_point() and inputs.dtype not in (torch.bool, torch.uint8):
        return _token_counts(inputs)
    rows = inputs.detach().float()
    for place in range(1, rows.ndim) if rows.ndim > 3 else ():
        if (side := rows.shape[place]) >= LARGE_SIDE:
            each = -(-side // SMALL_SIDE)
            rows = rows.narrow(place, 0, side // each * each).unflatten(place, (-1, each)).mean(dim=place + 1)
    rows = rows.reshape(len(rows), -1)
    if rows.shape[1] <= MOST_COLUMNS:
        return rows
    random = torch.Generator().manual_seed(0)
    places = torch.randint(MOST_COLUMNS, (rows.shape[1],), generator=random).to(rows.device)
    signs = (torch.randint(2, (rows.shape[1],), generator=random) * 2.0 - 1.0).to(rows.device)
    return rows.new_zeros(len(rows), MOST_COLUMNS).index_add_(1, places, rows * signs)


def _token_counts(tokens: torch.Tensor) -> torch.Tensor:
    starts = torch.ones_like(tokens, dtype=torch.bool)
    starts[:, 1:] = tokens[:, 1:] != tokens[:, :-1]
    found = torch.zeros(len(tokens), MOST_TOKENS, device=tokens.device)
    return found.scatter_add_(1, tokens.long() % MOST_TOKENS, starts.float())


def model_inputs(arguments: tuple[Any, ...], keywords: Mapping[str, Any], labels: str | None) -> list[torch.Tensor]:
    """What a model was given of every example: the tensors with as many rows as the first, but no masks or labels."""
    named = [value for name, value in keywords.items() if name != labels and not name.endswith("mask")]
    tensors = [one for one in (*arguments, *named) if isinstance(one, torch.Tensor) and one.ndim > 0]
    return [one for one in tensors if len(one) == len(tensors[0]) and one.dtype is not torch.bool]


class RowSample:
    """A sample of labelled rows in which every class keeps its share, and at least one row.

    Of a class, row number n = 0, 1, 2, ... is kept if n times the golden ratio, less its whole part, is below a share
    that falls when there are more than MOST_ROWS. `counts` are all examples of every class that were shown.
    """

    def __init__(self) -> None:
        self.counts: IntArray = np.zeros(0, dtype=np.int64)
        self._share = 1.0
        self._rows: list[torch.Tensor] = []
        self._codes, self._places = np.zeros(0, dtype=np.int64), np.zeros(0)

    def add(
        self,
        inputs: Sequence[torch.Tensor],
        codes: IntArray,
        as_rows: Callable[[torch.Tensor], torch.Tensor] = comparable,
    ) -> None:
        """Further examples: one or more tensors with a row for each code; `as_rows` is applied to those kept."""
        places = self._places_of(codes)
        kept = np.flatnonzero(places < self._share)
        if kept.size == 0:
            return
        chosen = torch.from_numpy(kept)
        rows = [as_rows(one.detach()[chosen.to(one.device)]).to("cpu", torch.float32) for one in inputs]
        self._rows.append(torch.cat(rows, dim=1))
        self._codes, self._places = np.append(self._codes, codes[kept]), np.append(self._places, places[kept])
        while self._codes.size > MOST_ROWS and np.any(self._places > 0):
            self._thin()

    def taken(self) -> tuple[NDArray[np.float32], IntArray]:
        """Rows and codes."""
        return (torch.cat(self._rows).numpy() if self._rows else np.zeros((0, 0), np.float32)), self._codes

    def _places_of(self, codes: IntArray) -> FloatArray:
        """The golden multiples of the codes' numbers within their classes, and the counts with them."""
        many = max(self.counts.size, int(codes.max(initial=-1)) + 1)
        reached = np.pad(self.counts, (0, many - self.counts.size))
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        places = np.empty(codes.size)
        places[order] = (reached[ordered] + np.arange(codes.size) - np.searchsorted(ordered, ordered)) * GOLDEN % 1.0
        self.counts = reached + np.bincount(codes, minlength=many)
        return places

    def _thin(self) -> None:
        self._share *= THINNED_TO
        kept = np.flatnonzero(self._places < self._share)
        self._rows = [torch.cat(self._rows)[torch.from_numpy(kept)]]
        self._codes, self._places = self._codes[kept], self._places[kept]
