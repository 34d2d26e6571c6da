"""`lopsided score`: influence scores and long-tail ranking of every example, without training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lopsided.cli import options

if TYPE_CHECKING:
    from lopsided.checkup.score import Score
    from lopsided.measure.noise_matrix import NoiseMatrix

_MOST_COLUMNS = 12  # a wider matrix goes to the drawing and the JSON only


def command(
    data: options.Data,
    labels: options.Labels = None,
    many_classes: options.ManyClasses = False,
    features: options.FeaturesOption = None,
    out: Annotated[Path | None, typer.Option(help="File for the scores (.parquet or .csv).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw into this .html or .png file.")] = None,
    noise_matrix: Annotated[
        bool, typer.Option("--noise-matrix", help="Also compute the noise matrix between classes and its ratios.")
    ] = False,
    estimator: Annotated[
        str, typer.Option(help="Estimator of the noise matrix: auto, sample, shrunk or unbiased.")
    ] = "auto",
    convention: Annotated[str, typer.Option(help="Divide covariances by n or n-1.")] = "n-1",
    extremes: Annotated[int, typer.Option(help="Number of examples shown at both ends of every class.")] = 8,
    block_rows: Annotated[
        int | None,
        typer.Option(help="Read the data twice, in blocks of this many rows; large files are always read so."),
    ] = None,
    standardise: Annotated[
        bool,
        typer.Option("--standardise", help="Divide every column by its standard deviation first; the paper does not."),
    ] = False,
    cluster: options.ClusterAddress = None,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap intervals.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Rank the examples of every class by their influence.

    The score says how much an example adds to the covariance of its class; nothing is trained. Scores and ranks are
    written to a file, and examples that are pictures are drawn.
    """
    given = dict(locals())
    from lopsided.checkup.score import score
    from lopsided.cli.console import Late, print_json
    from lopsided.cli.progress import progress_steps
    from lopsided.core.errors import InputError
    from lopsided.core.files import check_apart
    from lopsided.report.drawing import check_plot_path, write_figures

    target = out if out is not None else options.default_file(data, "-scores.parquet")
    if target.suffix.lower() not in (".parquet", ".csv"):
        raise InputError("a file of scores that ends in .parquet or .csv", repr(str(target)))
    check_apart({"--out": target}, [data])
    if not target.parent.is_dir():
        raise InputError("an existing directory for the scores", str(target.parent), "create it first")
    if plot is not None:
        check_plot_path(plot)
    with progress_steps("reading and scoring", quiet=as_json) as progress:
        workers = options.cluster(cluster, tls_ca, tls_cert, tls_key)
        result = score(**options.options_for(score, given, progress=progress, cluster=workers))
    late = Late()
    scores = late.write(_write, result, target)
    drawn = plot
    if drawn is None and (result.pictures or noise_matrix):
        drawn = target.with_suffix(".html")
    if drawn is not None:
        facts = [("data", result.source), ("examples", f"{result.ranks.size:,}"), ("scores", str(target))]
        drawn = late.write(write_figures, drawn, "Influence scores", result.figures(), facts=facts)
    if as_json:
        print_json(_facts(result, scores, drawn))
    else:
        _show(result, scores, drawn)
    late.tell()


def _write(result: "Score", target: Path) -> Path:
    import numpy as np
    import pyarrow as pa

    from lopsided.cli.table_file import write_table

    columns = result.columns()
    if target.suffix.lower() == ".csv":
        safe = np.array([_no_formula(name) for name in result.influence.names])
        columns = {**columns, "label": safe[result.influence.codes]}
    return write_table(target, pa.table(columns))


def _no_formula(cell: str) -> str:
    """A label that a spreadsheet would run (=cmd|..., @SUM) behind an apostrophe, which makes it text there."""
    from lopsided.core.validation import is_number

    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_number(cell) else cell


def _facts(result: "Score", target: Path | None, drawn: Path | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "columns": result.read.to_dict(),
        "classes": result.classes,
        "scores_file": target,
        "plot": drawn,
        "examples": int(result.ranks.size),
        "convention": result.influence.convention,
        "declined": result.influence.declined,
        **{name: getattr(result, name) for name in ("streamed", "decided_by", "standardised", "seconds")},
    }
    if result.noise is not None:
        facts["noise_matrix"] = result.noise
        facts["weakest_ratios"] = result.noise.weakest_ratios()
    return facts


def _show(result: "Score", target: Path | None, drawn: Path | None) -> None:
    from lopsided.cli.console import print_line, print_table

    def _brief(value: float | None) -> str:
        """Three digits: these scores can be of any size, and only their order counts."""
        return "–" if value is None else f"{value:.3g}"

    print_line(result.read.sentence())
    rows = []
    for entry in result.classes:
        high, low = (", ".join(map(str, some[:3])) for some in (entry.highest_examples, entry.lowest_examples))
        ends = [_brief(entry.highest), _brief(entry.lowest), high or entry.declined or "", low]
        rows.append([entry.label, f"{entry.count:,}", *ends])
    heads = ("class", "examples", "highest", "lowest", "with the highest", "and lowest")
    print_table(f"Influence scores of {result.source}", heads, rows)
    if result.decided_by is not None:
        way = "" if result.standardised else " With --standardise, all columns count."
        print_line(f"{result.decided_by.words}{way}")
    if result.noise is not None:
        _show_noise(result.noise)
    written = (f" in {target}" if target else "") + f", {result.seconds:.1f} s"
    print_line(f"{result.ranks.size:,} scores{written}" + (f"; drawn in {drawn}" if drawn else ""))


def _show_noise(noise: "NoiseMatrix") -> None:
    from lopsided.cli.console import print_line, print_table
    from lopsided.report.style import short

    weakest = noise.weakest_ratios()
    if len(noise.names) <= _MOST_COLUMNS:
        cells = [
            [name, *[short(float(value), 3) if i != j else "1" for j, value in enumerate(noise.ratios[i])]]
            for i, name in enumerate(noise.names)
        ]
        print_table("Noise correlation ratios Γ (row against column)", ("class", *noise.names), cells)
    rows = []
    for i, name in enumerate(noise.names):
        j = int((noise.ratios[i] == weakest[i]).argmax())
        low, high = noise.ratios_low, noise.ratios_high
        interval = "" if low is None or high is None else f"{short(low[i, j], 3)} to {short(high[i, j], 3)}"
        rows.append([name, short(float(noise.products[i, i])), short(float(weakest[i]), 3), interval, noise.names[j]])
    heads = ("class", "tr(Σ²)", "Γ", f"{noise.level:.0%} interval", "against")
    print_table("Weakest ratio of every class", heads, rows)
    if noise.note:
        print_line(noise.note + ".")
