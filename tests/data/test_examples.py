"""The tables of `lopsided.load_example`: whole, imbalanced as they say, and taken by the commands as they are."""

import json
from collections import Counter

import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.data.examples import EXAMPLES

LABELS = {"long-tailed digits": "digit", "rare tumours": "tumour", "diabetes by sex": "progression"}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_example_is_imbalanced_in_training_and_leaves_rows_for_testing(name: str) -> None:
    table = lopsided.load_example(name)
    labels, split = table[LABELS[name]].to_pylist(), table["split"].to_pylist()
    train = Counter(label for label, part in zip(labels, split, strict=True) if part == "train")
    test = Counter(label for label, part in zip(labels, split, strict=True) if part == "test")
    assert max(train.values()) >= 2 * min(train.values())
    assert train.keys() == test.keys()
    assert min(test.values()) >= 30
    assert not any(column.null_count for column in table.columns)
    other = lopsided.load_example(name.replace(" ", "-").upper(), seed=1)
    assert other.column_names == table.column_names
    assert other["split"].to_pylist() != split


def test_the_counts_are_those_that_the_page_promises() -> None:
    def train(name: str) -> dict[str, int]:
        table = lopsided.load_example(name)
        rows = zip(table[LABELS[name]].to_pylist(), table["split"].to_pylist(), strict=True)
        return Counter(label for label, part in rows if part == "train")

    assert train("rare tumours") == {"benign": 198, "malignant": 18}
    digits = train("long-tailed digits")
    assert (digits["0"], digits["9"]) == (120, 5)


@pytest.mark.parametrize("name", ["digits", "", None, ["rare tumours"]])
def test_other_names_are_refused(name) -> None:
    with pytest.raises(lopsided.InputError, match="rare tumours"):
        lopsided.load_example(name)


def test_the_command_writes_one(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["data", "example", "rare-tumours", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["file"], facts["rows"]) == ("rare-tumours.csv", 569)
    assert main(["audit", "rare-tumours.csv", "--labels", "tumour", "--checks", "counts", "--no-report"]) == 0
    assert "Class malignant has 18 of 216 training examples" in " ".join(capsys.readouterr().out.split())
    assert main(["data", "example", "rare", "tumours"]) == 2
    assert main(["data", "example", "digits"]) == 2
    assert main(["data", "example", "rare-tumours", "--out", "nowhere/x.csv"]) == 2
