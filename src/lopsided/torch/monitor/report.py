"""The monitor's page: angles, neural collapse, forecasts, scores and layers over the epochs, with the facts on top."""

import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.provenance import provenance
from lopsided.core.published_skill import skill_sentence
from lopsided.report.drawing import write_figure, write_figures
from lopsided.report.style import short
from lopsided.torch.monitor.epoch_record import EpochRecord

MOST_LAYERS = 8  # curves in one panel that can still be told apart
KINDS = ("majority", "minority")
TITLES = {"train": "training", "held_out": "held out"}
# of a number in an epoch's record, from attribute to attribute; of a tuple, its entry's name
Place = str | tuple[str, ...]


def write_report(path: str | os.PathLike[str], records: Sequence[EpochRecord], names: Sequence[str]) -> Path:
    """A page with every figure; as .png, the overview alone."""
    if not records:
        raise InputError("at least one finished epoch", "none", "call monitor.end_epoch() after each epoch")
    if Path(path).suffix.lower() == ".png":
        return write_figure(path, overview(records, names))
    origin = provenance(seed=None, settings={})
    return write_figures(
        path,
        "Imbalance in training",
        figures(records, names),
        facts=facts(records, names),
        footer=f"lopsided {origin['version']}, {origin['time']}",
    )


def figures(records: Sequence[EpochRecord], names: Sequence[str]) -> list[Figure]:
    """All figures of the page."""
    panel = partial(_panel, records)
    lengths = [
        panel(
            "Lengths",
            "mean length",
            {f"classifier, {kind}": f"classifier.angles.{kind}_norm" for kind in KINDS},
            dashed={f"centred class means, {kind}": f"train.means.{kind}_norm" for kind in KINDS},
        ),
        panel(
            "Energies",
            "mean squared length",
            {
                "classifier E_W": "classifier.energy",
                "centred class means E_H": "train.neural_collapse.centred_mean_energy",
                "features": "train.neural_collapse.feature_energy",
            },
            log=True,
        ),
        panel(
            "Scatter within classes over scatter between them",
            "tr S_W / tr S_B",
            {"training": "train.scatter_ratio", "held out": "held_out.scatter_ratio"},
            log=True,
        ),
    ]
    distances, ranks = (_of_layers(records, "layers", value) for value in ("relative_distance", "stable_rank"))
    patterns = _of_layers(records, "patterns", "pairs")
    network = [
        panel("Relative distance of each layer", "|W - W0| / |W0|", distances),
        panel("Stable rank of each layer's change", "stable rank", ranks),
        panel("Changed activation patterns", "share of (unit, example) pairs", patterns, limits=(-0.02, 1.0)),
    ]
    titles = {"Lengths, energies and scatter": _some(lengths), "The network against its start": _some(network)}
    return [overview(records, names), *(Figure(title, panels) for title, panels in titles.items() if panels)]


def overview(records: Sequence[EpochRecord], names: Sequence[str]) -> Figure:
    """Cosines, accuracy, recall of the worst classes, forecasts, neural collapse and groups."""
    said = [(record.epoch, words) for record in records for words in record.warnings]
    caption = "; ".join(f"epoch {epoch}: {words}" for epoch, words in said[:3])
    counts = () if records[-1].train is None else tuple(count for count in records[-1].train.counts if count)
    phase = "held_out" if any(record.held_out and record.held_out.groups for record in records) else "train"
    groups = {group.name for record in records for group in getattr(getattr(record, phase), "groups", ())}
    panel = partial(_panel, records)
    panels = [
        panel(
            "Cosines between classes",
            "mean cosine",
            {f"classifier, {kind}": f"classifier.angles.{kind}_cosine" for kind in ("minority", "majority", "between")},
            dashed={
                "class means, minority": "train.means.minority_cosine",
                "closest pair of classifiers": "classifier.angles.largest_cosine",
            },
            limits=(-1.05, 1.05),
        ),
        panel(
            "Accuracy",
            "mean accuracy of the classes",
            {f"held out, {kind}": f"held_out.{kind}_accuracy" for kind in KINDS},
            dashed={f"training, {kind}": f"train.{kind}_accuracy" for kind in KINDS},
            limits=(-0.03, 1.05),
        ),
        *(_recalls(records, phase, names) for phase in ("held_out", "train")),
        panel(
            "Examples a class needs, forecast",
            "examples",
            {"by the multiplier": "forecast.count_needed"},
            dashed={"by the merging law": "forecast.merging_threshold"},
            marks=[Mark(float(min(counts)), "smallest class", axis="y")] if counts else [],
            log=True,
        ),
        panel(
            "Neural collapse (training features)",
            "NC1-NC4, 0 when collapsed",
            {
                "NC1 within over between": "train.neural_collapse.nc1",
                "NC2 lengths": "train.neural_collapse.nc2_norm_variation",
                "NC2 angles": "train.neural_collapse.nc2_angle_deviation",
                "NC3 duality": "train.neural_collapse.nc3",
                "NC4 nearest mean": "train.neural_collapse.nc4",
            },
            log=True,
        ),
        panel(
            f"Accuracy of the groups, {phase.replace('_', ' ')}",
            "accuracy",
            {name: (phase, "groups", name, "accuracy") for name in sorted(groups)[:MOST_LAYERS]},
            limits=(-0.03, 1.05),
        ),
    ]
    return Figure("Imbalance in training", _some(panels), caption)


