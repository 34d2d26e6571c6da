"""The search index of the pages, with the stem of each word computed once; most words stand on many pages."""

from functools import cache

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish


class RememberedStems(SearchEnglish):
    """English as Sphinx has it."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(super().stem)  # type: ignore[method-assign]


def setup(app: Sphinx) -> dict[str, bool]:
    """For Sphinx."""
    app.add_search_language(RememberedStems)
    return {"parallel_read_safe": True}
