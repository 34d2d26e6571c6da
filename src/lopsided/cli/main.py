"""The `lopsided` command: every error of a user is reported in one sentence, with exit code 2."""

import io
import os
import sys
from collections.abc import Sequence

from lopsided.cli.console import one_sentence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if sys.stdout is None:  # closed by the caller: there is nobody to read, but the work can still be done
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a letter gets its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = _run(arguments)
    except KeyboardInterrupt:
        result = INTERRUPTED
    if result == INTERRUPTED:
        print("lopsided: interrupted; stored results are kept.", file=sys.stderr)
    return result


def _run(arguments: Sequence[str] | None) -> int:
    import typer

    from lopsided.cli.app import application
    from lopsided.core.errors import LopsidedError

    # Typer carries its own copy of Click, so its exceptions are reached through the names Typer exports.
    usage_error: type[Exception] = typer.BadParameter.__mro__[1]
    click_exception: type[Exception] = typer.BadParameter.__mro__[2]
    try:
        result = application(args=arguments, prog_name="lopsided", standalone_mode=False)
    except usage_error as error:
        return _complain(_usage_sentence(error))
    except click_exception as error:
        return _complain(str(error.format_message()))  # type: ignore[attr-defined]
    except typer.Abort:
        return INTERRUPTED
    except LopsidedError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader (head, less) has left; point stdout elsewhere so that the interpreter's flush stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        reason = error.strerror or str(error)
        return _complain(f"{reason}{place}; check the path, the permissions and the free disk space.")
    except MemoryError:
        return _complain("Out of memory; use fewer classes or examples.")
    return result if isinstance(result, int) else 0  # Typer turns Ctrl-C into the number 130


def _complain(sentence: str) -> int:
    print(f"lopsided: {one_sentence(sentence)}", file=sys.stderr)
    return 2


def _usage_sentence(error: object) -> str:
    message = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lopsided"
    see = f"ee {command} --help."
    return f"{message} S{see}" if message.endswith("?") else f"{message.rstrip('.')}; s{see}"
