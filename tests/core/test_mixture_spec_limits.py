"""Specifications at the edge of the doubles, and csv files with the usual mistakes."""

import json

import pytest

from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.core.mixture_spec import mixture_of, problem_of
from lopsided.data.csv_file import read_csv_table


@pytest.mark.parametrize(("means", "covariances"), [([0, 1e300], [1, 1]), ([0, 0], [1e300, 1]), ([0, 0], [1e-300, 1])])
def test_groups_beyond_the_doubles_are_refused(means, covariances) -> None:
    with pytest.raises(InputError, match="rescale"):
        mixture_of([0.5, 0.5], means, covariances, dimension=3)


def test_a_step_function_is_no_teacher() -> None:
    with pytest.raises(InputError, match="step function"):
        problem_of(mixture_of([1.0], [[0, 0]], [1]), [[1e200], [1.0]])


def test_a_group_that_teaches_nothing_does_not_break_the_forecast(tmp_path, capsys) -> None:
    spec = tmp_path / "far.toml"
    spec.write_text(
        "[[group]]\nfraction = 0.5\nmean = 1e6\ncovariance = 1\n[[group]]\nfraction = 0.5\nmean = 0\ncovariance = 1\n"
        "[teacher]\nneurons = 2\ndimension = 3\n"
    )
    assert main(["mixture", str(spec), "--samples", "1000", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert all(group["numerical_error"] is not None for group in facts["groups"])
    assert facts["integration_error"] < 1e-3


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,a,label\n1,2,x\n", "more than once"), ("a,label\n1,x\noops,y\n3,y\n", "'oops' in row 3")],
)
def test_mistakes_in_csv_files_are_named(tmp_path, text, words) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_csv_table(path)


def test_empty_cells_are_missing(tmp_path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,label\n1,x\n2,\n")
    assert read_csv_table(path)["label"].to_pylist() == ["x", None]
