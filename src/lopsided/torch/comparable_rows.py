"""Examples as rows of numbers that simple rules can compare, and a sample of them that fits into memory.

pictures, films   means over neighbouring pixels: the longest side is halved until MOST_COLUMNS are left
tokens            how often each occurs; a run of the same one counts once, so that padding does not outweigh words
categories        whole numbers of a model with about one embedding a column: each value of each column
other numbers     whole ones of a model without embeddings among them, as they are; columns of unlike units are scaled,
                  and of more than MOST_COLUMNS sums are taken over random columns with random signs, which keep
                  distances up to some percent
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import torch
from lopsided.core.validation import FloatArray, IntArray
from torch import nn

MOST_COLUMNS = (
    256  # of all inputs together; on pictures, simple rules are right as often with 3,072 and ten times slower
)
LEAST_SIDE = 10  # sides shorter than this are not halved
ONE_A_COLUMN = 0.8  # embeddings a column; a model of language has two or three for all its places
UNLIKE = 30.0  # times the median deviation: no feature in one unit varies so much more than the others
MOST_ROWS = 4000  # their neighbours take a tenth of a second
GOLDEN = (5**0.5 - 1) / 2  # its multiples, less their whole parts, are spread evenly
THINNED_TO = 0.8  # a class loses at most so much of its sample at a time
EMBEDDINGS = (nn.Embedding, nn.EmbeddingBag)
LABEL_NAMES = frozenset({"label", "labels", "target", "targets", "y"})


class IncomparableError(ValueError):
    """Inputs that are no rows of numbers of one kind; the message says what they are."""


class InputForm:
    """How one input of a model with so many embeddings becomes rows of so many columns; the first examples show its
    shape."""

    def __init__(self, first: torch.Tensor, columns: int, embeddings: int = 0) -> None:
        rows = _real(first)
        self._axes, self._columns = rows.ndim, columns
        numbers = rows.is_floating_point() or rows.dtype in (torch.bool, torch.uint8)
        self._whole = rows.ndim == 2 and embeddings > 0 and not numbers
        self._by_place = self._whole and embeddings >= ONE_A_COLUMN * rows.shape[1]
        self._sides = _halved(tuple(rows.shape[1:]), columns)
        self.width = columns if self._whole else min(columns, int(np.prod(self._sides)))
        self.has_units = rows.ndim == 2 and not self._whole and rows.shape[1] == self.width  # each column its own
        random, wide = torch.Generator().manual_seed(0), int(np.prod(self._sides))
        self._places = torch.randint(columns, (wide,), generator=random)
        self._signs = torch.randint(2, (wide,), generator=random) * 2.0 - 1.0

    def rows(self, inputs: torch.Tensor) -> torch.Tensor:
        """n x columns in single precision."""
        given = _real(inputs)
        if given.ndim != self._axes:
            raise IncomparableError("inputs with different numbers of axes")
        if self._whole:
            return _counts(given.long(), self._columns, by_place=self._by_place)
        rows = given.float()
        for place, side in enumerate(self._sides, start=1):
            rows = _resized(rows, place, side)
        rows = rows.reshape(len(rows), -1)
        if rows.shape[1] <= self._columns:
            return rows
        signed = rows * self._signs.to(rows.device)
        return rows.new_zeros(len(rows), self._columns).index_add_(1, self._places.to(rows.device), signed)


def _real(inputs: torch.Tensor) -> torch.Tensor:
    given = inputs.detach()
    given = torch.view_as_real(given) if given.is_complex() else given
    return given[:, None] if given.ndim == 1 else given


def _halved(sides: tuple[int, ...], columns: int) -> tuple[int, ...]:
    """The sides of pictures and films once the longest has been halved often enough; a long signal is treated alike."""
    found = list(sides)
    if len(sides) < 2:
        return sides
    while np.prod(found) > columns and max(found) >= LEAST_SIDE:
        longest = int(np.argmax(found))
        found[longest] = -(-found[longest] // 2)
    return tuple(found)


def _resized(rows: torch.Tensor, place: int, side: int) -> torch.Tensor:
    """Means over neighbours along an axis, or repeats, until it has this length."""
    was = rows.shape[place]
    if was == side:
        return rows
    if was == 0:
        raise IncomparableError("empty inputs")
    if was % side == 0:
        return rows.unflatten(place, (side, was // side)).mean(dim=place + 1)
    if was < side:
        return rows.index_select(place, torch.arange(side, device=rows.device) * was // side)
    bins = torch.arange(was, device=rows.device) * side // was
    sums = rows.new_zeros(*rows.shape[:place], side, *rows.shape[place + 1 :]).index_add_(place, bins, rows)
    shape = [1] * place + [side] + [1] * (rows.ndim - place - 1)
    return sums / torch.bincount(bins, minlength=side).view(shape)


def _counts(values: torch.Tensor, columns: int, *, by_place: bool) -> torch.Tensor:
    """How often each token occurs, or which value each column has; beyond the columns some share one."""
    counted = torch.ones_like(values, dtype=torch.bool)
    if by_place:
        places = torch.arange(values.shape[1], device=values.device)
        values = values + 97 * places  # a prime: few values of columns meet
    else:
        counted[:, 1:] = values[:, 1:] != values[:, :-1]
    found = torch.zeros(len(values), columns, device=values.device)
    return found.scatter_add_(1, values % columns, counted.float())


def _scaled(rows: NDArray[np.float32], form: InputForm, *, alone: bool) -> NDArray[np.float32]:
    """Columns of unlike units in units of their deviations; one of several inputs in that of all its columns."""
    if alone and not form.has_units:
        return rows
    with np.errstate(invalid="ignore", over="ignore"):
        deviations = np.nanstd(np.where(np.isfinite(rows), rows, np.nan), axis=0, dtype=np.float64)
    varied = deviations[deviations > 0]
    if not varied.size:
        return rows
    if form.has_units and varied.max() > UNLIKE * np.median(varied):
        return np.asarray(rows / np.where(deviations > 0, deviations, 1.0), dtype=np.float32)
    return rows if alone else np.asarray(rows / np.sqrt(np.square(varied).sum()), dtype=np.float32)


def model_inputs(arguments: Iterable[Any], keywords: Mapping[str, Any], labels: str | None) -> list[torch.Tensor]:
    """What a model was given of every example: the tensors with as many rows as the first, but no masks or labels."""
    named = [value for name, value in keywords.items() if name not in LABEL_NAMES | {labels} and "mask" not in name]
    found: list[torch.Tensor] = []
    for value in (*arguments, *named):
        if isinstance(value, Mapping):
            found += model_inputs((), value, labels)
        else:
            found += [one for one in (value if isinstance(value, (tuple, list)) else [value]) if _is_plain(one)]
    masks = (one for one in found[1:] if one.dtype is torch.bool)
    left_out = {id(one) for one in masks}
    return [one for one in found if len(one) == len(found[0]) and id(one) not in left_out]


def _is_plain(value: Any) -> bool:
    """Whether rows can be taken out of it."""
    if not isinstance(value, torch.Tensor) or value.is_nested or value.layout != torch.strided:
        return False
    return value.ndim > 0 and not value.is_quantized and value.device.type != "meta"


class RowSample:
    """A sample of labelled rows in which every class keeps its share, and at least one row.

    Of a class, row number n = 0, 1, 2, ... is kept if n times the golden ratio, less its whole part, is below a share
    that falls when there are more than MOST_ROWS. `counts` are all examples of every class that were shown. The `model`
    tells whether whole numbers are tokens, categories or numbers.
    """

    def __init__(self, model: nn.Module | None = None) -> None:
        self._embeddings = 0 if model is None else sum(isinstance(one, EMBEDDINGS) for one in model.modules())
        self.counts: IntArray = np.zeros(0, dtype=np.int64)
        self._share = 1.0
        self._forms: list[InputForm] = []
        self._rows: list[torch.Tensor] = []
        self._codes, self._places = np.zeros(0, dtype=np.int64), np.zeros(0)

    def add(
        self,
        inputs: Sequence[torch.Tensor],
        codes: IntArray,
        before: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        """Further examples: one or more tensors with a row for each code; `before` is applied to those kept."""
        places = self._places_of(codes)
        kept = np.flatnonzero(places < self._share)
        if kept.size == 0:
            return
        chosen = torch.from_numpy(kept)
        parts = [one.detach()[chosen.to(one.device)] for one in inputs]
        parts = parts if before is None else [before(part) for part in parts]
        if not self._forms:
            share = max(1, MOST_COLUMNS // len(parts))
            self._forms = [InputForm(part, share, self._embeddings) for part in parts]
        if len(parts) != len(self._forms):
            raise IncomparableError("a different number of inputs now and then")
        rows = [form.rows(part).to("cpu", torch.float32) for form, part in zip(self._forms, parts, strict=True)]
        self._rows.append(torch.cat(rows, dim=1))
        self._codes, self._places = np.append(self._codes, codes[kept]), np.append(self._places, places[kept])
        while self._codes.size > MOST_ROWS and np.any(self._places > 0):
            self._thin()

    def taken(self) -> tuple[NDArray[np.float32], IntArray]:
        """Rows and codes; several inputs, and columns of unlike units, are scaled to equal deviation."""
        if not self._rows:
            return np.zeros((0, 0), np.float32), self._codes
        rows = torch.cat(self._rows).numpy()
        edges = np.cumsum([form.width for form in self._forms])
        parts = np.split(rows, edges[:-1], axis=1)
        alone = len(parts) == 1
        scaled = [_scaled(part, form, alone=alone) for part, form in zip(parts, self._forms, strict=True)]
        return (scaled[0] if alone else np.concatenate(scaled, axis=1)), self._codes

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
