"""What a person names and the audit cannot use is said first, and shuts a gate."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lopsided
from lopsided.cli.main import main
from lopsided.core.errors import InputError

ASKED = ["--labels", "label", "--no-report", "--checks", "counts"]


@pytest.fixture
def frame(tmp_path, monkeypatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    made = pd.DataFrame(random.normal(size=(200, 2)), columns=["u", "v"])
    made = made.assign(label=np.where(random.random(200) < 0.4, "x", "y"), constant="k")
    made = made.assign(name=[f"n{row}" for row in range(200)], a=np.arange(200) % 2, b=np.arange(200) // 2 % 2)
    made.to_csv("d.csv", index=False)
    (tmp_path / "parts").mkdir()
    table = pa.Table.from_pandas(made, preserve_index=False)
    pq.write_table(table.slice(0, 120), "parts/0.parquet")
    pq.write_table(table.slice(120), "parts/1.parquet")
    return made


@pytest.mark.parametrize("form", ["d.csv", "parts", "frame"])
@pytest.mark.parametrize(
    ("argument", "names", "why"),
    [
        ("features", ["u", "constant"], "the same value"),
        ("features", ["u", "name"], "identifier"),
        ("groups", ["constant"], "the same value"),
        ("groups", ["a", "constant"], "the same value"),
        ("groups", ["name"], "value of its own"),
    ],
)
def test_it_is_said_first_and_fails_a_gate(frame, capsys, form, argument, names, why) -> None:
    found = lopsided.audit(
        frame if form == "frame" else form, labels="label", checks=["separability"], **{argument: names}
    )
    assert str(found).splitlines()[0].startswith(f"The column '{names[-1]}' was ")
    assert why in str(found).splitlines()[0]
    assert not found.passed()
    assert why in found.to_html()
    if form == "frame":
        return
    command = ["audit", form, *ASKED, f"--{argument}", ",".join(names)]
    main(command)
    printed = capsys.readouterr().out
    assert printed.startswith(f"The column '{names[-1]}' was ")
    assert " ".join(printed.split()).count(why) <= 2  # the second time in the list of columns
    code = main([*command, "--fail-on", "failing"])
    said = capsys.readouterr().err
    if code != 1:  # where every row is a group of its own, their counts are failing
        assert code == 2
        assert why in said
        assert ".;" not in said
    else:
        assert argument == "groups"
        assert names == ["name"]


def test_what_can_be_used_still_passes(frame) -> None:
    command = ["audit", "d.csv", *ASKED, "--fail-on", "failing"]
    assert main([*command, "--features", "u,v", "--groups", "a,b"]) == 0
    assert main(command) == 0  # nobody named the columns that are not used


def test_groups_without_a_value_are_refused_as_such(frame) -> None:
    frame["empty"] = None
    with pytest.raises(InputError, match="a group in some row of empty, but got missing values only"):
        lopsided.audit(frame, labels="label", groups="empty")


@pytest.mark.parametrize("names", [["a", "b", "a × b"], ["a × b", "a", "b"], ["a", "b × c", "a × b", "c"]])
def test_a_column_named_like_an_intersection_is_refused(frame, names) -> None:
    frame["a × b"], frame["c"], frame["b × c"] = frame["constant"], frame["a"], frame["b"]
    with pytest.raises(InputError, match="differ from those of intersections, but got a column named"):
        lopsided.audit(frame, labels="label", groups=names)


@pytest.mark.parametrize("name", ["classes", "ece", "judged", "measured_on"])
def test_a_column_named_like_a_measure_replaces_none(frame, name) -> None:
    chances = np.full((200, 2), 0.4)
    chances[np.arange(200), (frame["label"] == "y").astype(int)] = 0.6
    asked = {"labels": frame["label"].to_numpy(), "probabilities": chances}
    plain = lopsided.audit(frame[["u", "v"]], groups={"place": frame["a"]}, **asked).measures
    named = lopsided.audit(frame[["u", "v"]], groups={name: frame["a"]}, **asked).measures
    for check in ("calibration", "group_accuracy", "group_rates", "group_shift"):
        kept = {key: value for key, value in plain[check].items() if key != "place"}
        assert kept.items() <= named[check].items(), check
        assert len(named[check]) == len(plain[check]), check
