"""Categories, intervals and dates are words wherever labels or groups are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lopsided.checkup.inputs.gather import gather
from lopsided.data.arrow_tables import time_words

N = 60
DAYS = pd.date_range("2024-01-31", periods=3).to_numpy()[np.arange(N) % 3]
DAY_NAMES = ("2024-01-31", "2024-02-01", "2024-02-02")
PARTS = ("(0, 30]", "(30, 60]", "(60, 100]")


@pytest.fixture
def frame() -> pd.DataFrame:
    letters = np.array(["a", "b"])[np.arange(N) % 2]
    return pd.DataFrame({"x": np.linspace(1, 99, N), "label": letters, "kind": letters})


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["b", "a"])])
def test_categories_of_polars(frame, kind) -> None:
    data = pl.from_pandas(frame).with_columns(pl.col("label", "kind").cast(kind))
    found = gather(data, groups="kind")
    assert found.classes.names == found.groups["kind"].names == ("a", "b")
    assert [found.classes.names[code] for code in found.classes.codes] == frame["label"].tolist()
    missing = data.with_columns(pl.when(pl.col("x") > 50).then("kind").alias("kind"))
    assert gather(missing).rows == N  # nobody asked for the column


def test_intervals_of_pandas(frame) -> None:
    data = frame.assign(part=pd.cut(frame["x"], [0, 30, 60, 100]))
    assert gather(data, groups="part").groups["part"].names == PARTS
    assert gather(data, labels="part").classes.names == PARTS
    found = gather(data)
    assert found.columns.used == ("x", "kind", "part")
    assert found.table.feature_names[-3:] == tuple(f"part={part}" for part in PARTS)
    assert gather(frame, groups=data["part"]).groups["group"].names == PARTS
    assert gather(frame, groups=data[["part"]]).groups["part"].names == PARTS


@pytest.mark.parametrize("form", ["numpy", "zone", "date", "category", "polars", "parquet", "array"])
def test_dates(frame, form, tmp_path) -> None:
    day = pd.Series(DAYS)
    day = {"zone": day.dt.tz_localize("Asia/Tokyo"), "date": day.dt.date, "category": day.astype("category")}.get(
        form, day
    )
    data = frame.assign(day=day)
    if form == "polars":
        data = pl.from_pandas(data)
    elif form == "parquet":
        data.to_parquet(tmp_path / "d.parquet")
        data = tmp_path / "d.parquet"
    found = gather(data, groups={"day": DAYS} if form == "array" else "day")
    assert found.groups["day"].names == DAY_NAMES


def test_times_keep_what_they_need() -> None:
    assert time_words(np.array(["2024-01-31T12:30", "2024-02-01"], dtype="M8[ns]")).tolist() == [
        "2024-01-31T12:30",
        "2024-02-01T00:00",
    ]
    assert time_words(np.array(["2024-01-31", "NaT"], dtype="M8[s]")).tolist() == ["2024-01-31", None]
    assert time_words(np.array([3, 4], dtype="m8[D]")).tolist() == ["3 days", "4 days"]
    assert time_words(np.arange(3)).tolist() == [0, 1, 2]
