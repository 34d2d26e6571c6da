"""Arrays that users have by accident or on purpose, as contents of npz and npy files: `ARRAYS[name](random)`."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

Contents = dict[str, Any]
WICKED_NAMES = (
    "label",
    "<script>alert(1)</script>",
    "'; drop table tasks; --",
    "naïve ⚖️ 不均衡",
    "\x1b[31mred\x1b[0m",
    "a\nb\tc",
    "x" * 3000,
    "../../evil",
    "\u202eright to left",
    "{{ 7 * 7 }}",
    "%s%n%x",
    "NaN",
    " ",
)


class Canary:
    """An object whose pickle makes a folder when it is loaded; nothing may ever load it."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, tuple[str, int, bool]]:
        return os.makedirs, (str(self.place), 0o777, True)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Real pictures: the first 80 of scikit-learn's digits, 64 columns."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return images[:80], labels[:80]


def sound(random: Random) -> Contents:
    """Nothing wrong: three unequal classes and two groups."""
    images, labels = digits()
    keep = np.flatnonzero(labels < 4)
    return {
        "features": images[keep, : random.choice((2, 5, 16))],
        "labels": labels[keep],
        "group": np.where(np.arange(len(keep)) % 3 > 0, "a", "b"),
    }


def with_features(change: Callable[[np.ndarray, Random], Any]) -> Callable[[Random], Contents]:
    """The sound data with other features."""
    return lambda random: (content := sound(random)) | {"features": change(content["features"].copy(), random)}


def with_labels(change: Callable[[np.ndarray, Random], Any]) -> Callable[[Random], Contents]:
    """The sound data with other labels."""
    return lambda random: (content := sound(random)) | {"labels": change(content["labels"].copy(), random)}


def _spoilt(value: float) -> Callable[[np.ndarray, Random], np.ndarray]:
    def spoil(features: np.ndarray, random: Random) -> np.ndarray:
        for _ in range(random.choice((1, 1, 5, features.size))):
            features[random.randrange(len(features)), random.randrange(features.shape[1])] = value
        return features

    return spoil


def _structured(features: np.ndarray, random: Random) -> np.ndarray:
    return np.zeros(len(features), dtype=[("a", "f8"), ("b", "U3")])


def _extra(name: str, make: Callable[[int, Random], Any]) -> Callable[[Random], Contents]:
    return lambda random: (content := sound(random)) | {name: make(len(content["labels"]), random)}


def _many_classes(random: Random) -> Contents:
    n = random.choice((10_000, 1_000_000))
    return {"features": np.arange(n, dtype=np.float32)[:, None], "labels": np.arange(n)}


