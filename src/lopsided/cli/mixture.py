"""`lopsided mixture SPEC.toml --samples N` and `lopsided mixture fit DATA`: the forecast for groups of a Gaussian
mixture."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lopsided.cli.options import options_for
from lopsided.core.errors import InputError


def command(
    specification: Annotated[str, typer.Argument(metavar="SPEC.toml", help="A TOML specification, or the word fit.")],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="After fit: npz, parquet or csv with labels.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Number of training samples n (default with fit: the rows of DATA).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw risk against group size into this .html or .png file.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Number of the group to vary in the plot; with fit, the column of groups.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="With fit: the column of labels.")] = None,
    positive: Annotated[str | None, typer.Option(help="With fit: the label to code as 1.")] = None,
    neurons: Annotated[int, typer.Option(help="With fit: hidden neurons of the network.")] = 2,
    groups: Annotated[int | None, typer.Option(help="With fit: number of groups (default: chosen by BIC).")] = None,
    components: Annotated[int, typer.Option(help="With fit: number of principal components to keep.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the fit and the plot.")] = 0,
) -> None:
    """Forecast each group's risk, and whether more of it helps.

    The groups are those of a Gaussian mixture, given in a TOML file or fitted to data.
    """
    given = dict(locals())
    from lopsided.cli.console import Late, print_json
    from lopsided.report.drawing import check_plot_path

    if plot is not None:
        check_plot_path(plot)
    if specification == "fit":
        if data is None:
            raise InputError("a data file after fit", "none", "give npz, parquet or csv")
        from lopsided.checkup.mixture_fit import mixture_fit

        fit = mixture_fit(**options_for(mixture_fit, given))
        facts, forecast, swept = fit.facts(), fit.forecast, None
    else:
        if data is not None:
            raise InputError("one specification", f"also {data!r}", "write fit before a data file")
        if samples is None:
            raise InputError("the number of training samples", "none", "give --samples, for example 10000")
        from lopsided.theory.mixture_forecast import mixture

        forecast = mixture(specification, samples)
        facts, swept = forecast.facts(), group
    late = Late()
    if plot is not None:
        from lopsided.report.drawing import write_figure
        from lopsided.worlds.mixture_sweep import sweep_figure

        chosen = _group_number(swept, forecast.problem.mixture.fractions)
        figure = sweep_figure(forecast.problem, forecast.samples, chosen, seed=seed)
        told = _headline(facts)
        facts["plot"] = late.write(write_figure, plot, figure, facts=told, footer="lopsided mixture")
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    late.tell()


def _group_number(text: str | None, fractions: Any) -> int:

    if text is None:
        return int(fractions.argmin())
    if not text.isdecimal() or int(text) >= len(fractions):
        raise InputError(f"a group number from 0 to {len(fractions) - 1}", repr(text))
    return int(text)


def _headline(facts: dict[str, Any]) -> list[tuple[str, str]]:
    from lopsided.report.style import short

    return [
        ("samples n", f"{facts['samples']:,}"),
        ("dimension d, neurons K", f"{facts['dimension']}, {facts['neurons']}"),
        ("average excess risk, d K / (2n)", f"{short(facts['average_excess_risk'])} nats"),
        ("average label entropy", f"{short(facts['average_label_entropy'])} nats"),
        ("relative weight error", short(facts["relative_weight_error"])),
    ]


def _said(groups: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What Table I says about a larger fraction, once for all groups of which it says the same."""
    by_words: dict[str, list[str]] = {}
    for index, group in enumerate(groups):
        by_words.setdefault(group["regime"]["fraction"], []).append(group.get("name", f"group {index}"))
    return [(words, ", ".join(names)) for words, names in by_words.items()]


def _effect(group: dict[str, Any]) -> str:
    """`helps (-0.31)`, with the interval where there is one."""
    low, high = group.get("interval", (None, None))
    ends = "" if low is None else f" [{low:+.2f}, {high:+.2f}]"
    return f"{group.get('more_of_it', group['fraction_effect'])} ({group['fraction_elasticity']:+.2f}{ends})"


def _print(facts: dict[str, Any]) -> None:
    from lopsided.cli.console import print_line, print_table
    from lopsided.core.published_skill import skill_sentence
    from lopsided.report.style import short

    rows = []
    for index, group in enumerate(facts["groups"]):
        risks = [short(group[name]) for name in ("fraction", "label_entropy", "excess_risk")]
        rows.append([group.get("name", str(index)), *risks, _effect(group), short(group["fraction_crossing"])])
    title = f"Forecast for n = {facts['samples']:,}, d = {facts['dimension']}, K = {facts['neurons']} (risks in nats)"
    heads = ("group", "fraction", "label entropy", "excess risk", "a larger fraction", "hurts beyond")
    print_table(title, heads, rows)
    for said, whom in _said(facts["groups"]):
        print_line(f"The paper says of {whom}: {said}.")
    if not facts["law_reliable"]:
        predicted = f"it predicts a weight error of {facts['relative_weight_error']:.0%}"
        print_line(f"n is small for this law: {predicted}; expect 1.2 to 2 times the stated excess risk.")
    if "network" in facts:
        kept = f"{facts['explained_variance']:.0%} of the variance kept"
        print_line(f"Mixture estimated by {facts['estimated_by']}; network: {facts['network']}; {kept}.")
        if dropped := facts["dropped_directions"]:
            print_line(f"Left out: {dropped} directions that hardly vary (constant or repeated columns).")
        if left := ", ".join(facts["left_out_groups"]):
            print_line(f"Left out, with too few rows or beyond the largest dozen: {left}.")
        for number, reason in facts["declined_groups"].items():
            print_line(f"{number} groups declined: {reason}.")
    for line in _headline(facts)[2:]:
        print_line(f"{line[0]}: {line[1]}")
    told = "" if "network" in facts else skill_sentence("more of a group")  # of mixtures that are known, not fitted
    if told:
        print_line(f"More of a group helps or hurts: {told[0].lower()}{told[1:]}")
    names = ("B", "q", "Ew", "E", "Gamma", "D6", "D12", "sample_complexity")
    bounds = ", ".join(f"{name} {short(facts[name])}" for name in names)
    print_line(f"The paper's bounds, with all constants 1, rank problems but do not measure them: {bounds}.")
    print_line(f"integration: {facts['integration']}, relative error {facts['integration_error']:.1e}")
    print_line(f"{facts['seconds']:.2f} s")
