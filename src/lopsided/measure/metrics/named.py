"""Find the metric for a word, a metric or a scikit-learn scorer.

balanced  worst-class  worst-group  overall  mcc  brier  log-loss       METRICS
f1  f2  f0.5  precision  recall  average-precision  roc-auc             of the smaller of two classes, else the mean
f1:CLASS  f1:macro ...                                                  of that class; the mean over classes
precision@recall=0.8  recall@precision=0.5, also with :CLASS            of the smallest class
cost                                                                    with `costs`
jaccard_macro, make_scorer(...)                                         scikit-learn's own names and objects
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from lopsided.core.errors import InputError
from lopsided.core.partition import Partition
from lopsided.measure.metrics import METRICS
from lopsided.measure.metrics.at_least import AtLeast
from lopsided.measure.metrics.confusion import ExpectedCost, FMeasure
from lopsided.measure.metrics.contract import Metric
from lopsided.measure.metrics.ranking import RankingMetric
from lopsided.measure.metrics.scorer import Scorer
from lopsided.measure.metrics.shares import BALANCED, class_recall

OF_CLASSES = ("f1", "precision", "recall", "average-precision", "roc-auc")
_OTHERS = ("precision@recall=0.8", "recall@precision=0.5", "cost", "the name of a scikit-learn scorer")
_SAME = {"accuracy": "overall", "balanced-accuracy": "balanced", "matthews-corrcoef": "mcc", "f1-macro": "f1:macro"}
_F = re.compile(r"f(\d+(?:\.\d+)?)")
_AT_LEAST = re.compile(r"(precision@recall|recall@precision)=([0-9.]+)")

Asked = str | Metric | Callable[..., Any]


def metric_named(asked: Asked, classes: Partition, costs: Any = None) -> Metric:
    """The requested metric for classes with these names and sizes; only "cost" needs `costs`."""
    if isinstance(asked, Metric):
        return asked
    if not isinstance(asked, str):
        return _scorer(asked, classes)
    word, _, of = asked.partition(":")
    word = word.strip().replace("_", "-").lower()
    if word == "cost":
        return _cost(costs if costs is not None else _parsed(of) if of else None, classes)
    if costs is not None:
        raise InputError('the metric "cost" with costs', repr(asked), 'use the metric "cost", or leave the costs out')
    if not of and ":" not in asked:
        word, _, of = _SAME.get(word, word).partition(":")
        if word in METRICS:
            return METRICS[word]
    at_least, f_measure = _AT_LEAST.fullmatch(word), _F.fullmatch(word)
    if at_least is not None:
        return _at_least(at_least[1], at_least[2], _chosen(of, classes, smallest=True), classes)
    if word in OF_CLASSES or f_measure is not None:
        beta = 0.0 if f_measure is None else float(f_measure[1])
        return _of_class(word, beta, _chosen(of, classes), classes)
    return _known_scorer(asked, classes)


def positive_class(classes: Partition) -> int | None:
    """The smaller of two classes; None with more."""
    present = np.flatnonzero(classes.counts)
    return int(present[np.argmin(classes.counts[present])]) if present.size == 2 else None


def _chosen(of: str, classes: Partition, smallest: bool = False) -> int:
    """The code of the class that is meant; -1 for the mean over classes."""
    if of in classes.names:
        return classes.names.index(of)
    if of and (of != "macro" or smallest):
        near = get_close_matches(of, classes.names, 1)
        known = ", ".join(classes.names[:8])
        raise InputError(
            "the name of a class", repr(of), f"did you mean {near[0]}?" if near else f"it is one of {known}"
        )
    if smallest:
        return int(np.argmin(np.where(classes.counts > 0, classes.counts, np.iinfo(np.int64).max)))
    positive = positive_class(classes)
    return -1 if of == "macro" or positive is None else positive


def _of_class(word: str, beta: float, code: int, classes: Partition) -> Metric:
    said = f"{word}:{'macro' if code < 0 else classes.names[code]}"
    if word == "recall":
        return BALANCED if code < 0 else class_recall(classes.names[code], code)
    title = word.replace("-", " ") if word not in ("roc-auc", f"f{beta:g}") else f"{word.replace('-', ' ').upper()}"
    name = f"macro {title}" if code < 0 else f"{title} of {classes.names[code]}"
    if word in ("average-precision", "roc-auc"):
        return RankingMetric(name, said, word == "average-precision", code)
    return FMeasure(name, said, beta, code)


def _at_least(word: str, least: str, code: int, classes: Partition) -> Metric:
    try:
        bound = float(least)
    except ValueError:
        bound = math.nan
    if not 0 < bound <= 1:
        raise InputError(f"a share above 0 and up to 1 in {word}=", least, f"write for example {word}=0.8")
    first, second = word.split("@")
    name, said = f"{first} of {classes.names[code]} at {second} {bound:g}", f"{word}={bound:g}:{classes.names[code]}"
    return AtLeast(name, said, code, bound, first == "recall")


def _cost(costs: Any, classes: Partition) -> Metric:
    if costs is None:
        raise InputError(
            "costs for the metric cost", "none", "give a matrix (true x predicted) or {true: {predicted: cost}}"
        )
    matrix = _matrix(_parsed(costs) if isinstance(costs, str) else costs, classes.names)
    if not np.isfinite(matrix).all():
        raise InputError("finite costs", "NaN or infinite ones", "give a number for every mistake")
    return ExpectedCost(
        "expected cost", f"cost:{json.dumps(matrix.tolist())}", tuple(tuple(row) for row in matrix.tolist())
    )


def _parsed(text: str) -> Any:
    """Costs out of JSON, or out of text such as `fraud:ok=100, ok:fraud=1` (true:predicted=cost)."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError("costs as true:predicted=cost", "JSON that is nested too deeply") from None
    except ValueError:
        found: dict[tuple[str, str], float] = {}
        for entry in text.split(","):
            named, _, cost = entry.rpartition("=")
            true, colon, predicted = named.partition(":")
            try:
                found[true.strip(), predicted.strip()] = float(cost)
            except ValueError:
                colon = ""
            if not colon:
                raise InputError(
                    "costs as true:predicted=cost", repr(entry), "write for example fraud:ok=100,ok:fraud=1"
                ) from None
        return found


