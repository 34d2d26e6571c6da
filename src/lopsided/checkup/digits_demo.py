"""The main job on embedded data: a long tail cut from scikit-learn's digits, a trained network, audit, plan and trial.

No setting was chosen by its outcome, except that the default seed of `lopsided demo` is an ordinary one: of the seeds 0
to 9 it has the median gain on held-out digits, which was known when it was chosen (`lopsided bench demo`). The table is
`lopsided.load_example("long-tailed digits")`. The network's weight decay is the power of ten with the smallest
cross-validated log loss on the training rows. The remedy that is drawn is the one that the trial recommends; where it
keeps plain training, the one that the plan forecasts best.

Held-out digits judge the network in the audit and every arm at the end; plan and trial never see them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lopsided.checkup.audit import AuditFacts, run_checks
from lopsided.checkup.inputs.evidence import Evidence
from lopsided.checkup.plan.plan import measured_recipe
from lopsided.checkup.plan.plan import plan as make_plan
from lopsided.checkup.plan.result import Plan
from lopsided.checkup.trial.figures import gains_panel
from lopsided.checkup.trial.result import Trial
from lopsided.checkup.trial.trial import trial as run_trial
from lopsided.core.figure import Figure, Line, Panel, Points
from lopsided.core.folds import deal
from lopsided.core.partition import Partition
from lopsided.core.progress import ProgressStart
from lopsided.core.validation import BoolArray, FloatArray, IntArray
from lopsided.data.columns import Columns
from lopsided.data.examples import CLASSES, long_tailed_digits
from lopsided.data.tables import array_table
from lopsided.learners.named_learner import make_learner
from lopsided.remedies.mended import RemediedClassifier
from lopsided.remedies.plain import Plain

FOLDS = 5  # the smallest class has one example for each
PLAIN = Plain.name
RAREST = 3  # digits named at the end
DECAYS = (1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class DigitsDemo:
    """What was found, planned and tried, and the recall of every digit on held-out rows under each arm."""

    counts: IntArray
    weight_decay: float
    audit: AuditFacts
    plan: Plan
    trial: Trial
    held_out_recall: dict[str, FloatArray]
    held_out_rows: int

    @property
    def best_forecast(self) -> str:
        """The remedy with the best forecast among those that were tried and need no new data."""
        tried = self.held_out_recall
        return next(remedy.name for remedy in self.plan.remedies if remedy.name in tried and remedy.forecast)

    @property
    def best_held_out(self) -> str:
        """The remedy that did best on the held-out digits."""
        others = {name: recall.mean() for name, recall in self.held_out_recall.items() if name != PLAIN}
        return max(others, key=lambda name: others[name])

    def lines(self, verdict: str) -> list[str]:
        """Four lines: the data, the audit's `verdict`, the recommendation and what held-out data showed."""
        rarest = np.argsort(self.counts, kind="stable")[:RAREST]
        chosen = self.trial.recommended.name
        plain, used = self.held_out_recall[PLAIN], self.held_out_recall[chosen]
        order = sorted((-float(recall.mean()), name) for name, recall in self.held_out_recall.items())
        place = [name for _, name in order].index(chosen) + 1
        best = self.best_held_out if chosen == PLAIN or place > 1 else ""
        digits = ", ".join(map(str, sorted(rarest)))
        return [
            f"Data: {self.counts.sum():,} training digits, from {self.counts.max()} of the commonest class to "
            f"{self.counts.min()} of the rarest; {self.held_out_rows:,} held out.",
            f"Audit: {verdict}",
            f"Trial: {self.trial.headline(brief=True)}",
            f"Held-out digits: balanced accuracy {plain.mean():.3f} with plain training"
            + ("" if chosen == PLAIN else f", {used.mean():.3f} with {chosen} ({used.mean() - plain.mean():+.3f})")
            + ("" if chosen == PLAIN else f"; digits {digits}: {plain[rarest].mean():.3f} to {used[rarest].mean():.3f}")
            + f"; rank {place} of {len(order)} arms"
            + (f" (best: {best}, {self.held_out_recall[best].mean():.3f})." if best else "."),
        ]

    def held_out_table(self) -> tuple[list[str], list[list[str]]]:
        """Every arm on the held-out digits, the best first."""
        plain = self.held_out_recall[PLAIN].mean()
        arms = sorted(self.held_out_recall.items(), key=lambda arm: -arm[1].mean())
        rows = [
            [name, f"{recall.mean():.3f}", f"{recall.mean() - plain:+.3f}", f"{recall.min():.3f}"]
            for name, recall in arms
        ]
        return ["arm", "balanced accuracy", "gain", "worst digit"], rows


