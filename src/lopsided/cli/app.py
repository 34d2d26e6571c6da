"""All commands in one application. A command's module imports the rooms it needs inside its function, so that
`lopsided --help` stays immediate."""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from lopsided.cli import (
    audit,
    bench,
    claims,
    collapse,
    compare,
    data,
    demo,
    docs,
    mixture,
    options,
    plan,
    reproduce,
    results,
    score,
    serve,
    skill,
    trial,
)

# in the order of `lopsided --help`
_ON_DATA = (demo, audit, collapse, mixture, score, plan, trial, compare)
_ON_THE_HOUSE = (reproduce, claims, data, results, skill, serve, bench, docs)

application = typer.Typer(
    name="lopsided",
    help="Predict, measure and fix what imbalance does to a neural network.",
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
    """Predict, measure and fix what imbalance does to a neural network."""


class _Command(TyperCommand):
    """A command whose help says what an option takes (COLUMN, FILE) where Typer would name the Python type."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for entry in self.params:
            kind = getattr(entry, "type_descriptor", None)
            if entry.param_type_name == "argument":
                vars(entry)["display_type_rich"] = lambda ctx: None  # NAMES says more than list[str]
            if entry.metavar is None and kind is not None and entry.name is not None:
                entry.metavar = options.value_word(entry.name, kind.annotation, entry.param_type_name)


def _reading_first(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refused before any work where it would write over what it reads."""

    @wraps(command)
    def run(**given: Any) -> None:
        from lopsided.engine.needs import found_here

        options.check_outputs(given)
        with found_here():
            command(**given)

    return run


for _module in (*_ON_DATA, *_ON_THE_HOUSE):
    application.command(_module.__name__.rpartition(".")[2], cls=_Command)(_reading_first(_module.command))
