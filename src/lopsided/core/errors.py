"""Errors as one sentence: what was expected, what came and, only if it is not obvious, what to do.

Names and cells of the user's data may be of any length; what is said about them is cut to `MOST_LETTERS`.
"""

MOST_LETTERS = 400


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """The text, without its middle where it is longer than `most` letters."""
    if len(text) <= most:
        return text
    return f"{text[: 2 * most // 3]} … {text[len(text) - most // 3 + 3 :]}"


class LopsidedError(Exception):
    """Base of every error this package raises on purpose; the command line prints it without a traceback."""


class InputError(LopsidedError, ValueError):
    """An invalid input: says what was expected, what came and what to do.

    Parameters
    ----------
    expected : str
        What was expected.
    got : object
        What came instead.
    remedy : str, default ""
        What to do, where that is not obvious.

    Examples
    --------
    >>> print(InputError("a positive number for the feature energy", "-1", "give the mean squared length of features"))
    Expected a positive number for the feature energy, but got -1; give the mean squared length of features.
    """

    def __init__(self, expected: str, got: object, remedy: str = "") -> None:
        self.expected, self.got, self.remedy = cut(expected), cut(str(got)), cut(remedy)
        todo = f"; {self.remedy}" if remedy else ""
        end = "" if todo.endswith("?") else "."
        # one line, whatever the repr of an array or the name of a column brings along
        super().__init__(" ".join(f"Expected {self.expected}, but got {self.got}{todo}{end}".splitlines()))

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str, str]]:
        # Exceptions cross process borders in the runner; the default would call __init__ with the sentence alone.
        return type(self), (self.expected, self.got, self.remedy)


class MissingPackage(LopsidedError):
    """An optional package is needed for this and is not installed; `extra` installs it, or None if no extra does."""

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        self._arguments = (package, purpose, extra)
        target = package if extra is None else f"'lopsided[{extra}]'"
        super().__init__(
            f"Expected the package {package} for {purpose}, but it is not installed; pip install {target}."
        )

    def __reduce__(self) -> tuple[type["MissingPackage"], tuple[str, str, str | None]]:
        return type(self), self._arguments
