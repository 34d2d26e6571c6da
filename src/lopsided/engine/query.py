"""`lopsided.results`: any question to the stored results, in SQL, answered by DuckDB (`engine.query_tables`)."""

import os
from dataclasses import dataclass
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import check_positive, check_text
from lopsided.engine.query_process import QueryLimits, ask
from lopsided.engine.store import Store

LIMITS = QueryLimits()


@dataclass(frozen=True)
class Answer:
    """The rows of an answer."""

    columns: list[str]
    rows: list[tuple[Any, ...]]

    def _repr_html_(self) -> str:
        """For notebooks: the rows as a table."""
        return notebook_view(f"{len(self.rows):,} rows", (self.columns, self.rows))

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def results(question: str, *, store: str | os.PathLike[str] | None = None, seconds: float = 60.0) -> Answer:
    """Answer a question about stored results.

    Parameters
    ----------
    question : str
        SQL over the tables `tasks`, `numbers` and `verdicts`.
    store : path, optional
        The folder of results. By default, $LOPSIDED_STORE or ./lopsided-results.
    seconds : float, default 60
        The time limit of the answer, from when the store has been read.
    """
    check_positive(seconds, "the seconds for an answer")
    if not check_text(question, "a query in SQL").strip():
        raise InputError("a query in SQL", "nothing", 'try "select claim, count(*) from tasks group by claim"')
    return Answer(*ask(question, Store(store).folder, seconds, LIMITS))
