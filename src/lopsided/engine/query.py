"""`lopsided.results`: any question to the stored results, in SQL, answered by DuckDB.

Tables: `tasks` (one row per stored result; settings and numbers as JSON), `numbers` (one row per measured value) and
`verdicts` (the latest verdict of each claim at each scale). A query sees only these: no files, no network.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Timer
from typing import Any

from lopsided.core.errors import InputError
from lopsided.core.notebook import notebook_view
from lopsided.core.validation import check_positive, check_text
from lopsided.engine.store import Result, Store

_SQL = {  # as in CREATE TABLE
    "tasks": "claim VARCHAR, paper VARCHAR, seed BIGINT, settings JSON, numbers JSON, seconds DOUBLE, "
    "processor_seconds DOUBLE, claim_version BIGINT, lopsided VARCHAR, time TIMESTAMP, packages JSON, machine JSON",
    "numbers": "claim VARCHAR, paper VARCHAR, seed BIGINT, settings JSON, claim_version BIGINT, name VARCHAR, "
    "position BIGINT, value DOUBLE",
    "verdicts": "claim VARCHAR, paper VARCHAR, scale VARCHAR, verdict VARCHAR, found VARCHAR, numbers JSON, "
    "tasks BIGINT, seconds DOUBLE, time TIMESTAMP",
}
TABLES = {name: dict(column.split() for column in columns.split(", ")) for name, columns in _SQL.items()}


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
        The time limit of the answer.
    """
    import duckdb

    check_positive(seconds, "the seconds for an answer")

    if not check_text(question, "a query in SQL").strip():
        raise InputError("a query in SQL", "nothing", 'try "select claim, count(*) from tasks group by claim"')
    connection = duckdb.connect(":memory:")
    clock = Timer(seconds, connection.interrupt)
    try:
        _fill(connection, Store(store))
        connection.execute("SET enable_external_access = false; SET lock_configuration = true;")
        _check_one_question(duckdb, connection.extract_statements(question))
        clock.start()
        cursor = connection.execute(question)
        columns = _distinct([column[0] for column in cursor.description])
        return Answer(columns, [tuple(row) for row in cursor.fetchall()])
    except duckdb.InterruptException:
        remedy = "simplify the query, or raise --seconds"
        raise InputError(f"an answer within {seconds:g} seconds", "none yet", remedy) from None
    except duckdb.Error as error:
        words = " ".join(str(error).split("\n\n")[0].split()).rstrip(".")[:300]
        expected = "a valid query"
        raise InputError(expected, words, f"the tables are {', '.join(TABLES)} (lopsided results --tables)") from None
    finally:
        clock.cancel()
        connection.close()


def _check_one_question(duckdb: Any, statements: list[Any]) -> None:
    """One statement that only reads."""
    reading = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
    if len(statements) != 1:
        raise InputError("one query", f"{len(statements)} statements", "run them one by one")
    if statements[0].type not in reading:
        got = f"a statement of type {statements[0].type.name}"
        raise InputError("a query that only reads (SELECT)", got, "only reproduce writes results")


def _distinct(names: list[str]) -> list[str]:
    """Column names that differ: a, a becomes a, a_2, so that no record loses a value."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return distinct


def _fill(connection: Any, store: Store) -> None:
    import pyarrow

    kept = list(store.results())
    contents = {
        "tasks": [_task(result) for result in kept],
        "numbers": [value for result in kept for value in _values(result)],
        "verdicts": [_verdict(verdict) for verdict in store.verdicts()],
    }
    for name, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({_SQL[name]})")
        if contents[name]:
            values = zip(*contents[name], strict=True)
            connection.register("incoming", pyarrow.table(dict(zip(columns, map(list, values), strict=True))))
            connection.execute(f"INSERT INTO {name} SELECT * FROM incoming")
            connection.unregister("incoming")


def _task(result: Result) -> tuple[Any, ...]:
    origin = result.provenance
    return (
        *_head(result),
        json.dumps(result.numbers),
        result.seconds,
        result.processor_seconds,
        result.version,
        origin.get("version"),
        _utc(origin.get("time")),
        json.dumps(origin.get("packages")),
        json.dumps(origin.get("machine")),
    )


def _head(result: Result) -> tuple[Any, ...]:
    return result.name, _paper(result.name), result.seed, json.dumps(result.settings)


def _values(result: Result) -> Iterator[tuple[Any, ...]]:
    head = (*_head(result), result.version)
    for name, value in _flat("", result.numbers):
        for position, entry in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(entry, (bool, int, float)):
                yield (*head, name, position, float(entry))


def _flat(prefix: str, numbers: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """`{"a": {"b": 1}}` as `a.b`."""
    for name, value in numbers.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield prefix + name, value


def _verdict(stored: dict[str, Any]) -> tuple[Any, ...]:
    return (
        stored["id"],
        _paper(str(stored["id"])),
        stored["scale"],
        stored["verdict"],
        stored.get("found"),
        json.dumps(stored.get("numbers")),
        stored.get("tasks"),
        stored.get("seconds"),
        _utc(stored["time"]),
    )


def _utc(time: Any) -> str | None:
    """Times are kept in UTC with their offset; the tables need no time zones."""
    return str(time)[:19] if time else None


def _paper(name: str) -> str:
    """The letters before the first dash: the paper of a claim."""
    return name.partition("-")[0]
