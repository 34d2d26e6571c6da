"""The `lopsided` command: every error a person can cause ends in one sentence and exit code 2."""

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
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
    except (typer.Abort, KeyboardInterrupt):
        result = INTERRUPTED
    except LopsidedError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # The reader (head, less) has left; point stdout elsewhere so that the interpreter's flush stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        return _complain(
            f"The system said: {error.strerror or error}{place}; check the path, the rights and the space left."
        )
    except MemoryError:
        return _complain("Expected the problem to fit into memory, but it does not; use fewer classes or examples.")
    if result == INTERRUPTED:  # Typer turns Ctrl-C into this return value
        print("lopsided: interrupted; what was finished is kept.", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _complain(sentence: str) -> int:
    print(f"lopsided: {' '.join(sentence.split())}", file=sys.stderr)
    return 2


def _usage_sentence(error: object) -> str:
    message = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lopsided"
    return f"{message.rstrip('.')}; see {command} --help."
