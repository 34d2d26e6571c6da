"""Preactivations of points that are watched during a run, brought up to date when asked for.

After updates w_r += sum_s c_{s,r} x_s the preactivations of probe points x move by <x, x_s> c_{s,r}: P n m operations
for n updated examples, against P d m for a fresh product with the weights. So updates are remembered while they are
the cheaper way, and the product is taken once they are not.
"""

from collections.abc import Callable

from lopsided.learners.wide_relu import Array


class ProbePoints:
    """Points (P, d) with their initial preactivations, (P, m), and the present ones on demand."""

    def __init__(self, points: Array, hidden: Array) -> None:
        self._points = points
        self.initial: Array = points @ hidden.T
        self._now = self.initial.copy()
        self._owed: list[tuple[Array, Array]] | None = []  # None: too many to replay

    def owe(self, examples: Array, coefficients: Array) -> None:
        """Remember the update w_r += sum_s coefficients[s, r] examples[s]."""
        if self._owed is None or not len(examples):
            return
        self._owed.append((examples, coefficients))
        if sum(len(rows) for rows, _ in self._owed) > self._points.shape[1]:
            self._owed = None

    def catch_up(self, weights: Callable[[], Array]) -> Array:
        """The present preactivations; `weights` is called only when the owed updates are too many."""
        if self._owed is None:
            self._now = self._points @ weights().T
        else:
            for examples, coefficients in self._owed:
                self._now += (self._points @ examples.T) @ coefficients
        self._owed = []
        return self._now
