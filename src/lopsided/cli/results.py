"""`lopsided results "SQL"`: any question to the stored results."""

from typing import Annotated, Any

import typer

from lopsided.cli.options import StoreFolder, number


def command(
    question: Annotated[str, typer.Argument(metavar="SQL", help="A SELECT statement; --tables lists the tables.")] = "",
    tables: Annotated[bool, typer.Option("--tables", help="List the tables and their columns.")] = False,
    store: StoreFolder = None,
    seconds: Annotated[float, number("Time limit of a query in seconds, once the store is read.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list of records.")] = False,
) -> None:
    """Query the stored results in SQL (DuckDB).

    For example: "select claim, avg(seconds) from tasks group by claim", or
    "select settings->>'ratio' as ratio, avg(value) from numbers where name = 'cosine' group by all".
    """
    from lopsided.cli.console import print_json, print_records, print_table
    from lopsided.engine.query import results
    from lopsided.engine.query_tables import TABLES

    if tables:
        if as_json:
            print_json(TABLES)
        else:
            rows = [(name, column, kind) for name, columns in TABLES.items() for column, kind in columns.items()]
            print_table("tables", ("table", "column", "type"), rows, numbers_from=3)
        return
    answer = results(question, store=store, seconds=seconds)
    if as_json:
        print_json(answer.records())
    else:
        print_records(answer.columns, [[_cell(value) for value in row] for row in answer.rows])


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
