"""Encodes a table of numbers, categories, text and dates as one matrix of floats, for learners and checks that need
numbers.

Made of scikit-learn's encoders. skrub's `TableVectorizer` does the same job, and was as accurate on Adult with all its
words, but it needs pandas, which lopsided does not depend on: files are Arrow tables here.

    numbers, booleans      unchanged
    dates, times, spans    days since 1970, month, weekday, and the hour of a time; a span in seconds
    categories             one column each, those beyond the `MOST_CATEGORIES` most frequent and those of fewer than
                           `RARE` rows in one together; or one column of codes, for trees that take categories
    other text             `TEXT_WIDTH` principal components of the frequencies of 2 to 4 letters in a row
    missing                the median and a column that marks it; NaN for codes; a category of its own

A category that did not occur in `fit` is treated as rare. The encoding does not use the labels.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lopsided.core.errors import InputError
from lopsided.core.validation import FloatArray, IntArray, name_one_of
from lopsided.data.columns import MOST_CATEGORIES, is_words, text, typed, useless
from lopsided.data.rows import Rows, is_matrix, is_sparse

RARE = 10  # rows of a category that has no column of its own
MOST_CODES = 254  # scikit-learn's trees take categories with codes below 255
TEXT_WIDTH = 30
COVERED = 0.8  # words are categories where the most frequent ones make up this share of the rows
MOST_DENSE = 250_000_000  # numbers: 2 GB


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """fit(frame), transform(frame): rows in, a float matrix out. `categories` is "one-hot" or "codes".

    Attributes
    ----------
    names_ : names of the columns of the matrix, such as `purpose=car`.
    origins_ : for each of them the column of the frame that it comes from.
    categorical_ : which of them are codes of categories.
    left_out_ : columns of the frame that are not encoded, with the reason.
    """

    def __init__(self, categories: str = "one-hot") -> None:
        self.categories = categories

    def fit(self, X: Rows, y: Any = None) -> "TableEncoder":
        """Learn categories, medians and letters from the rows of a frame (or of a matrix with NaN)."""
        self.coders_: dict[str, Any] = {}
        self.left_out_: dict[str, str] = {}
        names: list[str] = []
        origins: list[str] = []
        codes: list[bool] = []
        for name, column in _columns(X).items():
            why = useless(column)
            if why is not None:
                self.left_out_[name] = why
                continue
            coder = self.coders_[name] = self._coder(column).fit(column, name)
            own = coder.names(name)
            names, origins = names + own, origins + [name] * len(own)
            codes += [isinstance(coder, _Categories) and coder.codes] * len(own)
        if not names:
            raise InputError("columns to learn from", _listed(self.left_out_), "give columns that hold values")
        self.names_, self.origins_, self.categorical_ = tuple(names), tuple(origins), np.array(codes)
        return self

    def _coder(self, column: Any) -> Any:
        codes = self.categories == "codes"
        if not is_words(column.type):
            return _Numbers(fill=not codes)
        most = MOST_CODES if codes else MOST_CATEGORIES
        return _Categories(codes=codes) if _are_categories(column, most) else _Letters()

    def transform(self, X: Rows) -> FloatArray:
        """The matrix, n x len(names_); columns that `fit` did not see are ignored."""
        check_is_fitted(self, "coders_")
        columns = _columns(X)
        missing = [name for name in self.coders_ if name not in columns]
        if missing:
            remedy = name_one_of(columns, missing[0])
            got = f"the columns: {_listed(columns)}"
            raise InputError(f"the column {missing[0]!r} that was trained on", got, remedy)
        return np.column_stack([coder.transform(columns[name], name) for name, coder in self.coders_.items()])


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(list(names)[:30]) or "none"


def _columns(rows: Rows) -> dict[str, Any]:
    """Arrow columns by name; those of a matrix are called by their place."""
    import pyarrow as pa

    from lopsided.data.frames import arrow_of_frame

    if is_sparse(rows):
        if rows.shape[0] * rows.shape[1] > MOST_DENSE:
            got = f"a sparse one of {rows.shape[0]:,} x {rows.shape[1]:,}"
            raise InputError("a matrix that fits into memory for this learner", got, "use the learner logistic")
        rows = rows.toarray()
    if is_matrix(rows):
        return {f"column {place}": pa.chunked_array([rows[:, place]]) for place in range(rows.shape[1])}
    table = arrow_of_frame(rows)
    return {name: typed(column) for name, column in zip(table.column_names, table.columns, strict=True)}


def _are_categories(column: Any, most: int) -> bool:
    """At most `most` different words, or the most frequent of them in `COVERED` of the rows."""
    import pyarrow.compute as pc

    counts = np.sort(np.asarray(pc.value_counts(text(column)).field("counts")))[::-1]
    return bool(counts.size <= most or counts[:most].sum() >= COVERED * len(column))


class _Numbers:
    """Numbers, booleans and times; gaps are filled with the median, beside a column that says where, or stay NaN."""

    def __init__(self, fill: bool) -> None:
        self.fill = fill

    def fit(self, column: Any, name: str) -> "_Numbers":
        self.kind = column.type
        self.parts, values = _numbers(column, name)
        self.median = np.nanmedian(values, axis=0)
        self.gappy = self.fill and bool(np.isnan(values).any())
        return self

    def names(self, name: str) -> list[str]:
        """Of its columns."""
        own = [f"{name} ({part})" if part else name for part in self.parts]
        return [*own, f"{name} (missing)"] if self.gappy else own

    def transform(self, column: Any, name: str) -> FloatArray:
        """n x columns."""
        import pyarrow as pa

        if pa.types.is_null(column.type) or is_words(column.type):  # of which no row has a value, or a wrong one
            try:
                column = text(column).cast(self.kind)
            except pa.ArrowInvalid as error:
                got = str(error).splitlines()[0]
                raise InputError(f"values of type {self.kind} in the column {name!r}", got) from None
        _, values = _numbers(column, name)
        if not self.fill:
            return values
        missing = np.isnan(values)
        filled = np.where(missing, self.median, values)
        return np.column_stack([filled, missing.any(axis=1)]) if self.gappy else filled


def _numbers(column: Any, name: str) -> tuple[tuple[str, ...], FloatArray]:
    """The parts that a time consists of ("" for a number), and their values; NaN where one is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    parts: dict[str, Any] = {"": column}
    if types.is_timestamp(kind) or types.is_date(kind):
        local = pc.local_timestamp(column) if types.is_timestamp(kind) and kind.tz is not None else column
        seconds = local.cast(pa.timestamp("s"), safe=False)
        days = pc.divide(seconds.cast(pa.int64()).cast(pa.float64()), 86400.0)
        parts = {"days": days, "month": pc.month(seconds), "weekday": pc.day_of_week(seconds)}
        if types.is_timestamp(kind):
            parts["hour"] = pc.hour(seconds)
    elif types.is_temporal(kind):  # a span, or a time of the day
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[getattr(kind, "unit", "ns")]
        whole = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        parts = {"seconds": pc.divide(whole.cast(pa.float64()), unit)}
    found = [np.asarray(part.cast(pa.float64(), safe=False), dtype=np.float64) for part in parts.values()]
    values = np.column_stack(found)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values).any(axis=1))[0])
        raise InputError(f"finite numbers in the column {name!r}", f"an infinite one in row {row}", "remove or fill it")
    return tuple(parts), values


