"""The worst misses of a family's default recipes, each with its run: settings, seed, numbers, command.

Wrong choices are ordered by their stated chance, numbers by their error. Only the development half is shown, because a
held-out task that was looked at is no longer held out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lopsided.engine.task import Row
from lopsided.skill.family import Amount, Choice, Family, Question
from lopsided.skill.scoring import error_of

MOST = 3  # of each question
_DIGITS, _LONGEST, _ROWS = 4, 12, 2


@dataclass(frozen=True)
class Miss:
    """One answer that did not come true. `size`: the stated chance of a wrong choice, or the error of a number."""

    question: str
    part: str
    settings: dict[str, Any]
    seed: int
    said: str
    happened: str
    size: float
    seen: Any
    truth: Any
    command: str


def worst_misses(family: Family, rows: Sequence[Row]) -> list[Miss]:
    """At most `MOST` of every question, the worst first."""
    found: list[Miss] = []
    questions: list[Question[Any]] = [family.question, *family.numbers]
    for question in questions:
        own = [miss for row in rows for miss in _of_task(family, question, row)]
        found += sorted(own, key=lambda miss: -miss.size)[:MOST]
    return found


def _of_task(family: Family, question: Question[Any], row: Row) -> Iterator[Miss]:
    truths: Sequence[Any] = question.truth(row.settings, row.numbers["truth"])
    forecasts: Sequence[Any] = question.recipes[question.default](row.settings, row.numbers["seen"])
    for place, (truth, forecast) in enumerate(zip(truths, forecasts, strict=True)):
        told = _chosen(truth, forecast) if isinstance(truth, Choice) else _counted(truth, forecast, question)
        if told is not None:
            yield _miss(family, question.name, _part(question, row.settings, place), row, *told)


def _chosen(truth: Choice, forecast: Choice) -> tuple[str, str, float] | None:
    """Said, happened and size of a wrong choice."""
    if truth.answer is None or forecast.answer is None or truth.holds(forecast):
        return None
    sure = forecast.confidence
    if sure is None:
        return forecast.answer, truth.answer, -1.0
    return f"{forecast.answer} (chance {sure:.2f})", truth.answer, sure


def _counted(truth: Amount, forecast: Amount, question: Question[Amount]) -> tuple[str, str, float] | None:
    """The same of a number."""
    if truth.value is None or forecast.value is None:
        return None
    said = f"{forecast.value:.4g}"
    if forecast.low is not None and forecast.high is not None:
        said += f" [{forecast.low:.4g}, {forecast.high:.4g}]"
    return said, f"{truth.value:.4g}", error_of(truth.value, forecast.value, question.miss)


def _part(question: Question[Any], settings: Mapping[str, Any], place: int) -> str:
    return question.parts(settings)[place] if question.parts is not None else f"answer {place + 1}"


def _miss(family: Family, question: str, part: str, row: Row, said: str, happened: str, size: float) -> Miss:
    name = family.id.removeprefix("skill-")
    command = f"lopsided skill --run --family {name} --index {row.settings['index']}"
    seen, truth = (_rounded(row.numbers[key]) for key in ("seen", "truth"))
    return Miss(question, part, dict(row.settings), row.seed, said, happened, size, seen, truth, command)


def _rounded(value: Any) -> Any:
    """The same with four digits and shortened lists, for reading; the command prints all of it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(name): _rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        most = _ROWS if value and isinstance(value[0], list | tuple) else _LONGEST
        shown = [_rounded(entry) for entry in value[:most]]
        return shown if len(value) <= most else [*shown, f"and {len(value) - most} more"]
    return value
