"""The command reference, read from the Typer application itself: usage, arguments, options and their help."""

import inspect
from pathlib import Path
from typing import Any

from generated import heading, indented, keep_only, write_page
from plain_docstrings import blocks, plain
from sphinx.application import Sphinx


def commands() -> dict[str, Any]:
    """Every command by name, in the order of `lopsided --help`."""
    import typer.main

    from lopsided.cli.app import application

    return dict(typer.main.get_command(application).commands)  # type: ignore[attr-defined]


def command_page(name: str, command: Any) -> str:
    """One command as reStructuredText."""
    arguments = [entry for entry in command.params if entry.param_type_name == "argument"]
    options = [entry for entry in command.params if entry.param_type_name == "option"]
    usage = " ".join(["lopsided", name, *(_usage(entry) for entry in arguments), "[OPTIONS]" if options else ""])
    parts = [
        f".. _command-{name}:\n",
        heading(f"lopsided {name}"),
        "\n".join(blocks(inspect.cleandoc(command.help or "").splitlines())),
        f".. code-block:: text\n\n   {usage.strip()}\n",
        f".. program:: lopsided {name}\n",
    ]
    if arguments:
        parts.append(heading("Arguments", "-"))
        parts += [f"``{_usage(entry)}``\n{indented(plain(_help(entry)))}\n" for entry in arguments]
    if options:
        parts.append(heading("Options", "-"))
        parts += [_option(entry) for entry in options]
    return "\n".join(parts)


def _option(entry: Any) -> str:
    names = ", ".join(_names(entry))
    facts = plain(_help(entry))
    if entry.multiple:
        facts += " Can be given several times."
    if not entry.is_flag and entry.default not in (None, "", [], ()):
        facts += f" Default: ``{entry.default}``."
    return f".. option:: {names}\n\n{indented(facts)}\n"


def _names(entry: Any) -> list[str]:
    kind = "" if entry.is_flag else f" {entry.metavar or 'VALUE'}"
    return [f"{name}{kind}" for name in (*entry.opts, *entry.secondary_opts)]


def _usage(entry: Any) -> str:
    name = (entry.metavar or entry.name.upper()).strip("[]")
    dots = "..." if entry.nargs == -1 else ""
    return f"{name}{dots}" if entry.required else f"[{name}{dots}]"


def _help(entry: Any) -> str:
    return str(getattr(entry, "help", None) or "")


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "commands"
    found = commands()
    for name, command in found.items():
        write_page(folder / f"{name}.rst", command_page(name, command))
    keep_only(folder, ["index", *found])
    listed = "\n".join(f"   {name}" for name in found)
    first = {name: inspect.cleandoc(command.help or "").splitlines()[:1] for name, command in found.items()}
    table = "\n".join(f":doc:`lopsided {name} <{name}>`\n{indented(plain(''.join(first[name])))}\n" for name in found)
    write_page(
        folder / "index.rst",
        heading("Commands")
        + "\nRead from the program itself. ``--json`` prints one JSON object and nothing else. Exit codes: 0 done, 1"
        + " findings beyond what was allowed or a claim that broke, 2 bad input with one sentence that says what was"
        + " expected, what came and what to do, 3 an audit in which a check broke because of a bug.\n\n"
        + table
        + f"\n.. toctree::\n   :hidden:\n\n{listed}\n",
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
