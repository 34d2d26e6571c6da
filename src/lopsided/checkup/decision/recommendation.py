"""A trial's recommendation: the arm with the largest expected gain, given the measurement and the prior.

The measured gains of all arms over plain training have a joint error: of two arms with the errors e_a, e_b over plain
training and e_ab between each other, the covariance is (e_a^2 + e_b^2 - e_ab^2) / 2. What is stated comes from draws of
the posterior (`GainPrior.posterior`): the chance that an arm is best among all, plain training among them, the chance
that it is worse than plain training, and a 90% interval of its gain. Whether more
repeats would decide is computed, too: they reduce what differs between repeats of the cross-validation, but not what
the examples leave open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lopsided.checkup.decision.prior import GainPosterior, GainPrior
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import FloatArray
from lopsided.measure.metrics.contract import Answers, Judged, Metric
from lopsided.measure.paired_scores import Estimate, gain
from lopsided.remedies.plain import Plain

LEVEL = 0.9  # of the interval of the gain
DECIDED = 0.8  # a chance of being best that needs no further repeats
NEGLIGIBLE = 0.002  # arms whose expected difference is smaller count as equal
PLAIN = Plain.name
RIVAL = 0.1  # a chance of being best that is worth a mention
NEAR = 0.01  # of arms whose expected gains are so near each other, it hardly matters which is used
_DRAWS = 4000
_MORE = (3, 5, 10, 20, 50)  # repeats that are considered


@dataclass(frozen=True)
class Recommendation:
    """What to use. `chances` are those of being best, `gains` what is expected, by arm; `settled_by` says what would
    decide between rivals, `more_repeats` how many repeats in all would, where they would. `falls`: the metric is the
    better the smaller, and gains are what it falls by."""

    arm: str
    chance_best: float
    chance_worse: float
    gain: float
    low: float
    high: float
    settled_by: str | None
    more_repeats: int | None
    metric: str
    chances: Mapping[str, float]
    gains: Mapping[str, float]
    falls: bool = False

    def sentence(self, but: str | None = None, *, brief: bool = False) -> str:
        """The advice in plain words; `but` is what it costs. `brief` leaves out the rivals and what would decide."""
        others = "" if brief else self._rivals()
        if self.arm == PLAIN:
            return f"Keep plain training: no remedy is expected to improve {self.metric}.{others}"
        sign, gained = ("", f"{self.metric} lower by") if self.falls else ("+", f"expected gain in {self.metric}")
        low, high = (f"{bound:{sign}.3f}" for bound in (self.low, self.high))
        return (
            f"Use {self.arm}: {gained} {self.gain:{sign}.3f} [{low}, {high}], "
            f"chance of being best {self.chance_best:.0%}, of being worse than plain training {self.chance_worse:.0%}"
            f"{'; but ' + but if but else ''}.{others}"
        )

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        rows = [[arm, self.gains[arm], chance] for arm, chance in self.chances.items() if arm in self.gains]
        return notebook_view(self.sentence(), (("arm", "expected gain", "chance of being best"), rows))

    def _rivals(self) -> str:
        """The arms that may be best as well, and what would decide; less of it where they are nearly as good."""
        rivals = [name for name, chance in self.chances.items() if name != self.arm and chance >= RIVAL]
        settled = f" {self.settled_by}" if self.settled_by else ""
        if not rivals:
            return settled
        if self.more_repeats is None and all(self.gains[name] >= self.gains[self.arm] - NEAR for name in rivals):
            return f" Nearly as good, within {NEAR:g}: {', '.join(rivals)}."
        told = [f"{'plain training' if name == PLAIN else name} ({self.chances[name]:.0%})" for name in rivals]
        return f" Rivals: {', '.join(told)}.{settled}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that scripts rely on."""
        return asdict(self) | {"chances": dict(self.chances), "gains": dict(self.gains)}


@dataclass(frozen=True)
class MeasuredGains:
    """Gains of arms over plain training, their joint error with its degrees of freedom, the part of it that one
    repeat adds (None after a single repeat), and `room`: how far plain training is from the best value there can be."""

    arms: tuple[str, ...]
    values: FloatArray
    errors: FloatArray
    of_repeat: FloatArray | None = None
    repeats: int = 1
    degrees: float = float("inf")
    room: float | None = None

    def after(self, repeats: int) -> FloatArray:
        """The joint error that is to be expected after that many repeats."""
        if self.of_repeat is None:
            return self.errors
        return _positive(self.errors - self.of_repeat * (1.0 / self.repeats - 1.0 / repeats))


def measured_gains(metric: Metric, plain: Answers, arms: Mapping[str, Answers], judged: Judged) -> MeasuredGains:
    """Gains and their joint error from the answers of all arms; an arm with fewer repeats is compared on those."""
    names = tuple(arms)
    gains = [common_gain(metric, arms[name], plain, judged) for name in names]
    errors = np.diag([entry.error**2 for entry in gains])
    for first in range(len(names)):
        for second in range(first):
            between = common_gain(metric, arms[names[first]], arms[names[second]], judged).error ** 2
            errors[first, second] = errors[second, first] = (
                errors[first, first] + errors[second, second] - between
            ) / 2
    values = np.array([entry.value for entry in gains])
    repeats = min((arm.repeats for arm in arms.values()), default=1)
    of_repeat = _of_repeat(metric, plain, arms, judged, repeats)
    degrees = min((entry.degrees for entry in gains), default=float("inf"))
    least, most = metric.bounds
    reached = metric.value(plain, judged)
    room = most - reached if metric.larger_is_better else reached - least
    return MeasuredGains(names, values, _positive(errors), of_repeat, repeats, degrees, room)


