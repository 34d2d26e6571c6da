"""Questions to the store, the register of verdicts, and the command line around them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.engine import query
from lopsided.engine.query import results
from lopsided.papers.register import claims, own_claims, register
from lopsided.papers.reproduce import reproduce


@pytest.fixture
def filled(laboratory: Path) -> Path:
    reproduce(["toy-sum"], jobs=1)
    return laboratory


def test_sql_agrees_with_the_measurements(filled: Path) -> None:
    # x in 0..5 under seeds 0 and 1: the sums add up to 2 * 15 + 6
    assert results("select sum(value) from numbers where name = 'value'").rows == [(36.0,)]
    by_json = results(
        "select sum((numbers->>'$.value')::double), count(*) from tasks where (settings->>'$.x')::int < 3"
    )
    assert by_json.rows == [(2 * 3 + 3, 6)]
    assert results("select verdict from verdicts where claim = 'toy-sum'").records() == [{"verdict": "holds"}]


def test_an_empty_store_has_empty_tables(laboratory: Path) -> None:
    assert results("select count(*) from tasks").rows == [(0,)]


@pytest.mark.parametrize(
    "question",
    ["", "selec 1", "select * from nothing", "select * from read_csv('/etc/passwd')", "copy tasks to 'x.csv'"],
)
def test_a_bad_question_is_one_sentence(filled: Path, question: str) -> None:
    with pytest.raises(InputError) as caught:
        results(question)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("question", ["select count(*) from range(100000000000)", "select * from range(10000000000)"])
def test_a_question_without_end_is_stopped(filled: Path, question: str) -> None:
    with pytest.raises(InputError, match="an answer within"):
        results(question, seconds=0.2)


@pytest.mark.parametrize(
    ("question", "limits", "said"),
    [
        # one function makes it, and one step turns it into Python's values: neither heeds an interrupt
        ("select range(100000000)", {}, "an answer within 0.2 seconds"),
        ("select range(30000000)", {"memory": 10**8}, "at most 0.1 GB"),
        ("select array_agg(repeat('x', 1000)) from range(1000000)", {"memory": 10**8}, "at most 0.1 GB"),
        ("select * from range(100)", {"values": 99}, "at most 99 values"),
        ("select {'a': [1, 2, 3]}", {"values": 3}, "at most 3 values"),
        ("select repeat('x', 1000001)", {"bytes": 10**6}, "1 MB"),
    ],
)
def test_an_answer_keeps_to_its_limits(
    filled: Path, monkeypatch: pytest.MonkeyPatch, question: str, limits: dict[str, int], said: str
) -> None:
    monkeypatch.setattr(query, "LIMITS", replace(query.LIMITS, **limits))
    with pytest.raises(InputError, match=said):
        results(question, seconds=0.2 if "within" in said else 1e300)


def test_reading_the_store_is_no_part_of_the_time_limit(filled: Path) -> None:
    assert results("select count(*) from tasks", seconds=0.05).rows == [(12,)]


def test_the_process_of_a_query_takes_no_module_from_the_folder_of_the_command(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled / "pickle.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(filled)
    assert results("select 1").rows == [(1,)]


def test_an_unreadable_store_is_the_error_of_a_query(filled: Path) -> None:
    (filled / "loop/tasks").mkdir(parents=True)
    (filled / "loop/verdicts").symlink_to("verdicts")
    with pytest.raises(InputError, match="a store that can be read"):
        results("select 1", store=filled / "loop")


def test_the_commands_print_one_json_value(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "select claim, time, 1.5::decimal(3,1) as d from tasks limit 1", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["claim"], record["d"]) == ("toy-sum", 1.5)
    assert main(["claims", "--json"]) == 0
    lines = {line["id"]: line for line in json.loads(capsys.readouterr().out)}
    assert set(lines) == set(register(own_claims()))
    assert lines["toy-sum"]["verdict"] == "holds"
    assert lines["toy-sum"]["scale"] == "quick"
    assert lines["toy-needy"]["verdict"] == "not run"
    assert "no-such-set" in lines["toy-needy"]["found"]
    assert main(["reproduce", "toy-sum", "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert {"id", "verdict", "statement", "source", "reading", "numbers", "seeds", "seconds"} <= record.keys()
    assert record["reused"] == 12


def test_the_tables_for_people(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "--tables"]) == 0
    assert "processor_seconds" in capsys.readouterr().out
    assert main(["claims", "--paper", "toy"]) == 0
    assert "toy-sum" in capsys.readouterr().out
    assert main(["reproduce", "toy-sum"]) == 0
    assert "12 tasks, 12 of them from the store" in capsys.readouterr().out
    assert main(["claims", "--paper", "nobody"]) == 2
    assert main(["reproduce", "toy-sum", "--tls-ca", "x"]) == 2


def test_a_verdict_of_an_older_version_no_longer_counts(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled / "store" / "verdicts" / "toy-sum.quick.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 0'))
    status = next(line for line in claims() if line.id == "toy-sum")
    assert status.verdict == "not run"
    assert "changed since" in status.found
