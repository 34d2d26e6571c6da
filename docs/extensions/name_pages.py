"""The API reference: one page per public name, and one page per room with the modules in it.

The list of names is `lopsided.__all__`; the rooms are the subpackages. Nothing is typed in twice.
"""

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

from generated import heading, indented, keep_only, write_page
from plain_docstrings import plain
from sphinx.application import Sphinx

import lopsided

# Not for callers: the command line has its own reference, and the experiments of claims are shown with the claims.
_HIDDEN = ("lopsided.cli", "lopsided.papers", "lopsided.web")


def public_names() -> list[str]:
    """What `import lopsided` offers, without the version."""
    return [name for name in lopsided.__all__ if not name.startswith("__")]


def rooms() -> dict[str, list[str]]:
    """Modules by room, both in alphabetical order."""
    found: dict[str, list[str]] = {}
    for module in pkgutil.walk_packages(lopsided.__path__, "lopsided."):
        inner = module.name.split(".")
        if len(inner) < 3 or inner[-1].startswith("_") or module.name.startswith(_HIDDEN):
            continue
        found.setdefault(inner[1], []).append(module.name)
    return found


def _name_page(name: str) -> str:
    value = getattr(lopsided, name)
    kind = "autoexception" if _is_error(value) else "autoclass" if inspect.isclass(value) else "autofunction"
    home = value.__module__
    parts = [heading(f"lopsided.{name}"), f".. currentmodule:: lopsided\n\n.. {kind}:: lopsided.{name}\n"]
    parts.append(f"\nDefined in ``{home}``.\n")
    returned = _result_class(value)
    if returned is not None:
        parts.append(heading("What it returns", "-") + f"\n.. autoclass:: {returned}\n   :no-index:\n")
    return "\n".join(parts)


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _result_class(value: object) -> str | None:
    """The record that a function returns, so that its fields stand on the same page."""
    if not inspect.isfunction(value):
        return None
    returned = inspect.get_annotations(value, eval_str=False).get("return")
    if inspect.isclass(returned) and returned.__module__.startswith("lopsided"):
        return f"{returned.__module__}.{returned.__qualname__}"
    return None


def _room_page(room: str, modules: list[str]) -> str:
    package = import_module(f"lopsided.{room}")
    parts = [heading(f"lopsided.{room}"), plain(inspect.cleandoc(package.__doc__ or "")) + "\n"]
    for module in modules:
        parts.append(heading(module.removeprefix(f"lopsided.{room}."), "-") + f"\n.. automodule:: {module}\n")
    return "\n".join(parts)


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "api"
    for name in public_names():
        write_page(folder / f"{name}.rst", _name_page(name))
    found = rooms() if app.config.lopsided_rooms else {}
    for room, modules in found.items():
        write_page(folder / f"room-{room}.rst", _room_page(room, modules))
    summary = "\n".join(f":doc:`lopsided.{name} <{name}>`\n{indented(_summary(name))}\n" for name in public_names())
    text = (
        heading("Python names") + "\nA name is loaded when it is first used, so ``import lopsided`` is immediate.\n\n"
    )
    text += summary + "\n.. toctree::\n   :hidden:\n\n" + "\n".join(f"   {name}" for name in public_names()) + "\n"
    if found:
        text += "\n" + heading("The rooms", "-")
        text += "\nModules behind those names. They can be used directly; before version 1.0 they may change.\n"
        text += "\n.. toctree::\n   :maxdepth: 1\n\n" + "\n".join(f"   room-{room}" for room in found) + "\n"
    write_page(folder / "index.rst", text)
    keep_only(folder, ["index", *public_names(), *(f"room-{room}" for room in found)])


def _summary(name: str) -> str:
    lines = inspect.cleandoc(getattr(lopsided, name).__doc__ or "").split("\n\n")
    return plain(" ".join(lines[0].split()))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.add_config_value("lopsided_rooms", True, "env", bool)
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
