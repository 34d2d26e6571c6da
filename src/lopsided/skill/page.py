"""The page of forecast skill: the score of every family next to its simple rules, reliability diagrams, worst misses.

All numbers are those of `lopsided.skill`; misses are of the development half and open to their run.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.core.files import write_atomically
from lopsided.report.page import panel_table, plotly_library, render, script_json
from lopsided.report.plotly import figure_json
from lopsided.skill.benchmark import STRICTER, FamilyScore, Skill, number_questions

_DIAGONAL = (0.0, 1.0)


def write_skill_page(found: Skill, path: str | os.PathLike[str]) -> Path:
    """Write the page to `path`."""
    return write_atomically(Path(path), skill_page(found))


def skill_page(found: Skill) -> str:
    """The page as text, offline and in one piece."""
    drawn: list[Any] = []
    sections = []
    for family in dict.fromkeys(entry.family for entry in found.scores):
        scores = [entry for entry in found.scores if entry.family == family]
        details = [entry for entry in found.details if entry["family"] == family]
        figure = reliability_figure(scores[0].title, details)
        places = []
        for panel, plot in zip(figure.panels, figure_json(figure), strict=True):
            places.append({"place": len(drawn), "label": f"{panel.title}: {panel.y_label} against {panel.x_label}"})
            drawn.append(plot)
        sections.append(
            {
                "id": family,
                "title": scores[0].title,
                "question": scores[0].question,
                "scores": [_score(entry) for entry in scores],
                "rules": [{"question": "", "rules": _rules(scores)}, *_stricter(scores)],
                "numbers": _numbers(scores),
                "plots": places,
                "tables": [panel_table(panel) for panel in figure.panels],
                "misses": [_miss(miss) for entry in details for miss in entry["misses"]],
            }
        )
    return render(
        "skill.html",
        title="How often are we right?",
        version=found.version,
        date=found.date,
        sections=sections,
        not_run=found.not_run,
        bare=bool(sections) and not found.details,
        plots=script_json(drawn),
        library=plotly_library() if drawn else "",
        drawn=bool(drawn),
    )


def reliability_figure(title: str, details: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel per question that states a chance: the share that came true against the stated one, by half."""
    questions = dict.fromkeys(name for entry in details for name, bins in entry["reliability"].items() if bins)
    panels = []
    for question in questions:
        series: list[Line | Points] = [Line(_DIAGONAL, _DIAGONAL, "as stated", dashed=True)]
        for entry in details:
            bins = entry["reliability"].get(question, [])
            if bins:
                series.append(
                    Points(
                        [one["stated"] for one in bins],
                        [one["observed"] for one in bins],
                        entry["split"],
                        low=[one["interval"][0] for one in bins],
                        high=[one["interval"][1] for one in bins],
                        names=[f"{one['count']} forecasts" for one in bins],
                        emphasised=entry["split"] == "held-out",
                    )
                )
        panels.append(
            Panel(
                _short(question), "stated chance", "share that came true", series, x_range=(0, 1.02), y_range=(0, 1.02)
            )
        )
    return Figure(f"Reliability: {title}", panels, "Points on the dashed line come true as often as they say.")


def _short(words: str, most: int = 60) -> str:
    return words if len(words) <= most else words[: most - 1].rsplit(" ", 1)[0] + " …"


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _score(entry: FamilyScore) -> dict[str, str]:
    interval = "" if entry.interval is None else f"{entry.interval[0]:.2f} to {entry.interval[1]:.2f}"
    return {
        "split": entry.split,
        "recipe": entry.recipe,
        "tasks": str(entry.tasks),
        "right": f"{entry.right} of {entry.decided}",
        "rate": _rate(entry.rate),
        "interval": interval,
        "open": str(entry.asked - entry.decided),
        "ties": str(entry.ties),
        "baseline": f"{_rate(entry.baseline_rate)} ({entry.baseline})",
    }


def _rules(scores: Sequence[FamilyScore]) -> list[dict[str, Any]]:
    """Every recipe and simple rule with its rate on each half."""
    rows = []
    for kind in ("recipes", "baselines"):
        for name in dict.fromkeys(name for entry in scores for name in entry.numbers[kind]):
            rates = [_rate(entry.numbers[kind].get(name, {}).get("rate")) for entry in scores]
            told = [entry.numbers[kind][name] for entry in scores if name in entry.numbers[kind]]
            rows.append({"kind": _kind(kind, told[0]), "name": name, "rates": rates})
    return rows


def _kind(kind: str, score: Mapping[str, Any]) -> str:
    """recipe, recipe that is not shipped, or baseline."""
    return kind.removesuffix("s") + (", not shipped" if score.get("shipped") is False else "")


def _stricter(scores: Sequence[FamilyScore]) -> list[dict[str, Any]]:
    """The same under narrower measures, by their name."""
    tables = []
    for question in dict.fromkeys(name for entry in scores for name in entry.numbers.get(STRICTER, {})):
        held = [replace(entry, numbers=entry.numbers[STRICTER][question]) for entry in scores]
        tables.append({"question": question, "rules": _rules(held)})
    return tables


def _numbers(scores: Sequence[FamilyScore]) -> list[dict[str, Any]]:
    """Every numeric forecast: errors, coverage and CRPS of recipes and rules on each half."""
    tables = []
    for entry in scores:
        for question, found in number_questions(entry.numbers).items():
            rows = [
                {
                    "name": name,
                    "kind": _kind(kind, score),
                    "typical": _plain(score["typical_error"]),
                    "nine": _plain(score["error_nine_in_ten"]),
                    "mean": _plain(score["mean_absolute_error"]),
                    "coverage": _plain(score["coverage"]),
                    "crps": _plain(score["crps"]),
                }
                for kind in ("recipes", "baselines")
                for name, score in found[kind].items()
            ]
            tables.append({"question": question, "split": entry.split, "miss": found["miss"], "rows": rows})
    return tables


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _miss(miss: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **miss,
        "settings": [(name, json.dumps(value)) for name, value in miss["settings"].items()],
        "seen": json.dumps(miss["seen"], indent=1),
        "truth": json.dumps(miss["truth"], indent=1),
    }
