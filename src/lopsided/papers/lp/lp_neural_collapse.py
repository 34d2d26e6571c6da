"""Does a balanced network trained past zero error show NC1-NC4, and an imbalanced one no simplex frame (Section 1.B)?

Collapse is a limit, so the rule requires progress: at the end, each measure is at most half of its value when the
training error first reached zero, and the classifier is nearer to a frame than that of the same network under
imbalance.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lopsided.core.figure import Figure, Panel
from lopsided.core.statistics import SeedMean, seed_mean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Runs, Verdict, weigh
from lopsided.papers.shared.network_runs import TRAINED, network_claim
from lopsided.papers.shared.network_settings import LARGE, POWER_ADDED, SMALL, TINY, varied
from lopsided.papers.shared.summary import chosen, interval_line, level, named, paired

MEASURES = {
    "nc1": "NC1, within-class scatter",
    "nc2_norms": "NC2, lengths of class means",
    "nc2_angles": "NC2, angles of class means",
    "nc3": "NC3, classifier against means",
}
LEFT = 0.5  # share of a measure that may be left at the end
HALVED = -math.log(LEFT)  # the rule must be able to detect that a measure is halved once more
NEAREST = 0.005  # NC4: share of examples on which the nearest class mean decides otherwise


def judge(rows: Sequence[Row]) -> Verdict:
    """Progress of NC1-NC3 after zero error, NC4 small; the frame against imbalance."""
    parts, numbers, words = [], {}, []
    for name, own in _networks(rows).items():
        ratios = sorted({row.settings["ratio"] for row in own})
        balanced, imbalanced = chosen(own, ratio=ratios[0]), chosen(own, ratio=ratios[-1])
        for key, word in MEASURES.items():
            left, stated = _left(balanced, key), f"{name}: {word} at most {LEFT:g} of its value at zero error"
            part = Part(stated, False)
            if left is not None:
                part = replace(Part.below(stated, left, math.log(LEFT), claimed=HALVED), opposite=left.low > 0)
            parts.append(part)
            numbers[f"{name}: {key}"] = {"log_share_left_after_zero_error": left, "end": level(balanced, key)}
        nearest = level(balanced, "nc4")
        parts.append(Part.below(f"{name}: NC4, nearest mean decides", nearest, NEAREST, claimed=NEAREST))
        away = paired(balanced, imbalanced, "frame_distance")
        parts.append(Part.above(f"{name}: no frame at R = {ratios[-1]:g}", away))
        frames = [level(part, "frame_distance") for part in (balanced, imbalanced)]
        numbers[f"{name}: frame"] = {"balanced": frames[0], "imbalanced": frames[1], "difference": away}
        ends = ", ".join(f"{key} {level(balanced, key).mean:.2g}" for key in (*MEASURES, "nc4"))
        words.append(
            f"{name}: at the end {ends}; the classifier is {frames[0].mean:.2g} from a frame, at R = {ratios[-1]:g} "
            f"{frames[1].mean:.2g}"
        )
    return weigh(parts, "; ".join(words), numbers)


def _left(rows: Sequence[Row], key: str) -> SeedMean | None:
    """Logarithm of the value at the end over that at the first record past zero error; None if a run never fitted its
    data."""
    shares = []
    for row in rows:
        fitted = [record for record in row.numbers["course"][:-1] if record["train_accuracy"] >= TRAINED]
        if not fitted:
            return None
        shares.append(math.log(max(row.numbers[key], 1e-300) / max(fitted[0][key], 1e-300)))
    return seed_mean(shares)


def stalled(rows: Sequence[Row]) -> list[Row]:
    """Every measure falls by a tenth after zero error and stays there."""
    changed = []
    for row in rows:
        fitted = [record for record in row.numbers["course"][:-1] if record["train_accuracy"] >= TRAINED]
        ends = {key: 0.9 * fitted[0][key] for key in MEASURES} if fitted else {}
        changed.append(replace(row, numbers={**row.numbers, **ends}))
    return changed


def _networks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return named(rows, "{network} on {images}", "ratio")


def plot(rows: Sequence[Row]) -> Figure:
    """The measures over training, balanced and not."""
    panels = []
    for name, own in _networks(rows).items():
        for key, title in {**MEASURES, "frame_distance": "classifier's distance from a frame"}.items():
            series = []
            for ratio in sorted({row.settings["ratio"] for row in own}):
                part = chosen(own, ratio=ratio)
                length = min(len(row.numbers["course"]) for row in part)
                courses = [[record[key] for record in row.numbers["course"][:length]] for row in part]
                means = [seed_mean(values) for values in zip(*courses, strict=True)]
                steps = [record["step"] for record in part[0].numbers["course"][:length]]
                series.append(interval_line(steps, means, f"R = {ratio:g}"))
            panels.append(Panel(f"{title} ({name})", "step", "value", series))
    caption = "Bands: 95 % intervals over seeds. The step is divided by 10 after one and after two thirds."
    return Figure("Neural collapse over training", panels, caption)


def _settings(base: dict[str, Any], ratio: int) -> list[dict[str, Any]]:
    return varied({**base, "course": True}, ratio=(1, ratio))


CLAIM = network_claim(
    id="lp-neural-collapse",
    rule=f"95 % intervals over seeds. Balanced: at the end, NC1, both parts of NC2, and NC3 are at most {LEFT:g} of "
    f"their values at the first record with {TRAINED:.1%} training accuracy (a rise is the opposite); the classifier "
    f"and the nearest class mean disagree on less than {NEAREST:.1%} of the examples (NC4). The classifier's distance "
    "from a frame is larger under imbalance, paired by seed.",
    revised="at first, any decrease passed; now the measures must halve; " + POWER_ADDED + " A measure that had "
    "fallen, but by less than half, then counted as the opposite in one seed set; now only one that rises does.",
    alternatives={"a small decrease": stalled},
    quick=Runs(_settings({**SMALL, "weight_decay": 5e-3, "steps": 2000}, 100), seeds=range(4)),
    paper=Runs(
        [
            *_settings({**LARGE, "weight_decay": 5e-4, "steps": 20000}, 100),
            *_settings({**LARGE, "weight_decay": 5e-3, "steps": 10000}, 100),
        ],
        seeds=range(4),
    ),
    smoke=Runs(_settings({**TINY, "steps": 200}, 10), seeds=range(2)),
    judge=judge,
    plot=plot,
    paper_needs=("fashion-mnist",),
)
