"""An audit in passes over parts of the data says what the audit of the whole table in memory says."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import lopsided
from lopsided.core.errors import InputError
from lopsided.core.files import check_apart
from lopsided.data.parts import is_in_parts, open_parts
from tests.checkup.streamed.small_parts import CLASSES, EXACT, GIVEN, table, written


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return table()


@pytest.fixture(scope="module")
def in_memory(rows: pa.Table) -> Any:
    return lopsided.audit(rows, checks=EXACT, **GIVEN)


def alike(one: Any, other: Any, *, at: str = "") -> None:
    """Equal plain values; sums of other parts round in the last digits. Intervals of means are drawn in memory."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), at
        for name in one.keys() - {"log_loss_interval"}:
            alike(one[name], other[name], at=f"{at}/{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), at
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            alike(first, second, at=f"{at}/{place}")
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-12), at
    else:
        assert one == other, at


def facts(audit: Any) -> dict[str, Any]:
    found = audit.to_dict()
    return {name: found[name] for name in ("rows", "given", "measures", "findings", "skipped")}


@pytest.mark.parametrize(("part", "group"), [(500, 200), (2400, 2400), (150, 10_000)])
def test_counts_rates_and_repeats_are_those_of_memory(
    rows: pa.Table, in_memory: Any, tmp_path: Path, part: int, group: int
) -> None:
    found = lopsided.audit(written(tmp_path / "parts", rows, part, group), checks=EXACT, **GIVEN)
    alike(facts(in_memory), facts(found))
    assert found.evidence.columns.used == in_memory.evidence.columns.used


def test_an_arrow_data_set_and_hive_partitions(rows: pa.Table, in_memory: Any, tmp_path: Path) -> None:
    whole = lopsided.audit(ds.dataset(rows), checks=EXACT, **GIVEN)
    alike(facts(in_memory), facts(whole))
    for name in ("train", "test"):
        (tmp_path / f"fold={name}").mkdir()
        own = rows.filter(pc.equal(rows["fold"], name)).drop_columns(["fold"])
        pq.write_table(own, tmp_path / f"fold={name}" / "rows.parquet", row_group_size=300)
    (tmp_path / "_SUCCESS").touch()
    hive = lopsided.audit(tmp_path, checks=EXACT, **GIVEN)
    assert hive.evidence.columns.roles["split"] == ["fold"]
    assert hive.measures["duplicates"] == in_memory.measures["duplicates"]
    alike(in_memory.to_dict()["measures"]["group_accuracy"], hive.to_dict()["measures"]["group_accuracy"])


def test_order_names_and_parts_do_not_matter(rows: pa.Table, in_memory: Any, tmp_path: Path) -> None:
    order = np.argsort(rows["kind"].to_numpy(zero_copy_only=False), kind="stable")[::-1]
    renamed = rows.take(order).rename_columns(["z" + name if name[0] == "x" else name for name in rows.column_names])
    found = lopsided.audit(written(tmp_path / "parts", renamed, 700, 90), checks=EXACT, **GIVEN)
    for check in ("counts", "class_accuracy", "group_accuracy", "group_rates", "calibration", "duplicates"):
        alike(in_memory.to_dict()["measures"][check], found.to_dict()["measures"][check])
    assert found.measures["missing_values"]["missing_by_column"]["zx2"] == sum(
        rows["x2"].to_numpy() != rows["x2"].to_numpy()
    )


def test_what_needs_a_sample_says_which(rows: pa.Table, tmp_path: Path) -> None:
    place = written(tmp_path / "parts", rows)
    checks = ["counts", "influence", "noise_ratios", "separability"]
    found = lopsided.audit(place, checks=checks, sample_rows=400, **GIVEN)
    sampled = [one.message for one in found.findings if one.id != "counts"]
    assert sampled
    assert all(one.startswith("In a sample of 400 of 2,400 rows: ") for one in sampled)
    assert not any("sample" in one.message for one in found.findings if one.id == "counts")
    assert any("2,400 rows; the other checks use 400 rows drawn at random" in note for note in found.evidence.notes)
    own = rows.take(found.evidence.positions)
    assert [CLASSES[code] for code in found.evidence.classes.codes] == own["kind"].to_pylist()
    for one in found.findings:  # positions are those in the data
        assert all(row in set(found.evidence.positions.tolist()) for row in one.examples)
    again = lopsided.audit(place, checks=checks, sample_rows=400, **GIVEN)
    assert (again.to_dict()["findings"], again.measures) == (found.to_dict()["findings"], found.measures)