def facts(records: Sequence[EpochRecord], names: Sequence[str]) -> list[tuple[str, str]]:
    """The facts of the last epoch, in words."""
    last = records[-1]
    forecast, run = last.forecast, last.forecast.settings
    rows = [(f"warning, epoch {record.epoch}", words) for record in records for words in record.warnings]
    rows += [("epochs", str(len(records))), ("classes", str(len(names)))]
    for title, phase in (("training", last.train), ("held out", last.held_out)):
        if phase is not None:
            rows.append((f"balanced accuracy, {title}", short(phase.balanced_accuracy, 3)))
            lost = [names[k] for k, value in enumerate(phase.class_accuracy) if value == 0]
            rows.append((f"recall 0, {title}", f"{len(lost)} classes: {', '.join(lost[:20])}" if lost else "none"))
    if last.classifier is not None:
        angles = last.classifier.angles
        rows.append(("minority cosine of the classifier", short(angles.minority_cosine, 3)))
        if last.classifier.closest is not None:
            first, second = (names[k] for k in last.classifier.closest)
            rows.append(("closest classes", f"{first} and {second}, cosine {short(angles.largest_cosine, 3)}"))
    if forecast.count_needed is not None:
        rows.append(("examples a class needs, by the multiplier", short(forecast.count_needed, 3)))
        rows.append(("forecast to collapse", ", ".join(names[k] for k in forecast.collapsed) or "none"))
        if forecast.collapsed and run.optimizer in (None, "SGD"):
            rows += _skill("collapse")
    if forecast.merging_threshold is not None:
        outside = f" (outside the fit: {', '.join(forecast.outside_fit)})" if forecast.outside_fit else ""
        rows.append(("examples a class needs, by the merging law", short(forecast.merging_threshold, 3) + outside))
        rows.append(("likely to merge", ", ".join(names[k] for k in forecast.at_risk) or "none"))
        rows += _skill("classes lost") if forecast.scored else []
    rows += [("not forecast", reason) for reason in forecast.declined]
    known = {"weight decay": run.weight_decay, "step": run.learning_rate, "batch": run.batch_size}
    rows.append(("the run", ", ".join(f"{key} {short(value)}" for key, value in known.items())))
    rows += [("note", note) for note in last.notes]
    share = sum(record.seconds for record in records) / max(sum(record.epoch_seconds for record in records), 1e-9)
    rows.append(("the monitor's own time", f"{100 * share:.2g} % of the training time"))
    return rows


def _skill(kind: str) -> list[tuple[str, str]]:
    told = skill_sentence(kind)
    return [("measured skill", told)] if told else []


def _recalls(records: Sequence[EpochRecord], phase: str, names: Sequence[str]) -> Panel | None:
    """The recall of the classes that are worst at the end, by name."""
    last = next((found for record in reversed(records) if (found := getattr(record, phase)) is not None), None)
    if last is None:
        return None
    known = [k for k, value in enumerate(last.class_accuracy) if value is not None]
    worst = sorted(known, key=lambda k: last.class_accuracy[k])[:MOST_LAYERS]
    curves: dict[str, Place] = {f"class {names[k]}": (phase, "class_accuracy", str(k)) for k in sorted(worst)}
    title = f"Recall of {'each class' if len(worst) == len(known) else f'the {len(worst)} worst classes'}"
    return _panel(records, f"{title}, {TITLES[phase]}", "recall", curves, limits=(-0.03, 1.05))


def _panel(
    records: Sequence[EpochRecord],
    title: str,
    label: str,
    curves: dict[str, Place],
    *,
    dashed: dict[str, Place] | None = None,
    marks: Sequence[Mark] = (),
    log: bool = False,
    limits: tuple[float, float] | None = None,
) -> Panel | None:
    """Curves over the epochs that measured them, by their names; on a logarithmic axis zeros are left out and whole
    decades are shown."""
    epochs, dotted = [record.epoch for record in records], dashed or {}
    lines = []
    for name, place in (curves | dotted).items():
        heights = [_at(record, place) for record in records]
        known = [(x, y) for x, y in zip(epochs, heights, strict=True) if y is not None and math.isfinite(y)]
        if log:
            known = [(x, y) for x, y in known if y > 0]
        if known:
            xs, ys = ([pair[axis] for pair in known] for axis in (0, 1))
            lines.append(Line(xs, ys, name, dashed=name in dotted, markers=len(known) < 3))
    if log and lines:
        shown = [y for line in lines for y in line.y if y is not None] + [mark.at for mark in marks]
        limits = 10.0 ** math.floor(math.log10(min(shown))), 10.0 ** math.ceil(math.log10(max(shown)) + 1e-9)
    return Panel(title, "epoch", label, lines, marks, y_log=log, y_range=limits) if lines else None


def _at(value: Any, place: Place) -> float | None:
    for name in place.split(".") if isinstance(place, str) else place:
        if isinstance(value, tuple) and place[-2] == "class_accuracy":
            value = value[int(name)]
        elif isinstance(value, tuple):
            value = next((entry for entry in value if entry.name == name), None)
        elif value is not None:
            value = getattr(value, name)
    found: float | None = value
    return found


def _of_layers(records: Sequence[EpochRecord], field: str, value: str) -> dict[str, Place]:
    """The last layers of the latest epoch that measured them by name, with the place of a value of theirs."""
    latest = next((found for record in reversed(records) if (found := getattr(record, field))), ())
    names = [entry.name for entry in latest][-MOST_LAYERS:]
    return {name or "the model": (field, name, value) for name in names}


def _some(panels: Sequence[Panel | None]) -> list[Panel]:
    return [panel for panel in panels if panel is not None]