ARRAYS: dict[str, Callable[[Random], Contents]] = {
    "sound": sound,
    "NaN": with_features(_spoilt(np.nan)),
    "infinity": with_features(_spoilt(np.inf)),
    "huge values": with_features(_spoilt(1e308)),
    "tiny values": with_features(lambda x, r: x * 1e-300),
    "subnormal values": with_features(lambda x, r: np.full_like(x, 5e-324)),
    "constant features": with_features(lambda x, r: np.ones_like(x)),
    "one constant column": with_features(lambda x, r: np.column_stack([x, np.ones(len(x))])),
    "repeated columns": with_features(lambda x, r: np.column_stack([x, x])),
    "equal rows": with_features(lambda x, r: np.repeat(x[:1], len(x), axis=0)),
    "no rows": lambda r: {"features": np.zeros((0, 3)), "labels": np.zeros(0, dtype=int)},
    "no columns": with_features(lambda x, r: x[:, :0]),
    "one row": lambda r: {"features": np.ones((1, 3)), "labels": np.array([1])},
    "two rows": lambda r: {"features": np.array([[1.0, 2], [3, 5]]), "labels": np.array([0, 1])},
    "features of one axis": with_features(lambda x, r: x[:, 0]),
    "features of five axes": with_features(lambda x, r: x.reshape(len(x), 1, 1, 1, -1)),
    "pictures": with_features(lambda x, r: np.resize(x, (len(x), 4, 4)).astype(np.uint8)),
    "colour pictures": with_features(lambda x, r: np.resize(x, (len(x), 4, 4, 3))),
    "a number alone": with_features(lambda x, r: np.float64(3)),
    "Fortran order": with_features(lambda x, r: np.asfortranarray(x)),
    "float16": with_features(lambda x, r: x.astype(np.float16)),
    "float32": with_features(lambda x, r: x.astype(np.float32)),
    "long double": with_features(lambda x, r: x.astype(np.longdouble)),
    "big endian": with_features(lambda x, r: x.astype(">f8")),
    "booleans": with_features(lambda x, r: x > 3),
    "int8": with_features(lambda x, r: x.astype(np.int8)),
    "largest uint64": with_features(lambda x, r: np.full(x.shape, np.iinfo(np.uint64).max)),
    "complex": with_features(lambda x, r: x + 1j),
    "strings as features": with_features(lambda x, r: x.astype(str)),
    "bytes as features": with_features(lambda x, r: x.astype("S4")),
    "dates as features": with_features(lambda x, r: x.astype("M8[D]")),
    "structured features": with_features(_structured),
    "void": with_features(lambda x, r: x.astype("V8")),
    "one class": with_labels(lambda y, r: np.zeros_like(y)),
    "every row its own class": with_labels(lambda y, r: np.arange(len(y))),
    "many classes": _many_classes,
    "a class of one": with_labels(lambda y, r: np.where(np.arange(len(y)) == 0, 9, 0)),
    "labels too long": with_labels(lambda y, r: np.append(y, 0)),
    "labels too short": with_labels(lambda y, r: y[:-1]),
    "labels of two axes": with_labels(lambda y, r: np.eye(4)[y]),
    "labels as a column": with_labels(lambda y, r: y[:, None]),
    "float labels": with_labels(lambda y, r: y.astype(float)),
    "fractional labels": with_labels(lambda y, r: y + 0.5),
    "NaN labels": with_labels(lambda y, r: np.where(y == 0, np.nan, y)),
    "infinite labels": with_labels(lambda y, r: np.where(y == 0, np.inf, y)),
    "huge labels": with_labels(lambda y, r: y.astype(np.uint64) + np.uint64(2**64 - 8)),
    "huge float labels": with_labels(lambda y, r: y * 1e300),
    "negative labels": with_labels(lambda y, r: y - 2),
    "boolean labels": with_labels(lambda y, r: y > 1),
    "complex labels": with_labels(lambda y, r: y + 1j),
    "date labels": with_labels(lambda y, r: y.astype("M8[D]")),
    "duration labels": with_labels(lambda y, r: y.astype("m8[s]")),
    "byte labels": with_labels(lambda y, r: y.astype("S1")),
    "void labels": with_labels(lambda y, r: y.astype("V4")),
    "empty string labels": with_labels(lambda y, r: np.where(y == 0, "", "a")),
    "wicked labels": with_labels(lambda y, r: np.array(WICKED_NAMES)[y % len(WICKED_NAMES)]),
    "labels that differ by a space": with_labels(lambda y, r: np.where(y == 0, "a", "a ")),
    "labels with NUL": with_labels(lambda y, r: np.where(y == 0, "a\0b", "a")),
    "surrogate labels": with_labels(lambda y, r: np.where(y == 0, "\udc80", "b")),
    "groups of one": _extra("group", lambda n, r: np.arange(n)),
    "one group": _extra("group", lambda n, r: np.zeros(n)),
    "wicked groups": _extra("group", lambda n, r: np.array(WICKED_NAMES)[np.arange(n) % len(WICKED_NAMES)]),
    "NaN groups": _extra("group", lambda n, r: np.full(n, np.nan)),
    "probabilities": _extra("probabilities", lambda n, r: np.full((n, 4), 0.25)),
    "probabilities beyond one": _extra("probabilities", lambda n, r: np.full((n, 4), 3.0)),
    "NaN probabilities": _extra("probabilities", lambda n, r: np.full((n, 4), np.nan)),
    "probabilities of another width": _extra("probabilities", lambda n, r: np.full((n, 9), 1 / 9)),
    "certain probabilities": _extra("probabilities", lambda n, r: np.eye(4)[np.arange(n) % 4]),
    "huge logits": _extra("logits", lambda n, r: np.full((n, 4), 1e308) * [1, -1, 1, -1]),
    "classifier": lambda r: (content := sound(r)) | {"classifier": np.ones((4, content["features"].shape[1]))},
    "zero classifier": lambda r: (content := sound(r)) | {"classifier": np.zeros((4, content["features"].shape[1]))},
    "huge classifier": lambda r: (content := sound(r)) | {"W": np.full((4, content["features"].shape[1]), 1e200)},
    "classifier of another width": _extra("W", lambda n, r: np.ones((4, 99))),
    "NaN bias": lambda r: (
        (content := sound(r)) | {"classifier": np.ones((4, content["features"].shape[1])), "bias": np.full(4, np.nan)}
    ),
    "predictions": _extra("predictions", lambda n, r: np.zeros(n, dtype=int)),
    "strange predictions": _extra("predictions", lambda n, r: np.full(n, 77)),
    "all rows for testing": _extra("split", lambda n, r: np.full(n, "test")),
    "a strange split": _extra("split", lambda n, r: np.array(WICKED_NAMES)[np.arange(n) % 3]),
    "weight decay": _extra("weight_decay", lambda n, r: np.float64(r.choice((0.0, -1.0, 5e-4, 1e300, np.nan)))),
    "halves": lambda r: {
        "x_train": np.ones((9, 2)),
        "y_train": np.arange(9) % 2,
        "x_test": np.ones((4, 2)),
        "y_test": np.arange(4) % 2,
    },
    "halves that do not fit": lambda r: {
        "x_train": np.ones((9, 2)),
        "y_train": np.arange(9),
        "x_test": np.ones((4, 3)),
    },
    "wicked names": lambda r: {name: np.arange(6) for name in WICKED_NAMES if "/" not in name},
    "two matrices": lambda r: {"first": np.ones((4, 2)), "second": np.ones((4, 3)), "y": np.arange(4)},
    "nothing": lambda r: {},
}
