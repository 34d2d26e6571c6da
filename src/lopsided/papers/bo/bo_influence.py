"""bo-influence: are images with high scores atypical and those with low scores typical (Fig 5, eq 10)?

The paper shows pictures. Here atypical is measured in three ways that do not use the score: the distance to the class
mean, the distance to the nearest neighbours, and how many of these neighbours are of other classes (hard to classify).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lopsided.core.figure import Bars, Figure, Panel, Pictures
from lopsided.core.statistics import standard_error
from lopsided.data.images import has_images, load_images
from lopsided.engine.task import Row, Settings
from lopsided.measure.influence import influence_scores
from lopsided.papers.claim import Claim, Runs, Verdict, decided

NEIGHBOURS = 10
SHARE = 10  # the highest and the lowest tenth of every class
SIGNIFICANT = 3.0
MEASURES = ("distance to the mean", "distance to neighbours", "neighbours of other classes")


def measure(settings: Settings, seed: int) -> dict[str, Any]:
    """The three measures on the highest, middle and lowest tenth of every class, and which images these are."""
    from sklearn.neighbors import NearestNeighbors

    images = load_images(str(settings["images"])).first(int(settings["per_class"]))
    rows, labels = images.rows(), images.labels
    scores = influence_scores(rows, labels)
    distances, near = NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(rows).kneighbors(rows)
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(len(images.class_names))])
    values = {
        MEASURES[0]: np.linalg.norm(rows - means[labels], axis=1),
        MEASURES[1]: distances[:, 1:].mean(axis=1),  # the first neighbour is the image itself
        MEASURES[2]: (labels[near[:, 1:]] != labels[:, None]).mean(axis=1),
    }
    table: dict[str, dict[str, list[float]]] = {name: {"high": [], "middle": [], "low": []} for name in MEASURES}
    extremes = []
    for k in range(len(images.class_names)):
        members = np.flatnonzero(labels == k)
        ordered = members[np.argsort(-scores.scores[members], kind="stable")]
        count = max(1, members.size // SHARE)
        half = (members.size - count) // 2
        parts = {"high": ordered[:count], "middle": ordered[half : half + count], "low": ordered[-count:]}
        for name, value in values.items():
            for part, chosen in parts.items():
                table[name][part].append(float(value[chosen].mean()))
        extremes.append({"high": ordered[:8].tolist(), "low": ordered[::-1][:8].tolist()})
    return {"table": table, "extremes": extremes}


def judge(rows: Sequence[Row]) -> Verdict:
    """Paired over classes: the highest tenth is more atypical than the lowest, by every measure, in every set."""
    parts: dict[str, float] = {}
    for row in rows:
        for name in MEASURES:
            table = row.numbers["table"][name]
            parts[f"{row.settings['images']}: {name}"] = _paired(table["high"], table["low"])
    good = [name for name, errors in parts.items() if errors > SIGNIFICANT]
    against = [name for name, errors in parts.items() if errors < -SIGNIFICANT]
    outcome = decided([name in good for name in parts], opposite=bool(against))
    found = f"High scores are more atypical on {len(good)} of {len(parts)} comparisons ({'; '.join(good) or 'none'})"
    found += f"; less atypical on {len(against)}: {'; '.join(against)}." if against else "."
    return Verdict(outcome, found, {"errors": parts})


def _paired(high: Sequence[float], low: Sequence[float]) -> float:
    """Mean difference over classes in its standard errors."""
    difference = np.array(high) - np.array(low)
    return float(difference.mean() / max(float(standard_error(difference)), 1e-12))


def plot(rows: Sequence[Row]) -> Figure:
    """Pictures of the extremes, and the three measures relative to the middle tenth."""
    panels: list[Panel] = []
    for row in rows:
        name = str(row.settings["images"])
        if has_images(name):
            images = load_images(name).first(int(row.settings["per_class"]))
            scale = 255.0 / float(images.pixels.max())
            for end, title in (("high", "highest"), ("low", "lowest")):
                grid = [[(images.pixels[i] * scale).tolist() for i in entry[end]] for entry in row.numbers["extremes"]]
                places = [str(place + 1) for place in range(len(grid[0]))]
                series = Pictures(grid, list(images.class_names), places, title)
                panels.append(Panel(f"{name}: {title} scores", "place", "", [series]))
    sets = [str(row.settings["images"]) for row in rows]
    for measure_name in MEASURES:
        bars = []
        for part in ("high", "low"):
            tables = [row.numbers["table"][measure_name] for row in rows]
            relative = [float(np.mean(table[part]) / max(np.mean(table["middle"]), 1e-9)) for table in tables]
            bars.append(Bars([f"{name}\n{part}" for name in sets], relative, f"{part} tenth"))
        panels.append(Panel(f"{measure_name}, middle tenth = 1", "", "relative", bars))
    return Figure(
        "What high and low scores look like", panels, "Fig 5 of the paper, and what can be measured about it."
    )


def _settings(per_class: int) -> list[Settings]:
    return [{"images": name, "per_class": per_class} for name in ("mnist", "fashion-mnist", "digits")]


CLAIM = Claim(
    id="bo-influence",
    rule=f"Over the classes of each image set, the highest tenth exceeds the lowest by more than {SIGNIFICANT:g} "
    "errors (paired) in distance to the mean, in distance to neighbours and in neighbours of other classes. All: "
    "holds; at least half: partly; none, and some reversed: contradicted.",
    revised="the rule was written after scores of these images had been looked at.",
    quick=Runs(_settings(150)),
    paper=Runs(_settings(1000)),
    measure=measure,
    judge=judge,
    plot=plot,
    needs=("mnist", "fashion-mnist"),
)
