"""What more examples of a group would do to its risk: the exact large-n law on a mixture fitted to the groups.

Groups are Gaussian in the leading components, the network of the mixture papers is fitted to one class against the
rest, and with H_l the Fisher information of group l at it and n_l its examples,

    excess risk of group g = tr((sum_l n_l H_l)^-1 H_g) / 2      (`theory.fisher_law`, with n lambda_l = n_l)

in nats. Examples that are added, of whatever group, lower it; which group lowers it most is a question of where the
information lies. At a fixed n a larger fraction of a group may raise its own risk, which the elasticity says. The
mixture is estimated, so everything is computed again on resampled rows with the network held fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lopsided.checkup.network_fit import NEURONS, NetworkFit, check_entropy, fit_network
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import problem_of
from lopsided.core.seeds import generator
from lopsided.core.validation import FloatArray, IntArray
from lopsided.data.mixture_estimate import MixtureEstimate, estimate_by_moments
from lopsided.theory.fisher_law import Effect, FisherForecast, FisherLaw

RESAMPLES = 40
MATTERS = 0.1  # percent of excess risk per percent of fraction; less, either way, is not worth saying
MOST_ROWS, MOST_GROUPS = 4000, 12
ROWS_PER_COMPONENT = 10  # of a group, for its covariance


@dataclass(frozen=True)
class FractionSaid:
    """How a larger share of a group, at fixed n, changes its own excess risk: the elasticity (percent per percent), its
    interval that holds for all groups at once. `effect` is neutral unless the whole interval lies beyond `MATTERS`."""

    elasticity: float
    low: float
    high: float
    effect: Effect

    @property
    def words(self) -> str:
        """For tables and JSON."""
        return self.effect if self.effect != "neutral" else "neutral or undecided"


@dataclass(frozen=True)
class GroupLaw:
    """The law for groups `codes` of a partition (largest first) with `counts` examples; `drawn` are the informations
    (resamples x groups x p x p) and `elasticities` (resamples x groups) on resampled rows."""

    codes: IntArray
    counts: FloatArray
    information: FloatArray
    forecast: FisherForecast
    drawn: FloatArray
    elasticities: FloatArray
    estimate: MixtureEstimate
    bits_together: float
    network: NetworkFit
    words: str

    def place(self, code: int) -> int | None:
        """Where the group stands in the law; None where it has too few rows for a covariance."""
        found = np.flatnonzero(self.codes == code)
        return int(found[0]) if found.size else None

    def elasticity(self, place: int, tests: int = 1) -> tuple[float, float, float]:
        """Percent of excess risk per percent of fraction at fixed n, with its interval for `tests` groups at once."""
        low, high = _ends(self.elasticities[:, place], tests)
        return self.forecast.groups[place].fraction_effect.elasticity, low, high

    def said(self, place: int) -> FractionSaid:
        """Whether a larger fraction helps or hurts the group, as the audit and `mixture fit` both say it."""
        value, low, high = self.elasticity(place, self.codes.size)
        effect: Effect = "hurts" if low > MATTERS else "helps" if high < -MATTERS else "neutral"
        return FractionSaid(value, low, high, effect)

    def excess(self, place: int) -> float:
        """Excess risk of the group as the data are, in nats."""
        return _excess(self.information, self.counts, place)

    def lowered(self, place: int, by: int, examples: float) -> tuple[float, float, float]:
        """Share of the group's excess risk that disappears when group `by` gets `examples` more, with its interval."""
        more = self.counts.copy()
        more[by] += examples

        def share(information: FloatArray) -> float:
            return 1.0 - _excess(information, more, place) / _excess(information, self.counts, place)

        low, high = _ends(np.array([share(one) for one in self.drawn]), 1)
        return share(self.information), low, high

    def clearly_better(self, place: int, examples: float) -> int | None:
        """The group of which the same number of examples lowers this group's risk most, where 95% of the resamples
        say that it beats its own; None where none does."""

        def risks(information: FloatArray) -> FloatArray:
            grown = self.counts + np.diag(np.full(self.counts.size, examples))
            return np.array([_excess(information, counts, place) for counts in grown])

        best = int(np.argmin(risks(self.information)))
        wins = np.mean([(found := risks(one))[best] < found[place] for one in self.drawn])
        return best if best != place and wins >= 0.95 else None

    def halves_with(self, place: int) -> int:
        """Examples of its own that halve the group's excess risk."""
        from scipy.optimize import brentq

        target = self.excess(place) / 2

        def left(examples: float) -> float:
            more = self.counts.copy()
            more[place] += examples
            return _excess(self.information, more, place) - target

        most = 1.0
        while left(most) > 0:
            most *= 2.0
        return int(np.ceil(brentq(left, 0.0, most)))


