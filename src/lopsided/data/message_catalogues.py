"""Short texts in many languages: names of countries, languages, scripts and currencies, from Debian's `iso-codes`.

Languages are a natural long tail of classes: some have ten thousand translated names, many a few hundred. A text is a
row of character codes: the most frequent characters have a code each, others share one, 0 fills up.
"""

import gettext
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.seeds import generator
from lopsided.core.validation import IntArray

FOLDER = Path("/usr/share/locale")  # where Debian puts message catalogues
_CATALOGUES = ("iso_3166-1", "iso_639-2", "iso_639-3", "iso_3166-2", "iso_15924", "iso_4217")
PLACES, CHARACTERS = 24, 400
_OTHER = 1
_LEAST, _MOST = 300, 2000  # names of a language: fewer are left out, more are drawn from


@dataclass(frozen=True)
class Texts:
    """Rows of character codes (n x places), the language of each row, and the languages by name."""

    codes: IntArray
    labels: IntArray
    names: tuple[str, ...]


@cache
def language_names() -> Texts:
    """Up to 2,000 names in every language that has 300 or more, languages with the most names first."""
    if not any(FOLDER.glob(f"*/LC_MESSAGES/{_CATALOGUES[0]}.mo")):
        raise InputError("message catalogues of iso-codes", "none", "install Debian's package iso-codes")
    names = {place.name: _names(place / "LC_MESSAGES") for place in sorted(FOLDER.iterdir())}
    # two letters: variants such as pt_BR or sr@latin share most of their names with another language
    kept = {name: found for name, found in names.items() if len(name) == 2 and len(found) >= _LEAST}
    order = sorted(kept, key=lambda name: (-len(kept[name]), name))
    random = generator(0, "language names")
    chosen = {name: [kept[name][i] for i in random.permutation(len(kept[name]))[:_MOST]] for name in order}
    seen = Counter(letter for texts in chosen.values() for text in texts for letter in text[:PLACES])
    code = {letter: place + 2 for place, (letter, _) in enumerate(seen.most_common(CHARACTERS - 2))}
    rows = [[code.get(letter, _OTHER) for letter in text[:PLACES]] for name in order for text in chosen[name]]
    codes = np.zeros((len(rows), PLACES), dtype=np.int64)
    for place, row in enumerate(rows):
        codes[place, : len(row)] = row
    labels = np.repeat(np.arange(len(order)), [len(chosen[name]) for name in order])
    return Texts(codes, labels, tuple(order))


def _names(place: Path) -> list[str]:
    """Translations that differ from the English words, sorted."""
    found: set[str] = set()
    for catalogue in _CATALOGUES:
        if (path := place / f"{catalogue}.mo").is_file():
            with path.open("rb") as stream:
                entries = gettext.GNUTranslations(stream)._catalog  # type: ignore[attr-defined]
            found |= {text for words, text in entries.items() if isinstance(text, str) and words and text != words}
    return sorted(found)
