"""Kinds of command-line values, with errors that say what came."""

import typer


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number, but got {text!r}") from None


def number(help: str) -> typer.models.OptionInfo:
    """An option that takes a number."""
    option: typer.models.OptionInfo = typer.Option(help=help, parser=_number, metavar="NUMBER")
    return option
