"""The monitor's page: angles, neural collapse, forecasts, scores and layers over the epochs, with the facts on top."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lopsided.core.errors import InputError
from lopsided.core.figure import Figure, Line, Mark, Panel
from lopsided.core.provenance import provenance
from lopsided.core.published_skill import skill_sentence
from lopsided.report.drawing import write_figure, write_figures
from lopsided.report.words import short
from lopsided.torch.monitor.epoch_record import Angles, EpochRecord, PhaseRecord

MOST_LAYERS = 8  # curves in one panel that can still be told apart


def write_report(path: str | os.PathLike[str], records: Sequence[EpochRecord], names: Sequence[str]) -> Path:
    """A page with every figure; as .png, the overview alone."""
    if not records:
        raise InputError("at least one finished epoch", "none", "call monitor.end_epoch() after each epoch")
    if Path(path).suffix.lower() == ".png":
        return write_figure(path, overview(records))
    origin = provenance(seed=None, settings={})
    return write_figures(
        path,
        "Imbalance in training",
        figures(records),
        facts=facts(records, names),
        footer=f"lopsided {origin['version']}, {origin['time']}",
    )


def figures(records: Sequence[EpochRecord]) -> list[Figure]:
    """All figures of the page."""
    lengths = Figure("Lengths, energies and scatter", _some([_norms(records), _energies(records), _scatter(records)]))
    network = Figure("The network against its start", _some([_distances(records), _ranks(records), _patterns(records)]))
    return [overview(records), *(figure for figure in (lengths, network) if figure.panels)]


def overview(records: Sequence[EpochRecord]) -> Figure:
    """Cosines, accuracy, forecasts and neural collapse."""
    said = [(record.epoch, words) for record in records for words in record.warnings]
    caption = "; ".join(f"epoch {epoch}: {words}" for epoch, words in said[:3])
    panels = [_cosines(records), _accuracy(records), _needs(records), _collapse(records), _groups(records)]
    return Figure("Imbalance in training", _some(panels), caption)


def facts(records: Sequence[EpochRecord], names: Sequence[str]) -> list[tuple[str, str]]:
    """What the last epoch says, in words."""
    last = records[-1]
    forecast, run = last.forecast, last.forecast.settings
    rows = [("epochs", str(len(records))), ("classes", str(len(names)))]
    for title, phase in (("training", last.train), ("held out", last.held_out)):
        if phase is not None:
            rows.append((f"balanced accuracy, {title}", short(phase.balanced_accuracy, 3)))
    if last.classifier is not None:
        angles = last.classifier.angles
        rows.append(("minority cosine of the classifier", short(angles.minority_cosine, 3)))
        if last.classifier.closest is not None:
            first, second = (names[k] for k in last.classifier.closest)
            rows.append(("closest classes", f"{first} and {second}, cosine {short(angles.largest_cosine, 3)}"))
    if forecast.count_needed is not None:
        rows.append(("examples a class needs, by the multiplier", short(forecast.count_needed, 3)))
        rows += _skill("collapse")
    if forecast.merging_threshold is not None:
        outside = f" (outside the fit: {', '.join(forecast.outside_fit)})" if forecast.outside_fit else ""
        rows.append(("examples a class needs, by the merging law", short(forecast.merging_threshold, 3) + outside))
        rows.append(("more likely lost than kept", ", ".join(names[k] for k in forecast.at_risk) or "none"))
        rows += [] if forecast.outside_fit else _skill("classes lost")
    rows += [("not forecast", reason) for reason in forecast.declined]
    known = {"weight decay": run.weight_decay, "step": run.learning_rate, "batch": run.batch_size}
    rows.append(("the run", ", ".join(f"{key} {short(value)}" for key, value in known.items())))
    rows += [(f"warning, epoch {record.epoch}", words) for record in records for words in record.warnings]
    rows += [("note", note) for note in last.notes]
    share = sum(record.seconds for record in records) / max(sum(record.epoch_seconds for record in records), 1e-9)
    rows.append(("the monitor's own time", f"{100 * share:.2g} % of the training time"))
    return rows


def _skill(kind: str) -> list[tuple[str, str]]:
    told = skill_sentence(kind)
    return [("measured skill", told)] if told else []


def _curve(
    records: Sequence[EpochRecord], label: str, value: Callable[[EpochRecord], float | None], *, dashed: bool = False
) -> Line | None:
    heights = [value(record) for record in records]
    if all(height is None for height in heights):
        return None
    return Line([record.epoch for record in records], heights, label, dashed=dashed, markers=len(records) < 3)


def _panel(
    title: str,
    label: str,
    lines: Sequence[Line | None],
    marks: Sequence[Mark] = (),
    *,
    log: bool = False,
    limits: tuple[float, float] | None = None,
) -> Panel | None:
    """A panel over epochs; on a logarithmic axis zeros are left out and whole decades are shown."""
    kept = [line for line in lines if line is not None]
    if log:
        kept = [replace(line, y=[y if y is not None and y > 0 else None for y in line.y]) for line in kept]
        kept = [line for line in kept if any(y is not None for y in line.y)]
        heights = [y for line in kept for y in line.y if y is not None] + [mark.at for mark in marks]
        if heights:
            limits = 10.0 ** math.floor(math.log10(min(heights))), 10.0 ** math.ceil(math.log10(max(heights)) + 1e-9)
    return Panel(title, "epoch", label, kept, marks, y_log=log, y_range=limits) if kept else None


def _some(panels: Sequence[Panel | None]) -> list[Panel]:
    return [panel for panel in panels if panel is not None]


def _angle(name: str) -> Callable[[EpochRecord], float | None]:
    return lambda record: None if record.classifier is None else getattr(record.classifier.angles, name)


def _mean_angle(name: str) -> Callable[[EpochRecord], float | None]:
    def value(record: EpochRecord) -> float | None:
        angles: Angles | None = None if record.train is None else record.train.means
        return None if angles is None else getattr(angles, name)

    return value


def _of(phase: str, value: Callable[[PhaseRecord], float | None]) -> Callable[[EpochRecord], float | None]:
    def inner(record: EpochRecord) -> float | None:
        found: PhaseRecord | None = getattr(record, phase)
        return None if found is None else value(found)

    return inner


def _nc(name: str) -> Callable[[EpochRecord], float | None]:
    def value(phase: PhaseRecord) -> float | None:
        return None if phase.neural_collapse is None else getattr(phase.neural_collapse, name)

    return _of("train", value)


def _cosines(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel(
        "Cosines between classes",
        "mean cosine",
        [
            _curve(records, "classifier, minority", _angle("minority_cosine")),
            _curve(records, "classifier, majority", _angle("majority_cosine")),
            _curve(records, "classifier, between", _angle("between_cosine")),
            _curve(records, "class means, minority", _mean_angle("minority_cosine"), dashed=True),
            _curve(records, "closest pair of classifiers", _angle("largest_cosine"), dashed=True),
        ],
        limits=(-1.05, 1.05),
    )


def _accuracy(records: Sequence[EpochRecord]) -> Panel | None:
    lines = []
    for phase, words, dashed in (("held_out", "held out", False), ("train", "training", True)):
        for kind in ("majority", "minority"):
            value = _of(phase, lambda found, kind=kind: getattr(found, f"{kind}_accuracy"))  # type: ignore[misc]
            lines.append(_curve(records, f"{words}, {kind}", value, dashed=dashed))
    return _panel("Accuracy", "mean accuracy of the classes", lines, limits=(-0.03, 1.05))


def _needs(records: Sequence[EpochRecord]) -> Panel | None:
    last = records[-1]
    counts = () if last.train is None else tuple(count for count in last.train.counts if count)
    marks = [Mark(float(min(counts)), "smallest class", axis="y")] if counts else []
    return _panel(
        "Examples a class needs, forecast",
        "examples",
        [
            _curve(records, "by the multiplier", lambda record: record.forecast.count_needed),
            _curve(records, "by the merging law", lambda record: record.forecast.merging_threshold, dashed=True),
        ],
        marks,
        log=True,
    )


def _collapse(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel(
        "Neural collapse (training features)",
        "NC1-NC4, 0 when collapsed",
        [
            _curve(records, "NC1 within over between", _nc("nc1")),
            _curve(records, "NC2 lengths", _nc("nc2_norm_variation")),
            _curve(records, "NC2 angles", _nc("nc2_angle_deviation")),
            _curve(records, "NC3 duality", _nc("nc3")),
            _curve(records, "NC4 nearest mean", _nc("nc4")),
        ],
        log=True,
    )


def _groups(records: Sequence[EpochRecord]) -> Panel | None:
    phase = "held_out" if any(record.held_out and record.held_out.groups for record in records) else "train"
    names = {group.name for record in records for group in getattr(getattr(record, phase), "groups", ())}

    def accuracy(name: str) -> Callable[[PhaseRecord], float | None]:
        return lambda found: next((group.accuracy for group in found.groups if group.name == name), None)

    lines = [_curve(records, name, _of(phase, accuracy(name))) for name in sorted(names)[:MOST_LAYERS]]
    return _panel(f"Accuracy of the groups, {phase.replace('_', ' ')}", "accuracy", lines, limits=(-0.03, 1.05))


def _norms(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel(
        "Lengths",
        "mean length",
        [
            _curve(records, "classifier, majority", _angle("majority_norm")),
            _curve(records, "classifier, minority", _angle("minority_norm")),
            _curve(records, "centred class means, majority", _mean_angle("majority_norm"), dashed=True),
            _curve(records, "centred class means, minority", _mean_angle("minority_norm"), dashed=True),
        ],
    )


def _energies(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel(
        "Energies",
        "mean squared length",
        [
            _curve(
                records,
                "classifier E_W",
                lambda record: None if record.classifier is None else record.classifier.energy,
            ),
            _curve(records, "centred class means E_H", _nc("centred_mean_energy")),
            _curve(records, "features", _nc("feature_energy")),
        ],
        log=True,
    )


def _scatter(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel(
        "Scatter within classes over scatter between them",
        "tr S_W / tr S_B",
        [
            _curve(records, "training", _of("train", lambda found: found.scatter_ratio)),
            _curve(records, "held out", _of("held_out", lambda found: found.scatter_ratio)),
        ],
        log=True,
    )


def _layer_lines(records: Sequence[EpochRecord], field: str, value: str) -> list[Line | None]:
    names = [entry.name for entry in getattr(records[-1], field)][-MOST_LAYERS:]

    def of(name: str) -> Callable[[EpochRecord], float | None]:
        return lambda record: next((getattr(e, value) for e in getattr(record, field) if e.name == name), None)

    return [_curve(records, name or "the model", of(name)) for name in names]


def _distances(records: Sequence[EpochRecord]) -> Panel | None:
    lines = _layer_lines(records, "layers", "relative_distance")
    return _panel("Relative distance of each layer", "|W - W0| / |W0|", lines)


def _ranks(records: Sequence[EpochRecord]) -> Panel | None:
    return _panel("Stable rank of each layer's change", "stable rank", _layer_lines(records, "layers", "stable_rank"))


def _patterns(records: Sequence[EpochRecord]) -> Panel | None:
    lines = _layer_lines(records, "patterns", "pairs")
    return _panel("Changed activation patterns", "share of (unit, example) pairs", lines, limits=(-0.02, 1.0))
