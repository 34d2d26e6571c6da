"""The code of one definition: its own lines and those of everything in its room that it names, as they compile.

A file often holds more than a measurement: the rule that judges it, the picture, words. Only the definitions that the
measurement can reach by name belong to its result, so a changed rule is judged again on the stored numbers and nothing
is measured twice. Formatting, comments and docstrings do not count.

Of a `CodeEntry`, `name` is where to start, `ignored` names arguments of calls that are not followed there, and modules
whose names begin with `inside` (and the home itself) are cut into definitions. A module outside is taken whole, with
all that it imports (`engine.code.closure`), or left out if `outside` says so. What a module does when it is imported
counts as soon as one of its definitions does; a module that is used other than by `module.name` counts whole. A file of
constants that counted code names, and that lies beside it, counts with all it holds.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "lopsided"
_SPECIAL = {"ClassVar", "InitVar", "KW_ONLY"}  # a dataclass treats such fields otherwise
_CONSTANTS = (".json", ".csv")
# Not constants: publishing what results say must not void the results.
_SAID = frozenset({"published_skill.json"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class CodeEntry:
    """Where in its home a piece of code begins, and how far it is followed; `calls` are the functions whose arguments
    may be ignored wherever they are called, besides the calls of the starting definition itself; what the modules
    `left` define does not count, nor do annotations if `annotations` says so."""

    name: str
    ignored: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    outside: bool = True
    annotations: bool = True


@dataclass(frozen=True)
class Reached:
    """Definitions by (module, name), as text, the modules outside that they import, and files of constants that they
    name."""

    definitions: dict[tuple[str, str], str]
    modules: frozenset[str]
    constants: frozenset[Path]

    @property
    def digest(self) -> str:
        """SHA-256 over the definitions, 16 digits. Where a definition stands does not count: a file that moves to
        another room, or is cut in two, leaves every rule as it was frozen."""
        content = "\x1f".join(sorted(f"{name}\x1e{text}" for (_, name), text in self.definitions.items() if text))
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Module:
    """Top-level statements by the names that they define; `always` run on import; `imports` name -> (module, name)."""

    definitions: dict[str, tuple[ast.stmt, ...]]
    always: tuple[ast.stmt, ...]
    imports: dict[str, tuple[str, str | None]]

    def called(self, name: str) -> tuple[ast.stmt, ...]:
        """The statements that belong to a name; to none, those that always run; to `*`, all of them."""
        if name == "*":
            return (*self.always, *(one for own in self.definitions.values() for one in own))
        return self.always if name == "" else self.definitions.get(name, ())


@dataclass(frozen=True)
class _Statement:
    """What counts of a statement: its text, the names that it uses, what it imports itself, and constants it names."""

    text: str
    names: tuple[tuple[str, str | None], ...]
    imports: dict[str, tuple[str, str | None]]
    constants: tuple[Path, ...]


def reached(home: str, entry: CodeEntry, package: Path) -> Reached:
    """All that `entry` of a module, or of a file whose name ends in `.py`, reaches."""
    found: dict[tuple[str, str], str] = {}
    modules: set[str] = set()
    constants: set[Path] = set()
    waiting, seen = [(home, entry.name)], set[tuple[str, str]]()
    while waiting:
        module, name = waiting.pop()
        if (module, name) in seen:
            continue
        seen.add((module, name))
        path = Path(module) if module.endswith(".py") else module_file(module, package)
        if path is None:
            continue
        stamp = path.stat()
        file = str(path), stamp.st_mtime_ns, stamp.st_size
        parts = _parts(*file)
        if name in parts.imports and not parts.called(name):  # a name that is only passed on
            waiting += _followed(*parts.imports[name], name, entry, package, modules)
            continue
        if module in entry.left:
            continue
        start = (module, name) == (home, entry.name)
        kept = _statements(file, name, replace(entry, name="", inside=(), left=(), outside=True), everywhere=start)
        found[_place(module, home), name] = "\n".join(one.text for one in kept)
        if name not in ("", "*"):
            waiting.append((module, ""))
        for one in kept:
            constants |= {path for path in one.constants if path.is_relative_to(package)}
            for used, attribute in one.names:
                where = one.imports.get(used) or parts.imports.get(used)
                if where is not None:
                    waiting += _followed(*where, attribute, entry, package, modules)
                elif used in parts.definitions:
                    waiting.append((module, used))
    return Reached(found, frozenset(modules), frozenset(constants))


def module_file(name: str, package: Path) -> Path | None:
    """The file of a module of the package; None where there is no such module."""
    parts = name.split(".")
    if parts[0] != PACKAGE:
        return None
    base = package.joinpath(*parts[1:])
    if (base / "__init__.py").is_file():
        return base / "__init__.py"
    return base.with_suffix(".py") if len(parts) > 1 and base.with_suffix(".py").is_file() else None


def constants_named(node: ast.AST, folder: Path) -> Iterator[Path]:
    """Files of constants beside a file of code, of those whose name stands in it as text."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.endswith(_CONSTANTS):
            path = folder / one.value
            if path.name not in _SAID and path.is_file():
                yield path