def common_gain(metric: Metric, arm: Answers, against: Answers, judged: Judged) -> Estimate:
    """The paired gain on the repeats that both arms have."""
    both = slice(min(arm.repeats, against.repeats))
    return gain(metric, arm.among(both), against.among(both), judged)


def recommend(
    measured: MeasuredGains,
    prior: GainPrior,
    metric: str,
    *,
    falls: bool = False,
    seconds: float | None = None,
    seed: int = 0,
) -> Recommendation:
    """The arm with the largest expected gain; `seconds` is what one repeat of the leading arms takes."""
    found = prior.posterior(measured.values, prior.trial_errors(measured.errors))
    names = (PLAIN, *measured.arms)
    drawn = draws(found, seed)
    chances = np.bincount(drawn.argmax(axis=1), minlength=len(names)) / len(drawn)
    centre = np.append(0.0, found.mean)
    best = int(centre.argmax())
    low, high = np.quantile(drawn[:, best], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    settled, repeats = _settled_by(measured, prior, names, best, drawn, seconds, seed)
    return Recommendation(
        arm=names[best],
        chance_best=float(chances[best]),
        chance_worse=float((drawn[:, best] < 0).mean()),
        gain=float(centre[best]),
        low=float(low),
        high=float(high),
        settled_by=settled,
        more_repeats=repeats,
        metric=metric,
        chances={names[code]: float(chances[code]) for code in np.argsort(-chances, kind="stable")},
        gains=dict(zip(names, centre.tolist(), strict=True)),
        falls=falls,
    )


def draws(found: GainPosterior, seed: int, number: int = _DRAWS) -> FloatArray:
    """Gains of plain training (0) and of all arms, drawn from their distribution."""
    return np.hstack([np.zeros((number, 1)), found.draws(seed, number)])


def _settled_by(
    measured: MeasuredGains,
    prior: GainPrior,
    names: Sequence[str],
    best: int,
    drawn: FloatArray,
    seconds: float | None,
    seed: int,
) -> tuple[str | None, int | None]:
    """What would decide between the arms that may be best, in a sentence, None where that is decided; and the repeats
    that would."""
    regret = float((drawn.max(axis=1) - drawn[:, best]).mean())
    chances = np.bincount(drawn.argmax(axis=1), minlength=len(names)) / len(drawn)
    if chances[best] >= DECIDED or len(names) < 3:
        return None, None
    second = int(np.argsort(-chances)[0 if np.argsort(-chances)[0] != best else 1])
    if regret <= NEGLIGIBLE:
        return f"It and {names[second]} are equally good: the expected difference is {regret:.4f}.", None
    for repeats in [more for more in _MORE if more > measured.repeats and measured.of_repeat is not None]:
        if _expected_chance(measured, prior, repeats, seed) >= DECIDED:
            time = "" if seconds is None else f" ({seconds * (repeats - measured.repeats):.0f} s)"
            return (
                f"Too close to call between it and {names[second]}; {repeats} repeats{time} would probably decide.",
                repeats,
            )
    another = measured.repeats + 1 if measured.of_repeat is None else None
    known = (
        "run at least two repeats to see whether more would decide"
        if another
        else "more repeats would not decide, more examples would"
    )
    return f"Too close to call between it and {names[second]}; {known}.", another


def _expected_chance(measured: MeasuredGains, prior: GainPrior, repeats: int, seed: int) -> float:
    """The chance of being best that the arm in front is expected to have after that many repeats.

    What is measured then moves the posterior mean by N(0, V now - V then), if the model is right and nearly normal.
    """
    now = prior.posterior(measured.values, prior.trial_errors(measured.errors))
    then = prior.posterior(measured.values, prior.trial_errors(measured.after(repeats))).covariance
    centres = draws(GainPosterior.normal(now.mean, _positive(now.covariance - then)), seed, 200)
    rest = draws(GainPosterior.normal(np.zeros(len(measured.arms)), then), seed + 1, 200)
    best = (rest[None, :, :] + centres[:, None, :]).argmax(axis=2)
    lead = centres.argmax(axis=1)
    return float((best == lead[:, None]).mean())


def _of_repeat(
    metric: Metric, plain: Answers, arms: Mapping[str, Answers], judged: Judged, repeats: int
) -> FloatArray | None:
    """Covariance over repeats of the gains within one repeat."""
    if repeats < 2 or not arms:
        return None
    sign = 1.0 if metric.larger_is_better else -1.0
    single = np.array(
        [
            [metric.value(arm.among(slice(repeat, repeat + 1)), judged) for arm in (plain, *arms.values())]
            for repeat in range(repeats)
        ]
    )
    return np.atleast_2d(np.cov(sign * (single[:, 1:] - single[:, :1]), rowvar=False))


def _positive(matrix: FloatArray) -> FloatArray:
    """The nearest covariance: rounding and polarisation can leave small negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 1e-12)) @ vectors.T)
