"""Options that several commands share, and kinds of values with errors that say what came."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lopsided.core.errors import InputError
from lopsided.core.files import check_apart

if TYPE_CHECKING:
    from lopsided.engine.cluster import Cluster


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number, but got {text!r}") from None


def number(help: str) -> Any:
    """An option that takes a number."""
    return typer.Option(help=help, parser=_number, metavar="NUMBER")


def _folder(text: str | Path) -> Path:
    if not str(text).strip():  # a default comes as the path that it is
        raise typer.BadParameter("expected a folder, but got an empty name; use . for the current folder")
    return Path(text)


def folder(help: str) -> Any:
    """An option that takes a folder; an empty name (an unset variable of a script) is not the current one."""
    return typer.Option(help=help, parser=_folder, metavar="FOLDER")


_COLUMNS = ("labels", "groups", "features", "predictions", "probabilities", "logits", "split", "split_by", "time")
_WORDS = dict.fromkeys((*_COLUMNS, "sample_weight", "group", "label"), "COLUMN") | {"plot": "FILE", "out": "FILE"}
_KINDS: dict[object, str] = {str: "TEXT", int: "INTEGER", Path: "FILE", list[str]: "TEXT"}


def value_word(name: str, kind: object, place: str) -> str | None:
    """What help calls the value of an option, or an argument; None for switches and choices, which name themselves."""
    word = _KINDS.get(kind)
    return None if word is None else name.upper() if place == "argument" else _WORDS.get(name, word)


# of all commands
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Plot = Annotated[str | None, typer.Option(help="Draw into this .html or .png file.")]
StoreFolder = Annotated[Path | None, folder("Folder of results (default: $LOPSIDED_STORE or ./lopsided-results).")]
DataFolder = Annotated[Path | None, folder("Folder of data sets (default: $LOPSIDED_DATA or ./lopsided-data).")]

# of commands on a person's own data: where the parts are, and how the network is trained
Data = Annotated[
    Path,
    typer.Argument(help="A table (npz, npy, parquet, csv, feather, jsonl, xlsx), a folder of pictures or of parquet."),
]
Labels = Annotated[str | None, typer.Option(help="Column or array of labels, or a file with one per line.")]
Name = Annotated[str | None, typer.Option(help="Name of the data in reports (default: the file's name).")]
ManyClasses = Annotated[
    bool, typer.Option("--many-classes", help="The labels are classes, although they are many different numbers.")
]
Groups = Annotated[
    str | None, typer.Option(help="Columns of groups, comma-separated; their intersections are checked too.")
]
FeaturesOption = Annotated[str | None, typer.Option(help="Array or columns (comma-separated) of features.")]
SplitOption = Annotated[
    str | None, typer.Option(help="Column that says train or test; plan and trial ignore test rows.")
]
SplitBy = Annotated[
    str | None, typer.Option(help="Column such as a customer: rows with the same value stay in one fold.")
]
Time = Annotated[str | None, typer.Option(help="Column of dates or numbers: train on the past, test on what follows.")]
SampleWeight = Annotated[str | None, typer.Option(help="Column of sample weights, for training and metrics.")]
WeightDecay = Annotated[float | None, number("Weight decay of the network.")]
LearnerOption = Annotated[
    str, typer.Option(help="logistic, boosting, network, deep (PyTorch), or a classifier as package.module:Class.")
]
Arms = Annotated[
    str | None,
    typer.Option(help="Remedies, comma-separated: smote, class weights, default, or package.module:Class."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        help="Metric to improve: balanced, worst-class, worst-group, overall, f1, precision, recall, "
        "average-precision, roc-auc (also of one class, as in f1:fraud), precision@recall=0.8, recall@precision=0.5, "
        "mcc, cost, brier, log-loss, or the name of a scikit-learn scorer."
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(help="Cost of each mistake as true:predicted=cost, such as fraud:ok=100,ok:fraud=1; or JSON."),
]
GroupOption = Annotated[
    str | None, typer.Option(help="Groups for the worst-group metric, such as 'sex' or 'sex × race'.")
]
LearningRate = Annotated[
    float | None,
    number("Learning rate; with --batch-size and --weight-decay, it sets the oversampling rates (merging law)."),
]
BatchSize = Annotated[int | None, typer.Option(help="Batch size of the network (merging law).", min=1)]
Momentum = Annotated[float | None, number("Momentum of the network (merging law; default 0).")]
Export = Annotated[
    Path | None,
    folder("Write plan.json and the arrays of each remedy (indices, weights, offsets) into this folder."),
]
ClusterAddress = Annotated[str | None, typer.Option("--cluster", help="Address of a Dask scheduler, tcp:// or tls://.")]
TlsCa = Annotated[str | None, typer.Option(help="CA certificate for a tls:// scheduler.")]
TlsCert = Annotated[str | None, typer.Option(help="Client certificate for a tls:// scheduler.")]
TlsKey = Annotated[str | None, typer.Option(help="Client key for a tls:// scheduler.")]
OUTPUTS = ("out", "report", "plot", "export", "publish", "details", "measured")  # options that name what is written


_LONGEST_NAME = 255


def check_outputs(given: Mapping[str, Any]) -> None:
    """Refuse a command line whose outputs would replace one of its inputs, or each other."""
    writes = {f"--{name}": Path(given[name]) for name in OUTPUTS if given.get(name) is not None}
    if not writes:
        return
    if (export := writes.pop("--export", None)) is not None:
        from lopsided.remedies.every import EVERY

        for name in ("plan.json", *(array_file(remedy.kind) for remedy in EVERY)):
            writes[f"{name} of --export"] = export / name
    reads = [value for name, value in given.items() if name not in OUTPUTS and isinstance(value, (str, Path))]
    check_apart(writes, reads)


def default_file(data: Path, ending: str) -> Path:
    """A file in this folder called like the data, within the 255 bytes that a name may have."""
    stem = data.resolve().stem
    while len(os.fsencode(stem + ending)) > _LONGEST_NAME:
        stem = stem[:-1]
    return Path(stem + ending)


def array_file(kind: str) -> str:
    """The file of an export that holds the arrays of a remedy."""
    return f"{kind.replace(' ', '-')}.npz"


def names(text: str | None) -> list[str] | None:
    """`a,b` as a list; an empty list is refused."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise InputError("names separated by commas", repr(text), "leave the option out, or name some")
    return found


