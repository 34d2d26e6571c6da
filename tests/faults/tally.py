"""What was tried and what was lost, row by row; the table that the campaign prints and the documentation shows."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Size = Literal["short", "full"]


@dataclass
class Row:
    """One kind of fault: how often it was tried, what came of it, and every loss in words."""

    part: str
    what: str
    tried: int = 0
    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    seconds: float = 0.0
    note: str = ""

    def answer(self) -> None:
        """A result came."""
        self.tried, self.answered = self.tried + 1, self.answered + 1

    def refuse(self) -> None:
        """One sentence came, and nothing else happened."""
        self.tried, self.refused = self.tried + 1, self.refused + 1

    def lose(self, words: str) -> None:
        """Anything else: a traceback, a hang, a half-written file, another number."""
        self.tried += 1
        self.lost.append(words)

    def check(self, good: bool, words: str) -> None:
        """Answered if good, else lost."""
        self.answer() if good else self.lose(words)


@contextmanager
def timed(row: Row) -> Iterator[Row]:
    """Adds the time that the block takes; an unexpected error is a loss, not the end of the campaign."""
    began = time.perf_counter()
    try:
        yield row
    except Exception as error:
        row.lose(f"the campaign itself: {type(error).__name__}: {error}")
    finally:
        row.seconds += time.perf_counter() - began


def record(rows: list[Row]) -> list[dict[str, Any]]:
    """The rows as plain values."""
    return [{**asdict(row), "lost": len(row.lost), "losses": row.lost[:20]} for row in rows]


def print_table(rows: list[Row]) -> None:
    """The table, then every loss."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Fault campaign", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("part", "what was tried"):
        table.add_column(head, overflow="fold")
    for head in ("tried", "answered", "refused", "lost", "seconds"):
        table.add_column(head, justify="right")
    for row in [*rows, total(rows)]:
        counts = [f"{count:,}" for count in (row.tried, row.answered, row.refused, len(row.lost))]
        table.add_row(row.part, Text(row.what + (f" ({row.note})" if row.note else "")), *counts, f"{row.seconds:.0f}")
    console = Console(highlight=False, width=140)
    console.print(table)
    for row in rows:
        for words in row.lost[:12]:
            console.print(Text(f"lost in {row.what}: {words}"))
        if len(row.lost) > 12:
            console.print(f"... and {len(row.lost) - 12} more in {row.what}")


def total(rows: list[Row]) -> Row:
    """The sum of the rows."""
    whole = Row("all", "")
    for row in rows:
        whole.tried += row.tried
        whole.answered += row.answered
        whole.refused += row.refused
        whole.lost += row.lost
        whole.seconds += row.seconds
    return whole
