"""The tables of `docs/skill.md`: what was asked of the forecasts and what they reach, from the published score."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generated import write_page
from sphinx.application import Sphinx

from lopsided.skill.benchmark import STRICTER, FamilyScore, Skill, published
from lopsided.skill.family import SPLITS

GOALS = Path(__file__).with_suffix(".csv")  # a row each: page, words, what was asked, whose score
RIGHT, AUC, ERROR, HOLD = "rate", "auc", "mean_absolute_error", "coverage"
COLUMNS = {
    "lost or kept, hit rate": ("collapse-ratio", "", RIGHT),
    "in tails": ("collapse-tail", "", RIGHT),
    "R50, mean error in powers of 2": ("collapse-ratio", "R50, BatchNorm", ERROR),
    "minority cosine, mean error": ("collapse-ratio", "minority cosine, BatchNorm", ERROR),
    "pair cosine in tails, mean error": ("collapse-tail", "pair cosine, BatchNorm", ERROR),
}


def goals(found: Skill, page: str) -> str:
    """What was asked and reached on both halves, beside the best simple rule on the held-out one."""
    lines = ["| | asked | development | held-out | best simple rule, held-out |", "|---|---|---|---|---|"]
    with GOALS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["page"] != page:
                continue
            halves = [_scores(found, row["family"], half, row["question"]) for half in SPLITS]
            reached = [_cell(scores["recipes"][row["recipe"] or scores["recipe"]], row["measure"]) for scores in halves]
            rule = _rule(halves[1]["baselines"], row["measure"])
            lines.append(f"| {row['told']} | {row['asked']} | {' | '.join(reached)} | {rule} |")
    return "\n".join(lines) + "\n"


def lost_classes(found: Skill) -> str:
    """Every recipe for the merging of classes, development / held-out."""
    lines = [f"| recipe | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    shipped = _scores(found, "collapse-ratio", SPLITS[0], "")["recipes"]
    for recipe, own in shipped.items():
        cells = []
        for family, question, measure in COLUMNS.values():
            halves = [_scores(found, family, half, question)["recipes"].get(recipe) for half in SPLITS]
            cells.append(" / ".join("–" if one is None else _cell(one, measure) for one in halves))
        lines.append(f"| {recipe}{'' if own['shipped'] else ' (not shipped)'} | {' | '.join(cells)} |")
    rules = [
        " / ".join(_rule(_scores(found, family, half, question)["baselines"], measure) for half in SPLITS)
        for family, question, measure in COLUMNS.values()
    ]
    return "\n".join([*lines, f"| *best simple rule* | {' | '.join(rules)} |"]) + "\n"


def _scores(found: Skill, family: str, half: str, question: str) -> Mapping[str, Any]:
    entry = _entry(found, family, half)
    numbers = entry.numbers
    if question in ("", entry.question):
        return {"recipe": entry.recipe, **{name: numbers[name] for name in ("recipes", "baselines")}}
    scores: Mapping[str, Any] = numbers[question] if question in numbers else numbers[STRICTER][question]
    return scores


def _entry(found: Skill, family: str, half: str) -> FamilyScore:
    return next(one for one in found.scores if (one.family, one.split) == (f"skill-{family}", half))


def _cell(score: Mapping[str, Any], measure: str) -> str:
    value = score[measure]
    if value is None:
        return "–"
    digits = 3 if measure in (AUC, ERROR) else 2  # of rates, shares and factors
    return f"{value:.{digits}f}" + (f" ({score['right']} of {score['decided']})" if measure == RIGHT else "")


def _rule(rules: Mapping[str, Mapping[str, Any]], measure: str) -> str:
    known = {name: one[measure] for name, one in rules.items() if one[measure] is not None}
    if not known or measure == HOLD:
        return ""
    name = (max if measure in (RIGHT, AUC) else min)(known, key=lambda name: known[name])
    return f"{known[name]:.{3 if measure in (AUC, ERROR) else 2}f} ({name})"


def _write(app: Sphinx) -> None:
    source, found = Path(app.srcdir), published()
    write_page(source / "skill-goals.md", goals(found, "skill-goals"))
    write_page(source / "skill-recall.md", goals(found, "skill-recall"))
    write_page(source / "skill-lost.md", lost_classes(found) + "\n" + goals(found, "skill-lost"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the tables before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
