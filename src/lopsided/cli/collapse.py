"""`lopsided collapse`: from class counts to a certified forecast of which classes will not be distinguished."""

from typing import Annotated

import typer

from lopsided.cli.options import AsJson, Plot, number, options_for

_HELD = ("feature_energy", "weight_energy", "tau", "multiplier", "weight_decay", "feature_decay")


def command(
    counts: Annotated[
        str | None,
        typer.Option(help="5000*5,50*5 (five classes of 5000, five of 50), a plain list, or a csv or txt file."),
    ] = None,
    counts_file: Annotated[str | None, typer.Option(help="A csv or txt file of counts, with or without names.")] = None,
    feature_energy: Annotated[float | None, number("E_H: mean squared length of the features.")] = None,
    weight_energy: Annotated[float | None, number("E_W: mean squared length of the classifiers.")] = None,
    tau: Annotated[float | None, number("K sqrt(E_H E_W), in place of the two energies.")] = None,
    multiplier: Annotated[float | None, number("Multiplier of the penalised form.")] = None,
    weight_decay: Annotated[float | None, number("Weight decay of the classifier (penalised form).")] = None,
    feature_decay: Annotated[float | None, number("Decay of the features (default: the weight decay).")] = None,
    features: Annotated[str, typer.Option(help="free (the paper) or relu (nonnegative features).")] = "free",
    class_weights: Annotated[
        str | None, typer.Option(help="Class weights or oversampling rates, written like counts.")
    ] = None,
    target_cosine: Annotated[
        float | None, number("Also compute the oversampling rate that lowers the minority cosine to this.")
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan", help="Also compute oversampling rates, examples to collect and the largest safe weight decay."
        ),
    ] = False,
    tolerance: Annotated[
        float, number("Relative duality gap to reach; 1e-6 is much quicker for hundreds of distinct class sizes.")
    ] = 1e-10,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Forecast from class counts which classes will collapse.

    Classes that collapse share one classifier, so a network cannot distinguish them. Solves the Layer-Peeled Model
    exactly and prints how many examples a class needs, the angles between classifiers, the ratios at which the
    minority collapses or vanishes, and what prevents it. Without energies or weight decay, the feature energy is 5 and
    the weight energy 1, as in the paper's figures.
    """
    given = dict(locals())
    from lopsided.cli.console import Late, print_facts, print_json, print_line
    from lopsided.cli.progress import status_line
    from lopsided.core.counts import class_counts
    from lopsided.core.counts import counts_file as read_counts
    from lopsided.core.errors import InputError
    from lopsided.report.drawing import check_plot_path, write_figure

    if (counts is None) == (counts_file is None):
        came = "neither" if counts is None else "both"
        raise InputError("either --counts or --counts-file", came, "give for example --counts 5000*5,50*5")
    target = None if plot is None else check_plot_path(plot)
    found = class_counts(counts) if counts is not None else read_counts(str(counts_file))
    weights = None if class_weights is None else class_counts(class_weights).counts.tolist()
    assumed = all(given[name] is None for name in _HELD)
    if assumed:
        given |= {"feature_energy": 5.0, "weight_energy": 1.0}

    from lopsided.report.collapse import collapse_figure, summary, verdict
    from lopsided.theory.collapse import collapse

    words = f"solving for {found.classes} classes"
    with status_line(words, quiet=as_json) as say:

        def told(iteration: int, gap: float) -> None:
            say(f"{words}: iteration {iteration}, relative gap {gap:.1e}")

        forecast = collapse(**options_for(collapse, given, counts=found, class_weights=weights, progress=told))
    facts, late = forecast.to_dict(), Late()
    rows = summary(forecast, {} if assumed else given)
    if target is not None:
        from lopsided.core.provenance import provenance

        origin = provenance(seed=None, settings={})
        footer = f"lopsided {origin['version']}, {origin['time']}"
        target = late.write(write_figure, target, collapse_figure(forecast), facts=rows, footer=footer)
        facts["plot"] = target
    if as_json:
        print_json(facts)
    else:
        print_line(verdict(forecast))
        print_facts(rows)
        if assumed:
            print("No energies were given; assuming a feature energy of 5 and a weight energy of 1.")
        if target is not None:
            print_line(f"Drawn into {target}")
    late.tell()