def _place(module: str, home: str) -> str:
    """A file outside the package is known by its name, wherever it lies."""
    return Path(module).name if module == home and module.endswith(".py") else module


def _followed(
    module: str, name: str | None, attribute: str | None, entry: CodeEntry, package: Path, modules: set[str]
) -> list[tuple[str, str]]:
    """Where an imported name leads: to a definition inside, or to a module outside, which is noted."""
    if name is not None and module_file(f"{module}.{name}", package) is not None:
        module, name = f"{module}.{name}", None
    if module_file(module, package) is None:
        return []
    if not module.startswith(entry.inside):
        if entry.outside and module not in entry.left:
            modules.add(module)
        return []
    return [(module, name or attribute or "*")]


class _Cut(ast.NodeTransformer):
    """Without docstrings, ignored arguments and, where asked, annotations."""

    def __init__(self, entry: CodeEntry, *, everywhere: bool) -> None:
        self.entry, self.everywhere = entry, everywhere

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func.id if isinstance(node.func, ast.Name) else None
        if self.everywhere or called in self.entry.calls:
            node.keywords = [one for one in node.keywords if one.arg not in self.entry.ignored]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node if self.entry.annotations else ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if not self.entry.annotations and not _SPECIAL & {name for name, _ in _names(node.annotation)}:
            node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not self.entry.annotations and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        body = getattr(node, "body", None)
        if isinstance(node, _DOCUMENTED) and body and ast.get_docstring(node, clean=False) is not None:
            node.body = body[1:] or [ast.Pass()]
        return super().generic_visit(node)


def _copied(node: Any) -> Any:
    """The tree again, to be cut; lines and columns, which do not count, stay behind."""
    if isinstance(node, list):
        return [_copied(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})


def _text(node: Any) -> str:
    """The tree as text, alike in every version of Python: fields that are empty are left out."""
    if isinstance(node, list):
        return f"[{','.join(_text(one) for one in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if name not in ("ctx", "kind"))
    inner = ",".join(f"{name}={_text(value)}" for name, value in fields if value is not None and value != [])
    return f"{type(node).__name__}({inner})"


def _names(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Every name that is read, with the attribute that is taken of it, if one is."""
    taken = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
            taken[id(one.value)] = one.attr
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id, taken.get(id(one))
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
            yield one.value, None  # an annotation as text, or a name to look up


def _imports(nodes: Iterator[ast.AST]) -> Iterator[tuple[str, tuple[str, str | None]]]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], (alias.name, None)


@cache
def _statements(file: tuple[str, int, int], name: str, cut: CodeEntry, *, everywhere: bool) -> tuple[_Statement, ...]:
    """The statements of a name, read once for all that reach it; of `cut` only what is left out of them counts."""
    kept = (_Cut(cut, everywhere=everywhere).visit(_copied(one)) for one in _parts(*file).called(name))
    return tuple(
        _Statement(
            _text(one),
            tuple(dict.fromkeys(_names(one))),
            dict(_imports(ast.walk(one))),
            tuple(constants_named(one, Path(file[0]).parent)),
        )
        for one in kept
    )


@cache
def _parts(path: str, modified: int, size: int) -> _Module:
    """A file that does not parse defines nothing."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (SyntaxError, ValueError):
        return _Module({}, (), {})
    definitions: dict[str, tuple[ast.stmt, ...]] = {}
    always: list[ast.stmt] = []
    imports = dict(_imports(iter(tree.body)))
    for number, node in enumerate(tree.body):
        names = list(_defined(node))
        for name in names:
            definitions[name] = (*definitions.get(name, ()), node)
        docstring = number == 0 and ast.get_docstring(tree, clean=False) is not None
        if not names and not docstring and not isinstance(node, (ast.Import, ast.ImportFrom)):
            always.append(node)
    return _Module(definitions, tuple(always), imports)


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module gives a value."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (
                one.id for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
            )
