"""The encoding of frames against scikit-learn's encoders, pandas' own arithmetic, and rows that `fit` did not see."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import OneHotEncoder

from lopsided.core.errors import InputError
from lopsided.data.columns import MOST_CATEGORIES, Columns, useless
from lopsided.data.encoding import TEXT_WIDTH, TableEncoder

N = 120


@pytest.fixture
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    words = np.array(["a", "b", "c"])[random.integers(0, 3, N)]
    return pd.DataFrame(
        {
            "number": np.where(np.arange(N) % 10 == 0, np.nan, random.normal(size=N)),
            "word": pd.Series(words).where(np.arange(N) % 12 != 0),
            "kind": pd.Categorical(words, categories=["c", "b", "a", "never"]),
            "day": pd.Timestamp("2024-02-28 06:00") + pd.to_timedelta(np.arange(N), unit="D"),
            "flag": pd.array(np.where(np.arange(N) % 7 == 0, None, np.arange(N) % 2 == 0), dtype="boolean"),
            "text": [f"the {word} parcel came on day {place % 50}" for place, word in enumerate(words)],
        }
    )


def column(encoder: TableEncoder, matrix: np.ndarray, name: str) -> np.ndarray:
    return matrix[:, encoder.names_.index(name)]


def test_every_kind_of_column(frame) -> None:
    encoder = TableEncoder().fit(frame)
    found = encoder.transform(frame)
    assert np.isfinite(found).all()
    assert set(encoder.origins_) == set(frame.columns)
    number = frame["number"]
    np.testing.assert_array_equal(column(encoder, found, "number"), number.fillna(number.median()))
    np.testing.assert_array_equal(column(encoder, found, "number (missing)"), number.isna())
    theirs = OneHotEncoder(sparse_output=False).fit_transform(frame[["kind"]].astype(str))
    ours = np.stack([column(encoder, found, f"kind={name}") for name in "abc"], axis=1)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(column(encoder, found, "word=(missing)"), frame["word"].isna())
    np.testing.assert_array_equal(column(encoder, found, "day (weekday)"), frame["day"].dt.day_of_week)
    np.testing.assert_array_equal(column(encoder, found, "day (month)"), frame["day"].dt.month)
    np.testing.assert_array_equal(column(encoder, found, "day (hour)"), frame["day"].dt.hour)
    np.testing.assert_array_equal(np.diff(column(encoder, found, "day (days)")), 1.0)
    assert sum(name.startswith("text (letters") for name in encoder.names_) == TEXT_WIDTH


def test_frames_of_all_packages_are_encoded_alike(frame) -> None:
    expected = TableEncoder().fit_transform(frame)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    for other in (pl.from_pandas(frame), arrow, arrow.slice(0, 60).__class__.from_batches(arrow.to_batches(7))):
        np.testing.assert_array_equal(TableEncoder().fit_transform(other), expected)


def test_rows_keep_their_encoding_whatever_stands_beside_them(frame) -> None:
    """Fitted on some rows, every row is encoded by itself: permuted, repeated, or alone."""
    encoder = TableEncoder().fit(frame.iloc[:80])
    whole, order = encoder.transform(frame), np.random.default_rng(1).permutation(N)
    # 1e-12: sums of the same floats, by blocks of other sizes
    np.testing.assert_allclose(encoder.transform(frame.iloc[order]), whole[order], atol=1e-12)
    np.testing.assert_allclose(encoder.transform(frame.iloc[[5]]), whole[[5]], atol=1e-12)


def test_codes_keep_gaps_and_unknown_categories_are_missing(frame) -> None:
    encoder = TableEncoder("codes").fit(frame)
    found = encoder.transform(frame)
    names = [name for name, coded in zip(encoder.names_, encoder.categorical_, strict=True) if coded]
    assert names == ["word", "kind", "text"]
    np.testing.assert_array_equal(np.isnan(column(encoder, found, "word")), frame["word"].isna())
    assert np.isnan(column(encoder, found, "number")).sum() == N // 10
    strange = frame.assign(kind="unseen", word="unseen")
    assert np.isnan(encoder.transform(strange)[:, encoder.categorical_][:, :2]).all()
    one_hot = TableEncoder().fit(frame)
    places = [place for place, name in enumerate(one_hot.names_) if name.startswith("kind=")]
    assert not one_hot.transform(strange)[:, places].any()  # no rare ones to be pooled with


def test_rare_categories_are_pooled() -> None:
    words = [f"w{place}" for place in range(60) for _ in range(place + 1)]
    encoder = TableEncoder().fit(pd.DataFrame({"word": words, "x": np.arange(len(words)) % 7}))
    own = [name for name in encoder.names_ if name.startswith("word=")]
    assert len(own) == MOST_CATEGORIES
    assert own[-1] == "word=(rare)"
    assert "word=w59" in own
    assert "word=w0" not in own


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ"])
def test_dates_in_words_are_dates(frame, form) -> None:
    written = frame[["number", "day"]].assign(day=frame["day"].dt.strftime(form))
    encoder = TableEncoder().fit(written)
    np.testing.assert_array_equal(
        column(encoder, encoder.transform(written), "day (weekday)"), frame["day"].dt.day_of_week
    )
    with pytest.raises(InputError, match="'day'"):
        encoder.transform(written.assign(day="yesterday"))


def test_what_says_nothing_is_left_out_with_the_reason(frame) -> None:
    given = frame.assign(
        row=np.random.default_rng(0).permutation(N) + 5,
        key=[f"u{place}" for place in range(N)],
        same=1,
        none=None,
        lists=[[1, 2]] * N,
        gap=np.where(np.arange(N) % 2 == 0, 1.0, np.nan),
    )
    table = pa.Table.from_pandas(given, preserve_index=False)
    reasons = {name: useless(table[name]) for name in table.column_names}
    assert {name for name, why in reasons.items() if why is None} == {*frame.columns, "gap"}
    expected = {"row": "row number", "key": "identifier", "same": "same", "none": "empty", "lists": "lists"}
    assert all(word in (reasons[name] or "") for name, word in expected.items())
    assert set(TableEncoder().fit(given).left_out_) == set(expected)


def test_infinities_and_lost_columns_are_refused(frame) -> None:
    with pytest.raises(InputError, match="number"):
        TableEncoder().fit(frame.assign(number=np.where(np.arange(N) == 7, np.inf, 0.0)))
    with pytest.raises(InputError, match=r"'word'.*did you mean 'wrod'"):
        TableEncoder().fit(frame).transform(frame.rename(columns={"word": "wrod"}))


def test_the_sentence_of_columns() -> None:
    used = Columns(
        ("a", "b"), (("id", "it looks like a row number"), ("c", "it looks like a row number")), {"label": ["credit"]}
    )
    assert used.sentence() == "2 of 4 columns; label `credit`; not used: `id`, `c` (it looks like a row number)."
    assert used.to_dict()["ignored"][1] == {"name": "c", "why": "it looks like a row number"}
    assert Columns(("x",), width=784).sentence() == "784 of 784 columns of `x`."
