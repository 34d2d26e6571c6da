"""Kinds of command-line values, with errors that say what came."""

from pathlib import Path

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


def _folder(text: str) -> Path:
    if not text.strip():
        raise typer.BadParameter("expected a folder, but got an empty name; write . for this one")
    return Path(text)


def folder(help: str) -> typer.models.OptionInfo:
    """An option that takes a folder; an empty name (an unset variable of a script) is not the current one."""
    option: typer.models.OptionInfo = typer.Option(help=help, parser=_folder, metavar="FOLDER")
    return option
