"""A family of tasks with a forecast to check: the settings, what a forecaster may see, and the outcome.

`measure(settings, seed)` gives two parts: "seen" is all that a forecast may use besides the settings (class counts, the
statistics of a pilot), and "truth" is the outcome. Recipes and baselines are functions of only the settings and "seen".
So a recipe cannot look at the outcome, and it can be changed and scored again without new measurements.

A hash of their settings splits the tasks, so the split is not a choice: half are for development, and half are held
out. Held-out tasks are scored but never looked at while a recipe is designed. A half that was scored often is used up:
then tasks are drawn anew with another salt, and only the held-out half of the new draw is used, beside the development
half of the first.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from lopsided.core.seeds import generator
from lopsided.engine.task import Numbers, Settings, canonical

Split = Literal["development", "held-out"]
SPLITS: tuple[Split, Split] = ("development", "held-out")


@dataclass(frozen=True)
class Choice:
    """One of a few answers; None is `undecided`: from a forecast an abstention, from a measurement a tie.

    `as_good`: from a measurement, all answers that count as right. `confidence`: from a forecast, its stated chance.
    `score`: from a forecast, larger if the answer "lost" is more likely; only for ranking.
    """

    answer: str | None
    as_good: tuple[str, ...] = ()
    confidence: float | None = None
    score: float | None = None

    def holds(self, forecast: "Choice") -> bool:
        """Whether the forecast agrees with this measured answer."""
        return forecast.answer == self.answer or forecast.answer in self.as_good


@dataclass(frozen=True)
class Amount:
    """A number with its 90 % interval; the value is None if there is no forecast."""

    value: float | None
    low: float | None = None
    high: float | None = None


Answer = TypeVar("Answer", Choice, Amount)
Seen = Mapping[str, Any]
Forecaster = Callable[[Settings, Seen], Sequence[Answer]]


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A question about every task, asked once or more (every group, every ratio), with its recipes and baselines.

    `truth` computes the answers from the measurement; recipes and baselines give the same number of answers. `parts`
    names them. The error of a number is the ratio or the difference of forecast and truth. A recipe is shipped if it
    calls a function of the library that a user can call too, and adds nothing; `unshipped` names those that are not.
    """

    name: str
    truth: Forecaster[Answer]
    recipes: Mapping[str, Forecaster[Answer]]
    default: str
    baselines: Mapping[str, Forecaster[Answer]]
    miss: Literal["ratio", "difference"] = "difference"
    parts: Callable[[Settings], Sequence[str]] | None = None
    unshipped: Collection[str] = ()


@dataclass(frozen=True)
class Family:
    """Tasks of one kind. `question` gives the family's hit rate, and `stricter` scores the same answers by a narrower
    measure; raise `version` when numbers change. If two families ask about the same measurements, `measured_as` is the
    family that owns the tasks and their halves."""

    id: str
    title: str
    tasks: Callable[[], Sequence[Settings]]
    measure: Callable[[Settings, int], Numbers]
    question: Question[Choice]
    numbers: Sequence[Question[Amount]] = ()
    stricter: Sequence[Question[Choice]] = ()
    needs: Sequence[str] = ()
    packages: Sequence[str] = ()
    version: int = 1
    measured_as: str = ""


Draw = Callable[[np.random.Generator, int], Settings]
FIRST_SALT, FRESH_SALT = 70119, 20261120  # the held-out halves of the first were scored often


def drawn_tasks(
    family: str, number: int, salt: int = FIRST_SALT, name: str = ""
) -> Callable[[Draw], Callable[[], list[Settings]]]:
    """Make the tasks of a family from a function that draws one: one after the other, by the family's own generator, so
    that nobody chooses them.

    The held-out half is that of the fresh draw, whose indices follow those of the first; `name` is that of the
    generators, by default the family's.
    """
    names = ("skill", name or family.removeprefix("skill-").replace("-", " "))

    def tasks(draw: Draw) -> list[Settings]:
        first, later = generator(salt, *names), generator(FRESH_SALT, *names)
        drawn = [{"index": index, **draw(first, index)} for index in range(number)]
        anew = [{"index": number + index, **draw(later, index)} for index in range(number)]
        return halves_of(family, development=drawn, held_out=anew)

    return lambda draw: partial(tasks, draw)


def halves_of(family: str, *, development: Sequence[Settings], held_out: Sequence[Settings]) -> list[Settings]:
    """The development half of one draw and the held-out half of another, without tasks that were drawn before: where
    settings have few values, two draws meet."""
    known: set[str] = set()
    found = []
    for half, drawn in zip(SPLITS, (development, held_out), strict=True):
        for settings in drawn:
            content = canonical({name: value for name, value in settings.items() if name != "index"})
            if split_of(family, settings) == half and (half == SPLITS[0] or content not in known):
                found.append(settings)
                known.add(content)
    return found


def constant(answer: Answer, times: Callable[[Settings], int] = lambda settings: 1) -> Forecaster[Answer]:
    """A simple rule: the same answer to every question."""
    return lambda settings, seen: [answer] * times(settings)


def split_of(family: str, settings: Settings) -> Split:
    """By the parity of a hash of family and settings."""
    digest = hashlib.sha256(f"{family}\x1f{canonical(settings)}".encode()).digest()
    return SPLITS[digest[0] & 1]
