"""A command as the console runs it, in this process: exit code, output, and whether the house rules were kept."""

import io
import json
import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lopsided.cli.main import main

PROGRESS = re.compile(r"^lopsided: [\w ]+ \d+ of \d+.*\n", re.MULTILINE)  # a line a minute where work is long
QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


@dataclass(frozen=True)
class Said:
    """How a command ended."""

    code: int | None
    out: str
    err: str
    broke: str | None = None
    warned: tuple[str, ...] = ()


def say(arguments: Sequence[str], folder: Path) -> Said:
    """Run `lopsided ARGUMENTS` in `folder`; streams are strict about encodings, as a terminal's are."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors=kind) for kind in ("strict", "backslashreplace"))
    before, streams, environment = os.getcwd(), (sys.stdout, sys.stderr), dict(os.environ)
    code, broke = None, None
    os.chdir(folder)
    sys.stdout, sys.stderr = out, err
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                code = main(list(arguments))
                out.flush()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
            except BaseException as error:
                import traceback

                place = traceback.extract_tb(error.__traceback__)[-1]
                broke = f"{type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"[:400]
    finally:
        err.flush()
        sys.stdout, sys.stderr = streams
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
    shown = tuple(
        f"{str(one.message)[:120]} at {Path(one.filename).name}:{one.lineno}"
        for one in caught
        if not issubclass(one.category, QUIET)
    )
    texts = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]
    return Said(code, texts[0], texts[1], broke, shown)


def fault(said: Said, arguments: Sequence[str], folder: Path, outputs: Path) -> str | None:
    """What is wrong with the way a command ended, or None.

    Result (0), alarm (1, only where asked for) or one sentence (2); nothing on standard error besides it; no control
    characters that came out of data; with --json one JSON value; files whole or not there.
    """
    if said.broke is not None:
        return f"traceback {said.broke}"
    if said.warned:
        return f"warning {said.warned[0]!r}"
    if "Traceback (most recent call last)" in said.out + said.err:
        return "a traceback in the output"
    if said.code not in (0, 1, 2):
        return f"exit code {said.code}"
    if said.code == 1 and arguments[0] not in ("audit", "reproduce"):
        return "exit code 1"
    if any(ord(character) < 32 and character not in "\n\t" for character in said.out + said.err):
        return f"control characters in the output: {_around(said.out + said.err)!r}"
    left = [path.name for path in folder.rglob(".*.tmp")]
    if left:
        return f"a temporary file was left: {left[0]}"
    complaint = PROGRESS.sub("", said.err)
    if said.code == 2:
        # What was found is printed where only a file beside it could not be written.
        if said.out and not complaint.startswith(("lopsided: Expected to write", "lopsided: Expected to make")):
            return f"a refusal that printed {said.out[:80]!r}"
        if (
            not complaint.startswith("lopsided: ")
            or complaint.count("\n") != 1
            or not complaint.endswith((".\n", "?\n"))
        ):
            return f"not one sentence: {said.err[:300]!r}"
        if len(said.err) > 1500:
            return f"a sentence of {len(said.err)} characters"
        if any(path.is_file() for path in outputs.rglob("*")):
            return "a refusal that wrote a file"
        return None
    if complaint:
        return f"an answer that complained: {said.err[:200]!r}"
    if "--json" in arguments:
        try:
            json.loads(said.out, parse_constant=_no_constant)
        except ValueError as error:
            return f"no JSON: {error}"
    return unsound_file(outputs)


def unsound_file(outputs: Path) -> str | None:
    """The first file that is not whole, or that holds markup out of data."""
    for path in sorted(outputs.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if path.suffix in (".html", ".htm"):
            text = content.decode("utf-8")
            if not text.rstrip().endswith("</html>"):
                return f"half a page: {path.name}"
            for mark in ("<script>alert(1)", "<img src=x onerror", "<b>x</b>"):
                if mark in text:
                    return f"markup out of data in {path.name}: {mark}"
        elif path.suffix == ".png" and not content.endswith(b"IEND\xaeB`\x82"):
            return f"half a picture: {path.name}"
        elif path.suffix == ".parquet" and not (content.startswith(b"PAR1") and content.endswith(b"PAR1")):
            return f"half a table: {path.name}"
        elif path.suffix == ".json":
            json.loads(content)
    return None


def _no_constant(word: str) -> None:
    raise ValueError(f"the token {word}")


def _around(text: str) -> str:
    place = next(index for index, character in enumerate(text) if ord(character) < 32 and character not in "\n\t")
    return text[max(0, place - 30) : place + 30]
