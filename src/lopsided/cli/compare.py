"""`lopsided compare`: two checkpoints of one network, layer by layer."""

from typing import Annotated

import typer

from lopsided.cli.options import AsJson, Plot


def command(
    before: Annotated[str, typer.Argument(help="The earlier checkpoint (.safetensors, or PyTorch weights).")],
    after: Annotated[str, typer.Argument(help="The later checkpoint of the same network.")],
    head: Annotated[
        str | None, typer.Option(help="Name of the classifier's weight (default: the last matrix).")
    ] = None,
    common: Annotated[
        bool, typer.Option("--common", help="Compare only the layers that both checkpoints have.")
    ] = False,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Measure how far each layer moved between two checkpoints.

    Also says in how many directions it moved and what became of the classifier. Reads safetensors files and PyTorch
    weights (with weights_only), and executes nothing in them.
    """
    from lopsided.cli.console import Late, print_json, print_line, print_table
    from lopsided.report.drawing import check_plot_path, write_figure
    from lopsided.report.style import short
    from lopsided.torch import compare_checkpoints

    target = None if plot is None else check_plot_path(plot)
    found = compare_checkpoints(before, after, head=head, strict=not common)
    facts, late = found.to_dict(), Late()
    if target is not None:
        target = facts["plot"] = late.write(write_figure, target, found.figure())
    if as_json:
        print_json(facts)
        late.tell()
        return
    rows = []
    for layer in found.layers:
        change = [getattr(layer.change, name, None) for name in ("stable_rank", "entropy_rank")]
        ranks = [short(rank, 3) for rank in (*change, getattr(layer.after, "entropy_rank", None))]
        rows.append([layer.name, " x ".join(map(str, layer.shape)), short(layer.relative_distance, 3), *ranks])
    columns = ("layer", "shape", "distance", "stable rank", "entropy rank", "entropy rank after")
    print_table("Change of each layer", columns, rows, numbers_from=2)
    if found.classifier is not None:
        head_facts = found.classifier
        print_line(
            f"Classifier {head_facts.name}: mean cosine {short(head_facts.cosine_before, 3)} before, "
            f"{short(head_facts.cosine_after, 3)} after; largest {short(head_facts.largest_after, 3)}"
            + ("" if head_facts.closest_after is None else " (rows {} and {})".format(*head_facts.closest_after))
        )
    if target is not None:
        print_line(f"Drawn into {target}")
    late.tell()