def test_moments_are_those_of_all_training_rows(rows: pa.Table, tmp_path: Path) -> None:
    rows = rows.drop_columns(["x2"])
    found = lopsided.audit(written(tmp_path / "parts", rows), checks=["influence"], sample_rows=300, **GIVEN)
    space = found.evidence.space
    trained = rows.filter(pc.equal(rows["fold"], "train"))
    points = space.map.apply(np.column_stack([trained[name].to_numpy() for name in ("x0", "x1", "x3", "x4")]))
    for code, name in enumerate(CLASSES):
        own = points[np.asarray(pc.equal(trained["kind"], name))]
        assert space.moments.counts[code] == len(own)
        centred = own - own.mean(axis=0)
        # sums over parts instead of all rows at once
        np.testing.assert_allclose(space.moments.scatters[code], centred.T @ centred, rtol=1e-11, atol=1e-9)


def test_words_and_repeated_rows(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    few = {"colour": random.choice(["red", "green", "blue"], 900), "size": random.integers(0, 4, 900)}
    rows = pa.table({**few, "label": random.integers(0, 2, 900)})
    found = lopsided.audit(written(tmp_path / "parts", rows, 300), checks=["duplicates"])
    expected = lopsided.audit(rows, checks=["duplicates"])
    alike(expected.to_dict()["measures"], found.to_dict()["measures"])
    assert [one.message for one in found.findings] == [one.message for one in expected.findings]


def test_a_batch_of_long_lists_holds_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lopsided.data.parts._BATCH_BYTES", 80_000)
    lists = pa.array(list(np.random.default_rng(0).normal(size=(300, 100))))
    pq.write_table(pa.table({"features": lists, "label": np.arange(300) % 3}), tmp_path / "lists.parquet")
    (part,) = open_parts(tmp_path / "lists.parquet").parts
    sizes = [batch.num_rows for _, batch in part.batches()]
    assert sum(sizes) == 300
    assert max(sizes) <= 100  # 800 bytes each


def test_what_cannot_be_read_in_parts_is_one_sentence(rows: pa.Table, tmp_path: Path) -> None:
    place = written(tmp_path / "parts", rows)
    with pytest.raises(InputError, match="names of columns beside data in parts, but got an array as labels"):
        lopsided.audit(place, labels=np.zeros(2400))
    with pytest.raises(InputError, match=r"labels under the name 'kin'.*did you mean"):
        lopsided.audit(place, labels="kin")
    with pytest.raises(InputError, match="rows of the sample"):
        lopsided.audit(place, labels="kind", sample_rows=3)
    infinite = rows.set_column(0, "x0", pa.array(np.where(np.arange(2400) == 1234, np.inf, rows["x0"])))
    with pytest.raises(InputError, match="inf in row 1234"):
        lopsided.audit(written(tmp_path / "infinite", infinite), sample_rows=100, **GIVEN)
    with pytest.raises(InputError, match="sum to 1"):
        lopsided.audit(place, **{**GIVEN, "probabilities": ["x0", "x1", "x3"]}, checks=["calibration"])
    pq.write_table(rows.drop_columns(["x0"]), place / "zz.parquet")
    with pytest.raises(InputError, match="the same columns in all parts"):
        lopsided.audit(place, **GIVEN)
    (place / "zz.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(InputError, match="a whole parquet file"):
        lopsided.audit(place, **GIVEN)


@pytest.mark.parametrize(("role", "column"), [("labels", "kind"), ("predictions", "kind2"), ("split", "fold")])
def test_missing_values_are_counted_in_examples(rows: pa.Table, tmp_path: Path, role: str, column: str) -> None:
    """Equal rows are counted as one, so a place among them says nothing."""
    own = rows.append_column("kind2", rows["kind"])
    gaps = pc.if_else(pa.array(np.arange(rows.num_rows) % 100 == 7), None, own[column])
    parts = written(tmp_path / "parts", own.set_column(own.column_names.index(column), column, gaps))
    with pytest.raises(InputError, match=f"every example in {role}, but got missing values in 24 of 2,400; remove"):
        lopsided.audit(parts, **{"labels": "kind", "checks": ["counts"], role: column})


def test_no_output_becomes_a_part(rows: pa.Table, tmp_path: Path) -> None:
    place = written(tmp_path / "parts", rows)
    for name in ("0001.parquet", "scores.parquet"):
        with pytest.raises(InputError, match="which this command reads"):
            check_apart({"--out": place / name}, [place])
    check_apart({"--report": place / "page.html"}, [place])
    (place / "pictures").mkdir()  # a folder of pictures, with a table of scores from an earlier run
    assert not is_in_parts(place)
    check_apart({"--out": place / "0001.parquet"}, [place])


def test_the_seconds_of_an_audit_in_parts_are_those_of_the_passes_too(rows, tmp_path, monkeypatch) -> None:
    from dataclasses import replace

    from lopsided.checkup.streamed import audit as streamed

    checks = streamed.run_checks
    monkeypatch.setattr(streamed, "run_checks", lambda *given, **named: replace(checks(*given, **named), seconds=0.0))
    assert lopsided.audit(written(tmp_path / "parts", rows, 2000, 1000), checks=["counts"], **GIVEN).seconds > 0
