"""Downloads a data set: from the first mirror that answers, resumed where an earlier attempt stopped, kept only when
its SHA-256 sum is right.

A file is written as NAME.part next to its final place and renamed when it is complete. If a mirror fails in the middle,
the next one continues; bytes with a wrong sum are deleted.
"""

import contextlib
import hashlib
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from http.client import HTTPException
from pathlib import Path

from lopsided.core.errors import InputError, LopsidedError
from lopsided.core.files import WriteError
from lopsided.data.data_sets import DataSet, RemoteFile, data_set, find_data_set

CHUNK = 1 << 18
SECONDS = 30.0  # without a byte before a mirror is given up
Told = Callable[[int, int, str], None]  # bytes done, bytes in all, the file under way


class DownloadError(LopsidedError):
    """The file could not be downloaded from any mirror."""


def download(
    name: str, folder: str | os.PathLike[str], *, mirrors: Sequence[str] = (), progress: Told | None = None
) -> Path:
    """Download the data set `name` into its own folder inside `folder`, unless it is there already.

    Parameters
    ----------
    name : str
        A name of `lopsided data`, such as "mnist".
    folder : path
        The folder with the data sets (that LOPSIDED_DATA names); made if it does not exist.
    mirrors : sequence of str
        URLs of folders with the files, tried before the known mirrors.
    progress : callable, optional
        Called with (bytes done, bytes in all, file name).

    Returns
    -------
    Path
        The folder with the files.

    Raises
    ------
    DownloadError
        No mirror has a file with the right sum; the message says how to add the files by hand.
    """
    wanted = data_set(name)
    asked = [_address(mirror) for mirror in mirrors] + list(wanted.mirrors)
    place = Path(folder) / name
    there = find_data_set(name, Path(folder))
    if there is not None and _whole(wanted, there):
        return there
    if not wanted.files:
        raise DownloadError(f"{name} has to be added by hand (licence: {wanted.licence}). {_by_hand(wanted, place)}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        done = 0
        for file in wanted.files:
            _get(wanted, file, place, asked, partial(_tell, progress, wanted, file, done))
            done += file.bytes
    except OSError as error:
        raise WriteError(f"Expected to write into {place}, but the system said: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):  # it holds what was downloaded
            place.rmdir()
    return place


def _whole(wanted: DataSet, there: Path) -> bool:
    """Is no file missing, as after a download that was interrupted? Archives are unpacked at once, or not at all."""
    plain = [file.name for file in wanted.files if not file.unpack]
    return all((there / name).exists() or (there / name.removesuffix(".gz")).exists() for name in plain) or all(
        (there / f"{name}.gz").exists() for name in plain
    )


def _tell(progress: Told | None, wanted: DataSet, file: RemoteFile, before: int, part: int) -> None:
    if progress is not None:
        progress(before + part, wanted.bytes, file.name)


def _address(mirror: str) -> str:
    if not mirror.startswith(("https://", "http://")):
        raise InputError("the http or https address of a mirror", repr(mirror), "give one such as https://host/mnist/")
    return mirror.rstrip("/") + "/"


def _by_hand(wanted: DataSet, place: Path) -> str:
    from_where = f" from {wanted.mirrors[0]}" if wanted.mirrors else f" (source: {wanted.origin})"
    return f"To add it by hand{from_where}, create the folder {place} and {wanted.by_hand}."


def _get(wanted: DataSet, file: RemoteFile, place: Path, mirrors: Sequence[str], told: Callable[[int], None]) -> None:
    """One file of the set, whole and with the right sum, at its place."""
    target = place / file.name
    if not (target.is_file() and _sum(target) == file.sha256):
        part = target.with_name(f"{file.name}.part")
        failures = []
        for mirror in mirrors:
            failure = _from(mirror, file, part, told)
            if failure is None:
                break
            failures.append(f"{mirror}: {failure}")
        else:
            raise DownloadError(
                f"{file.name} could not be downloaded from any mirror ({'; '.join(failures)}). "
                f"{_by_hand(wanted, place)}"
            )
        os.replace(part, target)
    told(file.bytes)
    if file.unpack:
        _unpack(target, place)
        target.unlink()


def _from(mirror: str, file: RemoteFile, part: Path, told: Callable[[int], None]) -> str | None:
    """Complete `part` from one mirror; returns why it failed, or None."""
    have = part.stat().st_size if part.exists() else 0
    if have < file.bytes:
        try:
            _append(mirror + file.name, file, part, have, told)
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code}"
        except urllib.error.URLError as error:
            return getattr(error.reason, "strerror", None) or str(error.reason)
        except (HTTPException, TimeoutError, ConnectionError) as error:
            return str(error) or type(error).__name__
        have = part.stat().st_size
        if have < file.bytes:
            return f"the connection closed after {have:,} of {file.bytes:,} bytes"
    if have > file.bytes or _sum(part) != file.sha256:
        part.unlink()
        return "wrong checksum"
    return None


def _append(address: str, file: RemoteFile, part: Path, have: int, told: Callable[[int], None]) -> None:
    request = urllib.request.Request(address, headers={"User-Agent": "lopsided", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        if answer.status != 206:  # the whole file, from its first byte
            have = 0
        with part.open("ab" if have else "wb") as target:
            while have <= file.bytes and (chunk := answer.read(CHUNK)):
                target.write(chunk)
                have += len(chunk)
                told(min(have, file.bytes))


def _sum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpack(archive: Path, place: Path) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=place) as scratch, tarfile.open(archive) as content:
            content.extractall(scratch, filter="data")
            for entry in sorted(Path(scratch).iterdir()):
                os.replace(entry, place / entry.name)
    except tarfile.TarError as error:
        raise DownloadError(f"{archive} could not be unpacked: {error}.") from None
