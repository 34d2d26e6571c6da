"""The store as tables of DuckDB, and a question to them.

Tables: `tasks` (one row per stored result; settings and numbers as JSON), `numbers` (one row per measured value) and
`verdicts` (the latest verdict of each claim at each scale). A query sees only these: no files, no network.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lopsided.core.errors import InputError
from lopsided.engine.store import Result, Store

_SQL = {  # as in CREATE TABLE
    "tasks": "claim VARCHAR, paper VARCHAR, seed BIGINT, settings JSON, numbers JSON, seconds DOUBLE, "
    "processor_seconds DOUBLE, claim_version BIGINT, lopsided VARCHAR, time TIMESTAMP, packages JSON, machine JSON",
    "numbers": "claim VARCHAR, paper VARCHAR, seed BIGINT, settings JSON, claim_version BIGINT, name VARCHAR, "
    "position BIGINT, value DOUBLE",
    "verdicts": "claim VARCHAR, paper VARCHAR, scale VARCHAR, verdict VARCHAR, found VARCHAR, numbers JSON, "
    "tasks BIGINT, seconds DOUBLE, time TIMESTAMP",
}
_AT_A_TIME = 10_000  # rows
TABLES = {name: dict(column.split() for column in columns.split(", ")) for name, columns in _SQL.items()}


def open_tables(folder: Path, memory: int) -> Any:
    """A connection to the tables alone: no files, no network, no more than so many bytes of memory."""
    import duckdb

    connection = duckdb.connect(":memory:")
    _fill(connection, Store(folder))
    connection.execute(f"SET memory_limit = '{memory} B'; SET temp_directory = '';")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true;")
    return connection


def answered(connection: Any, question: str, most_values: int) -> tuple[list[str], list[tuple[Any, ...]]] | None:
    """Columns and rows of the answer to one question that only reads; None where they have more values."""
    import duckdb

    try:
        _check_one_question(duckdb, connection.extract_statements(question))
        cursor = connection.execute(question)
        rows: list[tuple[Any, ...]] = []
        values = 0
        while some := cursor.fetchmany(_AT_A_TIME):
            values += _count(some)
            if values > most_values:
                return None
            rows += map(tuple, some)
        return _distinct([column[0] for column in cursor.description]), rows
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    except duckdb.Error as error:
        words = " ".join(str(error).split("\n\n")[0].split()).rstrip(".")[:300]
        expected = "a valid query"
        raise InputError(expected, words, f"the tables are {', '.join(TABLES)} (lopsided results --tables)") from None


def _count(values: Any) -> int:
    """How many there are, those in lists and structures too."""
    if isinstance(values, dict):
        return _count(values.keys()) + _count(values.values())
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        return 1
    return sum(map(_count, values))


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
