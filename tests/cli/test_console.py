"""Tables in the terminal: one line a row at any width, and wide answers as blocks of lines."""

import pytest

from lopsided.cli.console import print_records, print_table

ROWS = [["a long name of a data set", "12", "some words that go on and on and on until the line is full"]] * 3


@pytest.mark.parametrize("width", [60, 80, 200])
def test_one_line_a_row(capsys, monkeypatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_table("title", ("name", "number", "words"), ROWS, numbers_to=2)
    lines = capsys.readouterr().out.splitlines()
    assert sum("a long name of a data set" in line for line in lines) == 3
    assert max(map(len, lines)) <= width
    assert any(line.rstrip().endswith("…") for line in lines) == (width < 100)


def test_numbers_are_never_cut(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    numbers = [f"{place}.123456789012" for place in range(6)]
    print_table("title", ("name", *map(str, range(6))), [["row", *numbers]])
    shown = capsys.readouterr().out
    assert all(number in shown for number in numbers)
    assert max(map(len, shown.splitlines())) <= 60


def test_wide_answers_are_printed_vertically(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_records(["claim", "settings"], [["x", "short"]])
    assert capsys.readouterr().out.split() == ["claim", "settings", "─" * 16, "x", "short"]
    print_records(["claim", "settings"], [["x", "{" + "1, " * 60 + "}"], ["y", "\x1b[31m"]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["row 1", "  claim     x"]
    assert lines[2].startswith("  settings  {1, 1,")
    assert lines[4:] == ["  claim     y", "  settings  \\x1b[31m"]


def test_records_of_many_columns_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """A hundred columns of long names: 200 rows of 20,000 values in all, not a thousand."""
    print_records(["n" * 5000] * 100, [["x"] * 100] * 300)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "The first 200 of 300 rows; --json prints all."
    assert len(lines) == 200 * 101 + 1
    assert max(map(len, lines)) < 200
