"""The page of forecast scores, from the score that ships with the package."""

from pathlib import Path

from generated import heading, write_page
from plain_docstrings import plain
from sphinx.application import Sphinx

from lopsided.skill.benchmark import FamilyScore, Skill, number_questions, published

_METHOD = """
The published score of lopsided {version}, measured on {date}. A rate is of the answers that were measured clearly and
forecast; its interval is Wilson's at 95 %. The best simple rule is chosen after the fact, on the same answers.
``lopsided skill --out skill.html`` writes this with reliability diagrams and the worst misses, each opened to its run.

"""
_NONE = "This version has no published score; measure one with ``lopsided skill --run``.\n"


def skill_scores(found: Skill) -> str:
    """One table of rates, and one of numeric forecasts."""
    parts = [heading("Forecast scores")]
    if not found.scores:
        return "\n".join([*parts, _NONE])
    parts.append(_METHOD.format(version=found.version, date=found.date))
    parts.append(".. list-table::\n   :header-rows: 1\n   :widths: 30 12 8 14 20 26\n")
    parts.append("   * - forecast\n     - half\n     - tasks\n     - right\n     - rate\n     - best simple rule")
    parts += ["   * - " + "\n     - ".join(_cells(entry)) for entry in found.scores]
    parts += ["", heading("Numbers", "-"), "Errors of ratios are factors; the others are differences.\n"]
    parts.append(".. list-table::\n   :header-rows: 1\n   :widths: 34 12 24 10 10 10\n")
    parts.append("   * - number\n     - half\n     - by\n     - median\n     - nine in ten\n     - coverage")
    for entry in found.scores:
        parts += ["   * - " + "\n     - ".join(cells) for cells in _number_cells(entry)]
    return "\n".join([*parts, ""])


def _cells(entry: FamilyScore) -> list[str]:
    rate = "–" if entry.rate is None or entry.interval is None else _with_interval(entry.rate, entry.interval)
    rule = "–" if entry.baseline_rate is None else f"{entry.baseline_rate:.2f}, {plain(entry.baseline)}"
    return [plain(entry.title), entry.split, str(entry.tasks), f"{entry.right} of {entry.decided}", rate, rule]


def _with_interval(rate: float, interval: tuple[float, float]) -> str:
    return f"{rate:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"


def _number_cells(entry: FamilyScore) -> list[list[str]]:
    rows = []
    for question, found in number_questions(entry.numbers).items():
        named = {found["recipe"]: found["recipes"][found["recipe"]], **found["baselines"]}
        for name, score in named.items():
            values = [score[key] for key in ("typical_error", "error_nine_in_ten", "coverage")]
            told = ["–" if value is None else f"{value:.3g}" for value in values]
            rows.append([plain(question), entry.split, plain(name), *told])
    return rows


def _write(app: Sphinx) -> None:
    write_page(Path(app.srcdir) / "skill-scores.rst", skill_scores(published()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