def one_or_several(text: str | None) -> str | list[str] | None:
    """One name as it is, several as a list."""
    found = names(text)
    return found[0] if found is not None and len(found) == 1 else found


_SEVERAL = {"classes": names, "checks": names, "arms": names} | dict.fromkeys(
    ("groups", "features", "probabilities", "logits"), one_or_several
)


def options_for(function: Callable[..., Any], given: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Of the options `given` to a command (its `locals()` at its start), those that `function` has a parameter of the
    same name for, with commas read where it takes several; `more` come on top."""
    from lopsided.core.parameters import taken_by

    taken = taken_by(function, given)
    for name in _SEVERAL.keys() & taken.keys():
        taken[name] = _SEVERAL[name](taken[name]) if isinstance(taken[name], str) else taken[name]
    return taken | more


def cluster(address: str | None, ca: str | None, cert: str | None, key: str | None) -> "Cluster | None":
    """The cluster that the four options name, or None."""
    from lopsided.engine.cluster import Cluster

    if address is None:
        if ca or cert or key:
            raise InputError("--cluster with the TLS options", "none", "name the scheduler")
        return None
    return Cluster(address, ca, cert, key)


def network_recipe(
    weight_decay: float | None, learning_rate: float | None, batch_size: int | None, momentum: float | None
) -> dict[str, Any] | None:
    """The recipe of the merging law; None where neither learning rate nor batch size is given."""
    if learning_rate is None and batch_size is None and momentum is None:
        return None
    given = {"--weight-decay": weight_decay, "--learning-rate": learning_rate, "--batch-size": batch_size}
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise InputError(f"{', '.join(given)} together for the merging law", f"no {missing[0]}", "give all three")
    return {"weight_decay": weight_decay, "step": learning_rate, "batch_size": batch_size, "momentum": momentum or 0.0}
