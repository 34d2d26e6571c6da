"""Mini-batch SGD on the wide network, eq (1), in blocks of steps:

    w_r^(t+1) = w_r^(t) - eta sum_{s in B_t} omega_s dL(w^(t), x_s, y_s)/dw_r,      omega_s = 1/B

(full batch and omega = p_{a,b} in the simplified case S). The preactivations of a block of batches are taken from the
weights once; inside the block each step corrects them by <x_s, x_u> times the coefficients of the steps before, which
is the same arithmetic in another order. So the m x d weights are read once per block, not once per step.

Iterate over a descent to run it. After each step it gives access to the batch it has just used and, on demand, to the
weights and the preactivations of probe points. It does not measure anything itself.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray, check_count, check_labels, check_matrix, check_positive
from lopsided.learners.weight_forms import CoefficientWeights, DenseWeights, ProbePoints, WeightForm
from lopsided.learners.wide_relu import (
    PROCESSES,
    Array,
    Process,
    WideNetwork,
    gradient_coefficients,
    network_outputs,
    random_network,
)

Form = Literal["auto", "dense", "coefficients"]
BLOCK_ROWS = 128  # examples per block: arithmetic limits the products, and corrections inside the block stay few


def shuffled_batches(examples: int, batch_size: int, steps: int, rng: np.random.Generator) -> IntArray:
    """(steps, batch_size) indices: one random division of the examples, continued by fresh ones while steps remain.

    With steps <= examples / batch_size this is the process of Section 3, where no example is used twice.
    """
    check_count(steps, "the number of steps")
    if check_count(batch_size, "the batch size") > check_count(examples, "the number of examples"):
        raise InputError(f"batches of at most {examples} examples", batch_size)
    passes = -(-steps * batch_size // examples)
    stream = np.concatenate([rng.permutation(examples) for _ in range(passes)])
    return stream[: steps * batch_size].reshape(steps, batch_size).astype(np.int64)


def full_batches(examples: int, steps: int) -> IntArray:
    """Every example in every step: gradient descent, as in the simplified case S."""
    return np.tile(np.arange(check_count(examples, "the number of examples")), (check_count(steps, "the steps"), 1))


class WideDescent:
    """A run that can be stepped through: `for state in WideDescent(...)` yields the descent itself after each step.

    `points` (n, d), `labels` (n,) codes 0..k-1, `batches` (T, B) indices into them, `rate` eta, `example_weights` (n,)
    replaces 1/B, `probe` (P, d) names points to watch. `network` is the one at the start, `step` counts the updates.
    Arrays are computed in the network's precision. Views handed out are valid until the next step.
    """

    def __init__(
        self,
        network: WideNetwork,
        points: ArrayLike,
        labels: ArrayLike,
        batches: IntArray,
        rate: float,
        *,
        process: Process = "gradient",
        form: Form = "auto",
        block_rows: int = BLOCK_ROWS,
        example_weights: ArrayLike | None = None,
        probe: ArrayLike | None = None,
    ) -> None:
        dtype, dimension = network.hidden.dtype, network.hidden.shape[1]
        if process not in PROCESSES:
            raise InputError(f"a process among {', '.join(PROCESSES)}", repr(process))
        matrix = check_matrix(points, "the points", columns=dimension)
        codes = _checked_codes(labels, len(matrix), len(network.top))
        self._rate = check_positive(rate, "the learning rate")
        self._batches = _checked_batches(batches, len(matrix))
        used, self._positions = _order_of_first_use(self._batches, len(matrix))
        self.network, self._process = network, process
        self._points = matrix.astype(dtype, copy=False)[used]  # cast first: half the memory in float32
        self._labels = codes[used]
        self._omega = _checked_weights(example_weights, len(matrix), self._batches.shape[1])[used].astype(dtype)
        self._form = _choose(form, network.hidden, self._points)
        self._block_steps = max(1, check_count(block_rows, "the rows of a block") // self._batches.shape[1])
        watched = None if probe is None else check_matrix(probe, "the probe points", columns=dimension).astype(dtype)
        self._probe = None if watched is None else ProbePoints(watched, network.hidden)
        self.step = 0
        self._block_examples: IntArray = np.empty(0, dtype=np.int64)
        self._block_values = self._block_moves = np.empty((0, network.width), dtype=dtype)
        self._done_rows = self._added_rows = self._probed_rows = 0

    def __iter__(self) -> Iterator["WideDescent"]:
        top, width = self.network.top, self._batches.shape[1]
        for first in range(self.step, len(self._batches), self._block_steps):
            block = self._positions[self._batches[first : first + self._block_steps]].ravel()
            self._begin_block(block)
            labels, omega = self._labels[block], self._omega[block]
            gram = self._form.gram(block, block)
            initial = None if self._process == "gradient" else self._form.initial_preactivations(block)
            for start in range(0, len(block), width):
                rows = slice(start, start + width)
                values, moves = self._block_values[rows], self._block_moves
                if start:
                    values += gram[rows, :start] @ moves[:start]
                moves[rows] = gradient_coefficients(
                    values, None if initial is None else initial[rows], top, labels[rows], omega[rows], self._process
                )
                moves[rows] *= -self._rate
                self._done_rows = start + width
                self.step += 1
                yield self
        self._add_to_weights()

    @property
    def batch_preactivations(self) -> Array:
        """<w_r, x_s> of the last batch, (B, m), before its update."""
        return self._block_values[self._last_batch]

    @property
    def batch_initial_preactivations(self) -> Array:
        """<w_r^(0), x_s> of the last batch, (B, m)."""
        return self._form.initial_preactivations(self._block_examples[self._last_batch])

    @property
    def batch_displacement(self) -> Array:
        """<w_r - w_r^(0), x_s> of the last batch, (B, m), before its update."""
        return np.asarray(self.batch_preactivations - self.batch_initial_preactivations)

    @property
    def batch_update(self) -> Array:
        """c, (B, m): the last update was w_r += sum_s c_{s,r} x_s."""
        return self._block_moves[self._last_batch]

    @property
    def batch_gram(self) -> Array:
        """<x_s, x_u> of the last batch, (B, B)."""
        examples = self._block_examples[self._last_batch]
        return self._form.gram(examples, examples)

    @property
    def probe_initial_preactivations(self) -> Array:
        """<w_r^(0), x> of the probe points, (P, m)."""
        return self._watched().initial

    def weights(self) -> Array:
        """W after the last step, (m, d)."""
        self._add_to_weights()
        return self._form.dense()

    def probe_preactivations(self) -> Array:
        """<w_r, x> of the probe points after the last step, (P, m)."""
        self._owe_to_probe()
        return self._watched().catch_up(self.weights)

    def probe_outputs(self) -> Array:
        """f(x) of the probe points, (P, k)."""
        return network_outputs(self.probe_preactivations(), self.network.top)

    @property
    def _last_batch(self) -> slice:
        return slice(max(self._done_rows - self._batches.shape[1], 0), self._done_rows)

    def _begin_block(self, block: IntArray) -> None:
        self._add_to_weights()
        self._owe_to_probe()
        self._block_examples, self._block_values = block, self._form.preactivations(block)
        self._block_moves = np.empty_like(self._block_values)
        self._done_rows = self._added_rows = self._probed_rows = 0

    def _watched(self) -> ProbePoints:
        if self._probe is None:
            raise InputError("probe points", None, "pass probe= to the descent")
        return self._probe

    def _owe_to_probe(self) -> None:
        fresh = slice(self._probed_rows, self._done_rows)
        if self._probe is not None:
            self._probe.owe(self._points[self._block_examples[fresh]], self._block_moves[fresh])
        self._probed_rows = self._done_rows

    def _add_to_weights(self) -> None:
        fresh = slice(self._added_rows, self._done_rows)
        if self._done_rows > self._added_rows:
            self._form.add(self._block_examples[fresh], self._block_moves[fresh])
            self._added_rows = self._done_rows


def wide_run(
    points: FloatArray,
    labels: IntArray,
    *,
    classes: int,
    width: int,
    steps: int,
    batch: int,
    rate_times_width: float,
    seed: int,
    initialisation: str = "A3",
    dtype: DTypeLike = np.float32,
    probe: ArrayLike | None = None,
) -> WideDescent:
    """SGD of Section 7 on a sample, from a random start, at a rate of `rate_times_width` / m.

    Network and batches have separate random streams under the seed, so that runs that differ in one setting share the
    rest.
    """
    stream = generator(seed, "network", width)
    network = random_network(width, points.shape[1], classes, stream, initialisation=initialisation, dtype=dtype)
    batches = shuffled_batches(len(points), batch, steps, generator(seed, "batches"))
    return WideDescent(network, points, labels, batches, rate_times_width / width, probe=probe)


def side_by_side(
    network: WideNetwork, points: ArrayLike, labels: ArrayLike, batches: IntArray, rate: float
) -> Iterator[tuple[WideDescent, WideDescent]]:
    """Descent and pseudo-gradient descent from one start on the same batches, in lock step."""
    true = WideDescent(network, points, labels, batches, rate)
    pseudo = WideDescent(network, points, labels, batches, rate, process="pseudo gradient")
    return zip(true, pseudo, strict=True)


def _choose(form: Form, hidden: Array, points: Array) -> WeightForm:
    if form not in ("auto", "dense", "coefficients"):
        raise InputError("a form among auto, dense, coefficients", repr(form))
    if form == "auto":
        # Operations of a step: 2 m n B against 4 m d B.
        form = "coefficients" if len(points) <= 2 * points.shape[1] else "dense"
    return DenseWeights(hidden, points) if form == "dense" else CoefficientWeights(hidden, points)


def _order_of_first_use(batches: IntArray, examples: int) -> tuple[IntArray, IntArray]:
    """The examples in use, in order of first use, and the position of each among them."""
    named, first = np.unique(batches, return_index=True)
    used = named[np.argsort(first)]
    positions = np.full(examples, -1)
    positions[used] = np.arange(len(used))
    return used, positions


def _checked_codes(labels: ArrayLike, examples: int, classes: int) -> IntArray:
    _, names = check_labels(labels, length=examples)
    given = np.asarray(labels)
    if given.dtype.kind not in "biu":
        raise InputError("labels as codes 0, 1, ...", f"names such as {names[0]!r}", "number the classes first")
    if given.min() < 0 or given.max() >= classes:
        raise InputError(f"labels 0 to {classes - 1}", f"{given.min()} to {given.max()}", "match the top layer")
    return given.astype(np.int64)


def _checked_weights(weights: ArrayLike | None, examples: int, batch_size: int) -> FloatArray:
    if weights is None:
        return np.full(examples, 1 / batch_size)
    return check_matrix(np.asarray(weights)[None], "the example weights", columns=examples).ravel()


def _checked_batches(batches: IntArray, examples: int) -> IntArray:
    array = np.asarray(batches)
    if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError("batches as a (steps, batch size) array of indices", f"shape {array.shape}")
    if array.min() < 0 or array.max() >= examples:
        raise InputError(f"indices below {examples} in the batches", int(array.max()))
    return array.astype(np.int64)