def group_law(
    points: FloatArray, codes: IntArray, answers: FloatArray, rows: int, seed: int, *, neurons: int = NEURONS
) -> GroupLaw:
    """Fit mixture and network to points (of `standardised_components`) with groups and answers (0 or 1); there are
    `rows` examples in all."""
    if np.unique(answers).size < 2:
        raise InputError("two classes among the training rows", "one")
    random = generator(seed, "group law")
    order = np.lexsort(points.T)  # rows in an order of their own, so that the given one changes nothing that is drawn
    points, codes, answers = points[order], codes[order], answers[order]
    if len(points) > MOST_ROWS:
        chosen = np.sort(random.choice(len(points), MOST_ROWS, replace=False))
        points, codes, answers = points[chosen], codes[chosen], answers[chosen]
    sizes, needed = np.bincount(codes), ROWS_PER_COMPONENT * points.shape[1]
    large = np.flatnonzero(sizes > needed)
    if large.size < 2:
        raise InputError(f"two groups of more than {needed} examples", f"{large.size}", "add examples or merge groups")
    large = by_size(large, -sizes[large], points, codes)[:MOST_GROUPS]
    keep = np.isin(codes, large)
    answers = answers[keep]
    place = np.full(sizes.size, -1)
    place[large] = np.arange(large.size)
    codes = place[codes[keep]]
    network = fit_network(points[keep], answers, neurons, seed)

    def law_of(chosen: IntArray) -> FisherLaw:
        mixture = estimate_by_moments(network.points[chosen], codes[chosen]).mixture
        return FisherLaw(problem_of(mixture, network.weights), coarse=True)  # far below what resampling moves

    estimate = estimate_by_moments(network.points, codes)
    law = FisherLaw(problem_of(estimate.mixture, network.weights))
    forecast = law.forecast(rows)
    check_entropy(forecast.average_entropy, answers)
    drawn, elasticities = _resampled(law_of, codes, random)
    counts, information = np.asarray(estimate.mixture.fractions * rows), [group.information for group in law.groups]
    together = estimate_by_moments(network.points, np.zeros(len(codes), dtype=int)).bits_per_dimension
    words = f"{len(codes):,} rows in {points.shape[1]} components"
    found = large, counts, np.stack(information), forecast, drawn, elasticities
    return GroupLaw(*found, estimate, together, network, words)


def by_size(parts: IntArray, sizes: IntArray, points: FloatArray, codes: IntArray) -> IntArray:
    """The parts in the order of sizes, equal ones in that of their mean points: their names do not matter."""
    means = np.array([points[codes == part].mean(axis=0) for part in parts])
    return parts[np.lexsort((*means.T[::-1], sizes))]


def _resampled(
    law_of: Callable[[IntArray], FisherLaw], codes: IntArray, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Informations and elasticities with rows drawn again within every group."""
    members = [np.flatnonzero(codes == code) for code in range(int(codes.max()) + 1)]
    drawn, elasticities = [], []
    for _ in range(RESAMPLES):
        law = law_of(np.concatenate([random.choice(own, own.size) for own in members]))
        drawn.append([group.information for group in law.groups])
        elasticities.append([law.fraction_effect(code).elasticity for code in range(len(members))])
    return np.array(drawn), np.array(elasticities)


def _excess(information: FloatArray, counts: FloatArray, place: int) -> float:
    total = np.einsum("l,lij->ij", counts, information)
    return float(np.trace(np.linalg.solve(total, information[place]))) / 2


def _ends(values: FloatArray, tests: int) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025 / tests, 1 - 0.025 / tests))
    return float(low), float(high)