def _matrix(costs: Any, names: tuple[str, ...]) -> Any:
    """Costs by class; by default, correct answers cost 0 and mistakes 1."""
    if isinstance(costs, Mapping):
        matrix = 1.0 - np.eye(len(names))
        pairs: dict[Any, float] = {}
        for true, row in costs.items():
            pairs |= {(true, called): cost for called, cost in row.items()} if isinstance(row, Mapping) else {true: row}
        for pair, cost in pairs.items():
            given = tuple(str(name) for name in pair) if isinstance(pair, tuple) else (str(pair),)
            if len(given) != 2 or not set(given) <= set(names):
                raise InputError(f"costs of pairs (true, predicted) of {', '.join(names[:8])}", repr(pair))
            matrix[names.index(given[0]), names.index(given[1])] = cost
        return matrix
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (len(names), len(names)):
        got = f"the shape {matrix.shape}" if matrix.size else repr(costs)[:60]
        raise InputError(
            f"{len(names)} x {len(names)} costs, true x predicted, classes in the order {', '.join(names[:8])}",
            got,
        )
    return matrix


def _known_scorer(asked: str, classes: Partition) -> Metric:
    from sklearn.metrics import get_scorer, get_scorer_names

    known = [*METRICS, *OF_CLASSES, *_OTHERS]
    if asked in get_scorer_names():
        return Scorer(asked, asked, classes.names, get_scorer(asked))
    near = get_close_matches(asked, [*known, *get_scorer_names()], 1)
    hint = f"did you mean {near[0]}?" if near else ""
    raise InputError(f"a metric among {', '.join(known)}", repr(asked), hint)


def _scorer(asked: Any, classes: Partition) -> Metric:
    import inspect

    try:
        three = len(inspect.signature(asked).parameters) >= 3 and not getattr(asked, "__module__", "").startswith(
            "sklearn.metrics._"
        )
    except (TypeError, ValueError):
        three = False
    if not callable(asked) or not (three or hasattr(asked, "_score_func")):
        raise InputError(
            "the name of a metric, or a scorer that is called with (estimator, X, y)",
            repr(asked)[:60],
            "wrap a function of (y_true, y_pred) with sklearn.metrics.make_scorer",
        )
    function = getattr(asked, "_score_func", asked)
    name = str(getattr(function, "__name__", type(asked).__name__)).replace("_", " ")
    return Scorer(name, f"scorer:{name}", classes.names, asked)
