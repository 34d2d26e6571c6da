"""What a person may give to `lopsided.audit`, `plan` and `trial`: types and documentation, written once.

A public function that takes some of these inputs names them in its signature, writes `{inputs}` as a line of its
docstring's Parameters and is decorated with `shared_parameters`. An input that several functions share is a new entry
here.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from lopsided.core.parameters import Function, documented_by, entries_of

# In signatures these stand in quotes, so that `help()` shows the names and not what numpy makes of them.
DataLike = str | os.PathLike[str] | ArrayLike | Mapping[str, ArrayLike] | Any  # Any: frames, lazy ones too, and Table
ColumnLike = str | os.PathLike[str] | ArrayLike
ColumnsLike = ColumnLike | Mapping[str, ArrayLike]

PARAMETERS = entries_of("""
data : path, DataFrame, dict of arrays, array or tensor, optional
    A file (npz, npy, parquet, csv, tsv, csv.gz, feather, jsonl, xlsx) or a folder of pictures; a pandas, Polars or
    Arrow frame; arrays by name; or an array or sparse matrix of features with one row or picture per example. Not
    needed if the arrays below are given.
labels : str, path or array of shape (n,), optional
    The class of each example: the name of a column or array in `data`, a file of labels (npy, txt, csv), or the array
    itself. By default, the one with a usual name (label, y, target, class).
groups : str, list of str, array, dict of arrays or DataFrame, optional
    One or several columns of groups, by name or as arrays. Intersections of two columns are groups too.
features : str, list of str or array of shape (n, p), optional
    The columns (or the one array) of `data` that are features, or the features themselves. By default, all columns
    without another role: numbers, categories, text and dates.
classifier : str, array of shape (K, p) or object, optional
    Weights of the last layer over `features`, one row per class; or an object with `weight` and `bias` (PyTorch) or
    `coef_` and `intercept_` (scikit-learn).
bias : str or array of shape (K,), optional
    Biases of the classifier, if it is given as an array.
probabilities : str, list of str, array of shape (n, K) or DataFrame, optional
    Predicted probabilities. Columns named for the classes are matched by name; the others follow `classes`. With two
    classes, one column is enough.
logits : str, list of str, array of shape (n, K) or DataFrame, optional
    Logits instead of probabilities.
predictions : str or array of shape (n,), optional
    Predicted labels. By default, the most probable class.
split : str or array of shape (n,), optional
    Words such as train and test, or True for test rows. Models are trained on training rows, and predictions are judged
    on test rows.
split_by : str or array of shape (n,), optional
    Rows with the same entry (a customer, a patient) stay together, in training or in testing.
time : str or array of shape (n,), optional
    Numbers or dates: models are trained on the past and tested on the rows that follow.
sample_weight : str or array of shape (n,), optional
    A weight for each row, in training (multiplied by those of a remedy) and in every metric.
weight_decay : float or str, optional
    The weight decay of the network, or its name in `data`.
classes : list, optional
    The order of the classifier's rows and of unnamed columns of probabilities, if they are not sorted.
many_classes : bool, default False
    Treat labels that are many different numbers as classes, instead of raising an error.
metric : str, callable or Metric, optional
    The metric to improve: balanced, worst-class, worst-group, overall, mcc, brier or log-loss; f1, precision, recall,
    average-precision or roc-auc of the smaller of two classes (of more, the mean), or of a class as in "f1:fraud";
    "precision@recall=0.8" or "recall@precision=0.5"; "cost"; the name of a scikit-learn scorer, or a scorer. By
    default, the metric of a given plan, else the worst group if groups are given, else balanced accuracy.
costs : dict or array of shape (K, K), optional
    For the metric "cost": what each answer costs, true classes by row and predicted ones by column, classes sorted; or
    {true: {predicted: cost}}, where right answers cost 0 and other mistakes 1. Text as in "fraud:ok=100,ok:fraud=1".
arms : list, optional
    Remedies to use instead of those that a plan proposes: their names ("smote", "half-way oversampling"), remedies,
    samplers with `fit_resample` (imbalanced-learn's), classifiers to use instead of `learner`, pairs (name, classifier
    or sampler), package.module:Class; "default" stands for all that a plan proposes.
name : str, optional
    The name of the data in reports. By default, the name of the file.
seed : int, default 0
    The random seed.
""")
shared_parameters = documented_by(PARAMETERS)


def of_known_data(function: Callable[..., Any]) -> Callable[[Function], Function]:
    """For a method that calls `function` on data that are known: `help()` shows the parameters that are left, named and
    documented as there, under the method's own first line."""
    known = {"data", *PARAMETERS} - {"metric", "costs", "arms", "seed"}

    def decorated(method: Function) -> Function:
        taken = inspect.signature(function)
        own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        left = [one for name, one in taken.parameters.items() if name not in known]
        left = [one.replace(default=None) if one.name == "seed" else one for one in left]  # that of the data
        method.__signature__ = taken.replace(parameters=own + left)  # type: ignore[attr-defined]
        if method.__doc__ is not None and function.__doc__ is not None:
            told = function.__doc__[function.__doc__.index("Parameters\n") :]
            for name in known:
                told = told.replace(f"{PARAMETERS[name]}\n", "")
            method.__doc__ = f"{method.__doc__}\n\n{told[: told.find('Examples') if 'Examples' in told else None]}"
        return method

    return decorated
