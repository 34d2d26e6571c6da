"""A family of tasks with a forecast to check: specification in, what a forecaster may see, what then happened.

`measure(settings, seed)` gives two parts: "seen" is all that a forecast may use besides the settings (class counts, the
statistics of a pilot), "truth" is what happened. Recipes and baselines are functions of settings and "seen" alone, so a
recipe can be changed and scored again without measuring again, and cannot look at the outcome.

Tasks are split by a hash of their settings, so that nobody chooses: half are for development, half are held out, scored
and never looked at while a recipe is designed.
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

    `as_good`: from a measurement, all answers that count as right. `confidence`: from a forecast, the chance that it
    gives itself. `score`: from a forecast, larger the likelier the answer "lost" is, for ranking alone.
    """

    answer: str | None
    as_good: tuple[str, ...] = ()
    confidence: float | None = None
    score: float | None = None

    def holds(self, forecast: "Choice") -> bool:
        """Whether this measured answer bears the forecast out."""
        return forecast.answer == self.answer or forecast.answer in self.as_good


@dataclass(frozen=True)
class Amount:
    """A number with the interval that should hold it nine times in ten; value None where there is none to give."""

    value: float | None
    low: float | None = None
    high: float | None = None


Answer = TypeVar("Answer", Choice, Amount)
Seen = Mapping[str, Any]
Forecaster = Callable[[Settings, Seen], Sequence[Answer]]


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """What is asked of every task, one or more times (every group, every ratio), and who answers.

    `truth` reads the answers off the measurement; recipes and baselines give as many. `parts` names them. The miss of a
    number is the ratio or the difference of forecast and truth. A recipe is shipped if it calls a function of the
    library that a user can call too, and adds nothing; `unshipped` names those that are not.
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
    """Tasks of one kind. `question` gives the family's hit rate, `stricter` are the same answers held to a narrower
    measure; raise `version` when numbers change. `measured_as` is the family whose tasks and halves these are, where
    two families ask about the same measurements."""

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


def drawn_tasks(name: str, number: int, salt: int = 70119) -> Callable[[Draw], Callable[[], list[Settings]]]:
    """Makes the tasks of a family out of how one is drawn: one after the other, by the family's own generator, so that
    nobody chooses them."""

    def tasks(draw: Draw) -> list[Settings]:
        random = generator(salt, "skill", name)
        return [{"index": index, **draw(random, index)} for index in range(number)]

    return lambda draw: partial(tasks, draw)


def constant(answer: Answer, times: Callable[[Settings], int] = lambda settings: 1) -> Forecaster[Answer]:
    """A simple rule: the same answer to everything that is asked."""
    return lambda settings, seen: [answer] * times(settings)


def split_of(family: str, settings: Settings) -> Split:
    """By the parity of a hash of family and settings."""
    digest = hashlib.sha256(f"{family}\x1f{canonical(settings)}".encode()).digest()
    return SPLITS[digest[0] & 1]
