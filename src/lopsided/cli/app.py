"""All commands in one application. A command's module imports the rooms it needs inside its function, so that
`lopsided --help` stays immediate."""

from typing import Annotated

import typer

from lopsided.cli import (
    audit,
    bench,
    claims,
    collapse,
    compare,
    demo,
    docs,
    mixture,
    plan,
    reproduce,
    results,
    score,
    serve,
    skill,
    trial,
)

application = typer.Typer(
    name="lopsided",
    help="Predict, measure and mend what imbalance does to a neural network.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from lopsided import __version__

        print(f"lopsided {__version__}")
        raise typer.Exit


@application.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Predict, measure and mend what imbalance does to a neural network."""


application.command("demo")(demo.command)
application.command("audit")(audit.command)
application.command("collapse")(collapse.command)
application.command("mixture")(mixture.command)
application.command("score")(score.command)
application.command("plan")(plan.command)
application.command("trial")(trial.command)
application.command("compare")(compare.command)
application.command("reproduce")(reproduce.command)
application.command("claims")(claims.command)
application.command("results")(results.command)
application.command("skill")(skill.command)
application.command("serve")(serve.command)
application.command("bench")(bench.command)
application.command("docs")(docs.command)
