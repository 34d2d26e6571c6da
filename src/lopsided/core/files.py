"""Writes files atomically (a temporary file in the same folder, then a rename), and checks paths."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lopsided.core.errors import InputError, LopsidedError


class WriteError(LopsidedError):
    """A file could not be written; no partial file is left."""


def write_atomically(path: str | os.PathLike[str], content: str | bytes, *, durable: bool = True) -> Path:
    """Write `content` to `path`, whole or not at all.

    `durable=False` does not wait for the disk: a power cut may then leave a damaged file, so it is for content that
    carries a checksum and can be made again.
    """
    target = Path(path)
    # A name that is no text (a file called \xff) is written as \udcff, which JSON reads back and a page shows.
    data = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
    temporary = None
    try:
        # the first letters of the name: a name may be 255 bytes long, which leaves no room for an addition
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:32]}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        mask = os.umask(0)  # can only be read by setting it
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        if durable:
            _sync_folder(target.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"Expected to write {target}, but the system said: {reason}.") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    return target


def make_folder(folder: Path, remedy: str) -> None:
    """Make the folder and its parents, unless they exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        said = f"but the system said: {error.strerror}; {remedy}."
        raise WriteError(f"Expected to make the folder {folder}, {said}") from None


def _sync_folder(folder: Path) -> None:
    """Wait until the disk holds the new name too; where folders cannot be synced (Windows) nothing is lost."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_apart(writes: Mapping[str, Path], reads: Iterable[str | os.PathLike[str]]) -> None:
    """Raise an error if an output would overwrite an input or another output, however the paths are spelt.

    writes: the name of an option and its file. reads: files and folders; names of nothing are ignored. In a folder
    that is read, a page or a table, which no reader of folders takes, may be written again; in one of parquet files no
    other may appear.
    """
    sources = [source for source in map(Path, reads) if os.path.exists(source)]
    taken: dict[str, str] = {}
    for option, target in writes.items():
        place = os.path.realpath(target)
        if place in taken:
            raise InputError(f"different files for {taken[place]} and {option}", f"{target} for both", "rename one")
        taken[place] = option
        for source in sources:
            inside = source.is_dir() and Path(os.path.realpath(source)) in Path(place).parents
            part = inside and target.suffix.lower() in PARQUET and next(parquet_parts(source), None) is not None
            if not part and not os.path.lexists(target):
                continue
            if (
                part
                or (os.path.exists(target) and os.path.samefile(source, target))
                or (inside and target.suffix.lower() not in (".html", ".htm", ".parquet", ".csv"))
            ):
                got = f"{target}, which this command reads" + (f" in {source}" if inside else "")
                raise InputError(f"a file of its own for {option}", got, "write to another file")


PARQUET = (".parquet", ".pq")


def parquet_parts(folder: Path, walk: "ParquetWalk | None" = None) -> Iterator[Path]:
    """The parquet files of a folder and of its partitions (`key=value`), in order; none where it has other subfolders,
    which hold pictures, or cannot be listed. Hidden entries and those that begin with _ are ignored; `walk` collects
    what else is passed over."""
    walk = walk or ParquetWalk(folder)
    try:
        entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith((".", "_"))]
    except OSError:  # whoever opens it says so
        return
    inner = [entry for entry in entries if entry.is_dir()]
    if all("=" in entry.name for entry in inner):
        files = [entry for entry in entries if not entry.is_dir()]
        walk.other += [entry for entry in files if entry.suffix.lower() not in PARQUET]
        yield from (entry for entry in files if entry.suffix.lower() in PARQUET and walk.enters(entry))
        for entry in inner:
            if walk.enters(entry):
                yield from parquet_parts(entry, walk)


class ParquetWalk:
    """What a walk through a folder passed over: files of `other` endings, and links to what it reads anyway (`again`),
    which would count rows twice or never end; and the links that led `out` of the folder, which it followed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.other: list[Path] = []
        self.again: list[Path] = []
        self.out: list[Path] = []
        self._real = Path(os.path.realpath(root))
        self._seen = {self._real}

    def enters(self, entry: Path) -> bool:
        """Whether to read a file or folder; noted if it is a link."""
        real = Path(os.path.realpath(entry))
        inside = self._real in real.parents
        if real in self._seen or (entry.is_symlink() and inside and self._is_met(real)):
            self.again.append(entry)
            return False
        self._seen.add(real)
        if entry.is_symlink() and not inside:
            self.out.append(entry)
        return True

    def _is_met(self, real: Path) -> bool:
        """Whether the walk comes to a file or folder below the root by itself. Stores of versions (git-annex, DVC) keep
        the files in hidden folders, under names without an ending, and hand out links to them."""
        *above, name = real.relative_to(self._real).parts
        if name.startswith((".", "_")) or any("=" not in part or part.startswith((".", "_")) for part in above):
            return False
        return "=" in name if real.is_dir() else real.suffix.lower() in PARQUET

    def notes(self) -> tuple[str, ...]:
        """One sentence for each kind."""
        kinds = (
            (self.other, f"not read because they do not end in {' or '.join(PARQUET)}"),
            (self.again, "not read because they are links to what is read anyway"),
            (self.out, "links that lead out of the folder, and were followed"),
        )
        return tuple(
            f"{len(found):,} {'entry' if len(found) == 1 else 'entries'} of {self.root}: {why} ({self._some(found)})."
            for found, why in kinds
            if found
        )

    def _some(self, found: list[Path]) -> str:
        names = [str(path.relative_to(self.root)) for path in found[:3]]
        return ", ".join(names) + (", ..." if len(found) > 3 else "")


def check_target(path: str | os.PathLike[str], endings: Sequence[str], what: str) -> Path:
    """A path for `what` with one of the endings, in a directory that exists; checked before the work, not after."""
    target = as_path(path, f"a file for the {what}")
    if target.suffix.lower() not in endings:
        raise InputError(f"a {what} file that ends in {endings[0]}", repr(str(path)))
    if not target.parent.is_dir():
        raise InputError(f"an existing directory for the {what}", str(target.parent), "create it first")
    if target.is_dir():
        raise InputError(f"a file name for the {what}", f"the directory {target}")
    return target


def as_path(value: object, what: str) -> Path:
    """A path from text or a path; the error says that `what` was expected."""
    try:
        path = Path(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(what, f"a {type(value).__name__}") from None
    if "\0" in str(path):
        raise InputError(what, repr(str(path)))
    return path


def check_regular(path: str | os.PathLike[str], what: str) -> Path:
    """The path of an existing regular file. Pipes, terminals and devices are rejected, because reading them might never
    end."""
    source = as_path(path, what)
    try:
        if source.is_file():
            return source
        there = source.exists()
    except OSError as error:  # a name that is too long, a folder that is not accessible
        raise InputError(what, f"{source}: {error.strerror}") from None
    if not there:
        raise InputError(what, f"{source}, which does not exist")
    kind = "a directory" if source.is_dir() else "a pipe, socket or device"
    raise InputError(what, f"{kind}: {source}")