def digits_demo(store: Any, seed: int, *, progress: ProgressStart | None = None) -> DigitsDemo:
    """Run it: about half a minute on one core. Finished folds of the trial are kept in `store`."""
    pixels, digits, held_out = long_tailed_digits(seed)
    train = ~held_out
    decay = chosen_decay(pixels[train], digits[train], seed)
    learner = f"network({decay!r})"
    network = _fitted(learner, pixels[train], digits[train], seed)
    classes = Partition("digit", digits, tuple(str(digit) for digit in range(CLASSES)))
    layer = network[-1].last_layer(network[0].transform(pixels))
    seen = Evidence(
        "long-tailed digits",
        digits.size,
        classes,
        table=array_table(layer, {}, "long-tailed digits"),
        classifier=np.asarray(network[-1].coefs_[1].T),
        bias=np.asarray(network[-1].intercepts_[1]),
        probabilities=np.asarray(network.predict_proba(pixels)),
        predictions=np.asarray(network.predict(pixels), dtype=np.int64),
        is_test=held_out,
        weight_decay=decay,
        columns=Columns(("last layer",), width=layer.shape[1]),
        seed=seed,
    )
    audit = run_checks(seen, seed=seed, settings={"seed": seed, "weight_decay": decay})
    raw = Evidence(
        seen.source,
        digits.size,
        classes,
        table=array_table(pixels, {}, seen.source),
        is_test=held_out,
        weight_decay=decay,
        columns=Columns(("pixels",), width=pixels.shape[1]),
        seed=seed,
    )
    plan = make_plan(raw, recipe=measured_recipe(seen), seed=seed)
    trial = run_trial(raw, plan, learner=learner, folds=FOLDS, seed=seed, store=store, progress=progress)
    recall = {PLAIN: _recall(RemediedClassifier(learner, None, seed=seed), pixels, digits, held_out)}
    for remedy in plan.remedies:
        if remedy.remedy.collects is None:
            recall[remedy.name] = _recall(remedy.wrap(learner, seed=seed), pixels, digits, held_out)
    counts = np.bincount(digits[train], minlength=CLASSES)
    return DigitsDemo(counts, decay, audit, plan, trial, recall, int(held_out.sum()))


def chosen_decay(pixels: FloatArray, digits: IntArray, seed: int) -> float:
    """The power of ten with the smallest log loss, cross-validated on the training rows."""
    fold = deal(digits, None, FOLDS, seed, 0)
    losses = []
    for decay in DECAYS:
        total = 0.0
        for number in range(FOLDS):
            inside = fold != number
            network = _fitted(f"network({decay!r})", pixels[inside], digits[inside], seed)
            chance = network.predict_proba(pixels[~inside])[np.arange(int((~inside).sum())), digits[~inside]]
            total -= float(np.log(np.maximum(chance, 1e-15)).sum())
        losses.append(total)
    return DECAYS[int(np.argmin(losses))]


def _fitted(learner: str, pixels: FloatArray, digits: IntArray, seed: int) -> Any:
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    network = make_learner(learner, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred steps are the training budget
        return network.fit(pixels, digits)


def _recall(model: RemediedClassifier, pixels: FloatArray, digits: IntArray, held_out: BoolArray) -> FloatArray:
    model.fit(pixels[~held_out], digits[~held_out])
    right = model.predict(pixels[held_out]) == digits[held_out]
    return np.array([float(right[digits[held_out] == digit].mean()) for digit in range(CLASSES)])


def demo_figure(demo: DigitsDemo) -> Figure:
    """Recall of every digit against its number of examples, and the trial's gains beside their forecasts."""
    counts = demo.counts.astype(float).tolist()
    recommended = demo.trial.recommended.name
    shown = demo.best_forecast if recommended == PLAIN else recommended
    recall = Panel(
        "Recall on held-out digits",
        "training examples of the digit",
        "share recognised",
        [
            Line(counts, demo.held_out_recall[name].tolist(), name, markers=True)
            for name in dict.fromkeys((PLAIN, shown))
        ],
        x_log=True,
        y_range=(-0.03, 1.05),
    )
    gains = gains_panel(demo.trial)
    tried = [name for name in gains.x_names or () if name in demo.held_out_recall]
    plain = float(demo.held_out_recall[PLAIN].mean())
    truth = Points(
        [list(gains.x_names or ()).index(name) - 0.16 for name in tried],
        [float(demo.held_out_recall[name].mean()) - plain for name in tried],
        "on held-out digits",
        names=tried,
    )
    title = f"Ten digits, {demo.counts.max()} down to {demo.counts.min()} examples"
    caption = "* recall of the digit. Bars are 95% intervals of the trial and of the forecast."
    return Figure(title, [recall, replace(gains, series=[*gains.series, truth])], caption)