class _Categories:
    """One column per category, or one of codes; rare and unknown categories are pooled."""

    def __init__(self, codes: bool) -> None:
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

        self.codes = codes
        self.encoder: Any = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=MOST_CATEGORIES,
            min_frequency=RARE,
            sparse_output=False,
        )
        if codes:
            known = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
            self.encoder = OrdinalEncoder(max_categories=MOST_CODES, **known)

    def fit(self, column: Any, name: str) -> "_Categories":
        import pyarrow.compute as pc

        self.known = pc.unique(text(column).drop_null()).sort()
        places = self._places(column)
        self.encoder.fit(places[places < len(self.known)][:, None] if self.codes else places[:, None])
        return self

    def _places(self, column: Any) -> IntArray:
        """Where each word stands among those known; then comes a missing one, then one that is not known."""
        import pyarrow.compute as pc

        entries = text(column)
        found = pc.if_else(entries.is_null(), len(self.known), pc.index_in(entries, self.known))
        return np.asarray(found.fill_null(len(self.known) + 1), dtype=np.int64)

    def names(self, name: str) -> list[str]:
        """Of its columns."""
        if self.codes:
            return [name]
        entries = [*self.known.to_pylist(), "(missing)"]
        own = [str(entry)[1:] for entry in self.encoder.get_feature_names_out([""])]
        return [f"{name}={entries[int(entry)] if entry.isdigit() else '(rare)'}" for entry in own]

    def transform(self, column: Any, name: str) -> FloatArray:
        """n x columns."""
        return np.asarray(self.encoder.transform(self._places(column)[:, None]), dtype=np.float64)


class _Letters:
    """Words of many kinds, by the letters that they share."""

    def fit(self, column: Any, name: str) -> "_Letters":
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
        from sklearn.pipeline import make_pipeline

        entries = self._texts(column)
        few = max(1, min(TEXT_WIDTH, entries.size - 1))
        self.encoder = make_pipeline(
            HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=2**14, alternate_sign=False),
            TfidfTransformer(),
            TruncatedSVD(few, random_state=0),
        ).fit(entries)
        return self

    @staticmethod
    def _texts(column: Any) -> NDArray[Any]:
        return np.array(text(column).fill_null("").to_pylist(), dtype=object)

    def names(self, name: str) -> list[str]:
        """Of its columns."""
        return [f"{name} (letters {place + 1})" for place in range(self.encoder[-1].n_components)]

    def transform(self, column: Any, name: str) -> FloatArray:
        """n x columns."""
        return np.asarray(self.encoder.transform(self._texts(column)), dtype=np.float64)
