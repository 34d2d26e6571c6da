"""Text that came out of data or file names, made safe for a terminal: control characters are shown, not obeyed."""

import re

# Controls except tab and newline (an escape sequence can repaint or rename a terminal), lone surrogates (no encoding
# has them), line separators, and the marks that turn the direction of text.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with unsafe characters written as Python writes them, such as \x1b."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_sentence(text: str, most: int = 1000) -> str:
    """One line of at most `most` characters; what is too long loses its middle, so that the remedy at its end stays."""
    line = printable(" ".join(text.split()))
    if len(line) <= most:
        return line
    return f"{line[: most * 2 // 3]} ... {line[len(line) - most // 3 + 5 :]}"
