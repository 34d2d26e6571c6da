"""Does oversampling open the minority angles, does it raise test accuracy, and is the largest rate too much (Fig 6)?

In addition to the paper's arms, there are reweighting by the largest rate, and logit adjustment by the class shares in
the loss, alone and with a moderate rate. Forecasts of the angles use w n_B as the minority size (Proposition 1).
"""

from collections.abc import Sequence
from typing import Any

from lopsided.core.figure import Bars, Figure, Panel
from lopsided.core.statistics import SeedMean
from lopsided.engine.task import Row
from lopsided.papers.claim import Part, Power, Runs, Verdict, weigh
from lopsided.papers.lp.network_forecasts import EQUILIBRIUM, SURVIVAL, forecast_lines
from lopsided.papers.shared.alternatives import constant
from lopsided.papers.shared.network_runs import network_claim
from lopsided.papers.shared.network_settings import (
    GARMENTS,
    LARGE,
    POWER_ADDED,
    RESNET,
    SLIM_ADDED,
    SLIM_GARMENTS,
    SLIM_RESNET,
    SMALL,
    TINY,
    varied,
)
from lopsided.papers.shared.summary import NOTICEABLE, by_world, curve, grouped, level, named, paired

ACCURACIES = {"minority": "test_minority", "overall": "test_balanced"}


def _arm(row: Row) -> str:
    own = row.settings
    if own["reweight"] > 1:
        return f"reweighted {own['reweight']}"
    if own["oversample"] > 1:
        return f"oversampled {own['oversample']}" + (" + adjusted" if own["adjust"] else "")
    return "adjusted" if own["adjust"] else "plain"


