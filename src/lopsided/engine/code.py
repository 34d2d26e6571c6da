"""The code that a result comes from: a hash over every file of lopsided that its home can reach by import.

The home is the module, or a user's file, in which a measurement lives. All `import` statements count, also those inside
functions and those for type checkers, so the closure contains too much rather than too little: a changed comment may
cause a repeat, but a changed formula is never missed. Files outside lopsided are not followed, the home itself apart. A
package's own `__init__` counts for every module in it, and where names are taken from the package itself, so do the
modules that it names in strings, to load them when they are asked for. That of lopsided itself is a list of public
names and is followed only where it is imported by itself (`import lopsided`), which reaches everything. A json or csv
file of constants counts where code of the closure names it and lies beside it; only the published score does not.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lopsided.engine.definitions import PACKAGE, CodeEntry, constants_named, module_file, reached


def code_of(home: str, entry: CodeEntry | None = None) -> str:
    """The first 16 digits of the SHA-256 over the closure of a module's name or of the path of a `.py` file.

    With an `entry` only the definitions that it reaches count, and the closures of the modules that those import.
    Kept from the first time on, because a module that is edited while this process lives is not what was imported; a
    user's own file is loaded again when it changes, and so it is read again here.
    """
    return _kept(home, entry, Path(home).stat().st_mtime_ns if home.endswith(".py") else None)


@cache
def _kept(home: str, entry: CodeEntry | None, modified: int | None) -> str:
    return closure_hash(home, Path(__file__).resolve().parent.parent, entry)


def closure_hash(home: str, package: Path, entry: CodeEntry | None = None) -> str:
    """The same for the lopsided whose files lie in `package`."""
    digest = hashlib.sha256()
    if entry is None:
        files = closure(home, package)
    else:
        own = reached(home, entry, package)
        digest.update(own.digest.encode())
        files = _closure({}, [name for module in own.modules for name in _led_to(module, (), package)], package)
        files |= {path.relative_to(package).as_posix(): path for path in own.constants}
    for name, path in sorted(files.items()):
        digest.update(f"{name}\x1f".encode())
        stamp = path.stat()
        digest.update(_digest(str(path), stamp.st_mtime_ns, stamp.st_size))
    return digest.hexdigest()[:16]


def closure(home: str, package: Path) -> dict[str, Path]:
    """Module name -> file of everything that `home` reaches; a home outside the package is under its file's name, and
    constants are under the path of their file."""
    if home.endswith(".py"):
        return _closure({Path(home).name: Path(home)}, list(_imported(Path(home), package)), package)
    return _closure({}, [home], package)


def _closure(found: dict[str, Path], waiting: list[str], package: Path) -> dict[str, Path]:
    while waiting:
        name = waiting.pop()
        path = None if name in found else module_file(name, package)
        if path is None:
            continue
        found[name] = path
        waiting += list(_imported(path, package))
        found |= {one.relative_to(package).as_posix(): one for one in _read(path).constants}
        parts = name.split(".")
        waiting += [".".join(parts[:end]) for end in range(2, len(parts))]  # the packages that it lies in, but lopsided
    return found


def _imported(path: Path, package: Path) -> Iterator[str]:
    """Names of the package's modules that a file imports."""
    for module, names in _read(path).imports:
        yield from _led_to(module, names, package)


def _led_to(module: str, names: tuple[str, ...], package: Path) -> Iterator[str]:
    """The modules that an import of a module, or of names out of it, loads now or when they are asked for."""
    yield module
    inner = {f"{module}.{name}" for name in names}
    modules = {name for name in inner if module_file(name, package) is not None}
    yield from modules
    folder = module_file(module, package)
    if folder is not None and folder.name == "__init__.py" and (not names or modules != inner):
        for text in _read(folder).strings:
            yield from (text, f"{module}.{text}")


@dataclass(frozen=True)
class _Read:
    """What a file says: (module, names taken from it) of every import of the package, its strings of one word, and the
    files of constants that it names."""

    imports: tuple[tuple[str, tuple[str, ...]], ...]
    strings: tuple[str, ...]
    constants: tuple[Path, ...]


def _read(path: Path) -> _Read:
    stamp = path.stat()
    return _parsed(str(path), stamp.st_mtime_ns, stamp.st_size)


@cache
def _digest(path: str, modified: int, size: int) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


@cache
def _parsed(path: str, modified: int, size: int) -> _Read:
    """A file that does not parse imports nothing."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (SyntaxError, ValueError):
        return _Read((), (), ())
    imports: list[tuple[str, tuple[str, ...]]] = []
    strings: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name, ()) for alias in node.names if alias.name.split(".")[0] == PACKAGE]
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
            names = tuple(alias.name for alias in node.names)
            if (node.module, names) != (PACKAGE, ("__version__",)):
                imports.append((node.module, names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings += [node.value] if node.value.replace(".", "").isidentifier() else []
    return _Read(tuple(imports), tuple(strings), tuple(constants_named(tree, Path(path).parent)))