def _sets(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return named(rows, "{network} on {images}, R = {ratio}", "reweight", "adjust", "oversample")


def _paper_arms(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.settings["reweight"] == 1 and not row.settings["adjust"]]


def judge(rows: Sequence[Row]) -> Verdict:
    """Angles open; some rate raises accuracy; the largest rate is beaten by a smaller one."""
    parts: list[Part] = []
    numbers: dict[str, Any] = {}
    words = []
    for name, own in _sets(rows).items():
        by_arm = by_world(own, _arm)
        by_rate = grouped(_paper_arms(own), "oversample")
        rates = list(by_rate)
        plain, largest = by_rate[rates[0]], by_rate[rates[-1]]
        opening = paired(plain, largest, "minority_cosine")
        parts.append(Part.below(f"{name}: angles open", opening))
        for word, key in ACCURACIES.items():
            gains = {rate: paired(plain, by_rate[rate], key) for rate in rates[1:]}
            best = max(gains, key=lambda rate: gains[rate].mean)
            lowers = all(gain.high < 0 for gain in gains.values())
            parts.append(_seen(f"{name}: raises {word} accuracy", gains[best].low > 0, lowers, gains[best]))
            over = {rate: paired(largest, by_rate[rate], key) for rate in rates[:-1]}
            inner = [rate for rate, gap in over.items() if gap.low > 0]
            beaten = all(gap.high < 0 for gap in over.values())
            most = max(over.values(), key=lambda gap: gap.low)
            parts.append(_seen(f"{name}: largest rate not best ({word})", bool(inner), beaten, most))
            numbers[f"{name}: {word}"] = {
                "accuracy": {arm: level(part, key) for arm, part in by_arm.items()},
                "gain_over_plain": gains,
                "rates_better_than_largest": inner,
            }
        numbers[f"{name}: natural mix"] = {arm: level(part, "test_natural") for arm, part in by_arm.items()}
        numbers[f"{name}: change of cosine"] = opening
        words.append(
            f"{name}: from rate 1 to {rates[-1]} the minority cosine changes by {opening.text(2)}; accuracy "
            + ", ".join(f"{arm} {_percentages(part)}" for arm, part in by_arm.items())
            + " (% balanced/minority/natural mix)"
        )
    return weigh(parts, "; ".join(words), numbers)


def _seen(name: str, passes: bool, opposite: bool, effect: SeedMean) -> Part:
    return Part(name, passes, opposite, Power(effect.detects, NOTICEABLE), effect.mean)


def _percentages(rows: Sequence[Row]) -> str:
    keys = ("test_balanced", "test_minority", "test_natural")
    return "/".join(f"{100 * level(rows, key).mean:.0f}" for key in keys)


def plot(rows: Sequence[Row]) -> Figure:
    """Angles over the rate with forecasts; accuracies over the rate; all arms side by side."""
    panels = []
    for name, own in _sets(rows).items():
        arms = _paper_arms(own)
        angles = [
            curve(arms, "oversample", "minority_cosine", "measured"),
            *forecast_lines(arms, "oversample", (EQUILIBRIUM, SURVIVAL)),
        ]
        panels.append(Panel(name, "oversampling rate", "minority cosine", angles, x_log=True))
        accuracies = [
            curve(arms, "oversample", "test_balanced", "all classes, balanced", limits=(0.0, 1.0)),
            curve(arms, "oversample", "test_minority", "minority", limits=(0.0, 1.0)),
            curve(arms, "oversample", "test_natural", "natural mix", dashed=True, limits=(0.0, 1.0)),
        ]
        panels.append(Panel(name, "oversampling rate", "test accuracy", accuracies, x_log=True, y_range=(0.0, 1.0)))
        by_arm = by_world(own, _arm)
        short = [
            arm.replace("oversampled", "rate").replace("reweighted", "weight").replace(" ", "\n", 2) for arm in by_arm
        ]
        bars = [
            Bars(short, [level(part, key).mean for part in by_arm.values()], word)
            for word, key in (("all classes, balanced", "test_balanced"), ("minority", "test_minority"))
        ]
        panels.append(Panel("All arms", "", "test accuracy", bars, y_range=(0.0, 1.0)))
    caption = "Bands: 95 % intervals over paired seeds. Dashed in the first panel: forecasts from the settings alone, "
    return Figure("Oversampling the minority classes", panels, caption + "with w n_B minority examples.")


def _paper_settings(base: dict[str, Any], ratio: int, rates: Sequence[int]) -> list[dict[str, Any]]:
    return varied({**base, "ratio": ratio, "reweight": 1, "adjust": False}, oversample=rates)


def _settings(base: dict[str, Any], ratio: int, rates: Sequence[int]) -> list[dict[str, Any]]:
    arms = _paper_settings(base, ratio, rates)
    arm = arms[0]
    return [
        *arms,
        {**arm, "reweight": rates[-1]},
        *varied({**arm, "adjust": True}, oversample=(1, rates[len(rates) // 2])),
    ]


CLAIM = network_claim(
    id="lp-oversampling-networks",
    rule="95 % intervals over paired seeds: from rate 1 to rate R the minority cosine falls; at the best rate (chosen "
    "by its mean) the minority accuracy and the balanced accuracy over all classes exceed those at rate 1; and some "
    "smaller rate exceeds rate R, in both accuracies.",
    quick=Runs(
        [
            *_settings(SMALL, 100, (1, 3, 10, 30, 100)),
            *_paper_settings(SLIM_GARMENTS, 40, (1, 5, 20, 40)),
            *_paper_settings({**SLIM_RESNET, "images": "fashion-mnist"}, 40, (1, 10, 40)),
        ],
        seeds=range(4),
    ),
    paper=Runs(
        [
            *_settings(SMALL, 100, (1, 3, 10, 30, 100)),
            *_settings({**LARGE, "majority_size": 5000}, 1000, (1, 10, 100, 1000)),
            *_settings({**LARGE, "majority_size": 5000, "weight_decay": 5e-4}, 1000, (1, 10, 100, 1000)),
            *_settings(GARMENTS, 100, (1, 10, 100)),
            *_settings(RESNET, 100, (1, 10, 100)),
        ],
        seeds=range(5),
    ),
    smoke=Runs(_settings(TINY, 10, (1, 3, 10)), seeds=range(2)),
    judge=judge,
    plot=plot,
    revised=f"{SLIM_ADDED} Then {POWER_ADDED}",
    needs=("mnist", "fashion-mnist"),
    paper_needs=("cifar-10",),
    alternatives={"no dependence on the rate": constant("oversample")},
)
