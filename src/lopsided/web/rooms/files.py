"""Uploaded files and built-in sets as tables: what a job finds in one, and how rooms open them within the limits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from lopsided.core.errors import InputError
from lopsided.data.examples import TAIL, long_tailed_digits
from lopsided.data.tables import ColumnChoice, Table, open_table
from lopsided.web.answers import CodeRecipe, command, own_recipe, python_command
from lopsided.web.jobs.job import JobStatus
from lopsided.web.jobs.runner import jobs_of
from lopsided.web.jobs.worker import Report
from lopsided.web.problems import responses
from lopsided.web.uploads import UploadId

MOST_SHOWN = 200  # columns named to the page
MOST_BARS = 12  # values of a column drawn by the page
# Training examples of each digit in the built-in sets, which the server knows without loading them.
SIZES = {"long-tailed digits": TAIL.tolist(), "digits": [134, 137, 134, 145, 132, 137, 136, 132, 130, 130]}
Found = TypeVar("Found")
ShortText = Annotated[str, Field(min_length=1, max_length=200)]
router = APIRouter(prefix="/api/uploads", tags=["uploads"], responses=responses(404, 429))


@router.post("/{upload_id}/inspect")
def start_inspection(request: Request, upload_id: UploadId) -> JobStatus:
    """Read the columns and rows of an upload, and whether examples are pictures: a job."""
    upload = _parameters(request, upload_id)
    return jobs_of(request).submit("inspect", f"Read {upload['name']}", upload)


class DataProblem(BaseModel):
    """Work on an upload or on a built-in set, the digits where neither is named."""

    columns: ClassVar[tuple[str, ...]] = ("labels",)  # the fields that name columns or arrays
    model_config = ConfigDict(extra="forbid")
    upload: UploadId | None = None
    builtin: str | None = None
    labels: ShortText | None = None

    def names(self) -> dict[str, Any]:
        """The columns, without those that were not given."""
        given = self.model_dump(include=set(self.columns))
        return {name: value for name, value in given.items() if value not in (None, [])}

    def submit(self, request: Request, kind: str, **more: Any) -> JobStatus:
        """Queue the job; the columns of a built-in set are known, so none may have been named for it."""
        names = self.names()
        if self.upload is not None and self.builtin is not None:
            raise InputError("an upload or a built-in set", "both", "leave one of them out")
        if self.upload is None and names:
            got = ", ".join(sorted(names))
            raise InputError("names of columns only with an upload", got, "leave them out, or upload")
        title, parameters = self.builtin or "digits", {"asked": self.model_dump(), **more}
        if self.upload is not None:
            parameters["upload"] = _parameters(request, self.upload)
            title = parameters["upload"]["name"]
        return jobs_of(request).submit(kind, f"{kind.title()} {title}", parameters)


class TableProblem(DataProblem):
    """The data of a function that is also a command: `lopsided.audit`, `lopsided.trial`."""

    columns: ClassVar[tuple[str, ...]] = ("labels", "groups", "split")
    builtin: Literal["long-tailed digits", "digits"] | None = None
    groups: list[ShortText] = Field(default_factory=list, max_length=4)
    split: ShortText | None = None
    seed: int = Field(0, ge=0, le=2**31)

    def found_by(
        self, function: Callable[..., Found], parameters: dict[str, Any], running: Mapping[str, Any]
    ) -> tuple[Found, str, CodeRecipe]:
        """What the function finds, the name of the data, and the code that finds the same; `running` are arguments that
        change how it runs and not what it finds."""
        names, settings = self.names(), self.model_dump(exclude={"upload", "builtin", *self.columns})
        if "upload" in parameters:
            upload = parameters["upload"]
            check_upload(upload, names)
            with shown_name(upload):
                found = function(upload["path"], **names, **settings, **running)
            return found, upload["name"], own_recipe(function.__name__, upload["name"], names | settings, ".to_dict()")
        name = self.builtin or "digits"
        found = function(builtin(name), **settings, **running)
        return found, name, _builtin_recipe(function.__name__, name, settings)


def builtin(name: str) -> dict[str, Any]:
    """The arrays of a built-in set; the rows that the long tail of `lopsided.load_example` leaves out are for tests."""
    if name == "digits":
        from lopsided.data.images import load_images

        images = load_images(name)
        return {"features": images.rows(), "labels": images.labels}
    features, labels, held_out = long_tailed_digits(0)
    return {"features": features, "labels": labels, "split": np.where(held_out, "test", "train")}


def _builtin_recipe(function: str, name: str, settings: Mapping[str, Any]) -> CodeRecipe:
    load, data = "from lopsided.web.rooms.files import builtin\n\n", f"builtin({name!r})"
    given = "".join(f", {option}={value!r}" for option, value in settings.items() if value is not None)
    save = python_command(f"import numpy\n{load}numpy.savez('digits.npz', **{data})")
    line = command([function, "digits.npz"], {**settings, "json": True})
    python = f"import lopsided\n{load}print(lopsided.{function}({data}{given}).to_dict())"
    return CodeRecipe(python=python, command=f"{save}\n{line}")


def _parameters(request: Request, upload_id: str) -> dict[str, Any]:
    """What a job needs to open an upload."""
    kept = request.app.state.uploads.find(upload_id)
    return {
        "path": kept.path,
        "name": kept.facts.name,
        "most_rows": request.app.state.settings.limits.upload_rows,
    }


@contextmanager
def shown_name(parameters: dict[str, Any]) -> Iterator[None]:
    """Errors use the client's name of the file, not the name under which it is kept here."""
    try:
        yield
    except InputError as error:
        raise InputError(*(_shown(text, parameters) for text in (error.expected, error.got, error.remedy))) from None


def check_names(parameters: dict[str, Any], table: Table, names: Sequence[str | None]) -> None:
    """Every name is one of the file's own columns or arrays: elsewhere a word may also name another file."""
    known = {*table.columns, *(table.feature_names or ()), *_arrays(parameters)}
    for name in names:
        if name is not None and name not in known:
            have = ", ".join(sorted(known)[:20]) or "none"
            raise InputError(f"a column of {parameters['name']}", repr(name), f"name one of: {have}")


def check_upload(parameters: dict[str, Any], parts: Mapping[str, Any]) -> None:
    """The file opens within the limits, and every name among the parts is one of its own."""
    words = [word for value in parts.values() for word in (value if isinstance(value, list) else [value])]
    names = [word for word in words if isinstance(word, str)]
    check_names(parameters, open_upload(parameters, beside=tuple(names)), names)


def _arrays(parameters: dict[str, Any]) -> list[str]:
    if not parameters["path"].endswith(".npz"):
        return []
    with np.load(parameters["path"], allow_pickle=False) as archive:
        return list(archive.files)


def open_upload(parameters: dict[str, Any], *, beside: tuple[str, ...] = (), whole: bool = False) -> Table:
    """The table of an upload, with no more rows than allowed; `whole` with words and dates among the features."""
    with shown_name(parameters):
        table = open_table(parameters["path"], ColumnChoice(beside=beside, whole=whole))
    if table.rows > parameters["most_rows"]:
        raise InputError(f"at most {parameters['most_rows']:,} rows here", f"{table.rows:,}", "use the command line")
    return table


def _shown(text: str, parameters: dict[str, Any]) -> str:
    return text.replace(parameters["path"], parameters["name"]).replace(
        Path(parameters["path"]).name, parameters["name"]
    )


def largest(values: Any, counts: Any) -> list[tuple[str, int]]:
    """The most frequent values with their counts, as the page draws them."""
    order = np.argsort(-np.asarray(counts), kind="stable")[:MOST_BARS]
    return [(str(values[place])[:40], int(counts[place])) for place in order]


def inspect(parameters: dict[str, Any], report: Report) -> dict[str, Any]:
    """The job: rows, features, and the columns beside them with how many different values each has."""
    report(words="reading")
    table = open_upload(parameters)
    columns = []
    for name, column in list(table.columns.items())[:MOST_SHOWN]:
        values, counts = np.unique(column.astype(str), return_counts=True)
        first = [str(value)[:40] for value in values[:5]]
        columns.append({"name": name, "values": int(values.size), "first": first, "largest": largest(values, counts)})
    try:
        labels = table.labels()
        label = next((name for name, column in table.columns.items() if column is labels), None)
    except InputError:
        label = None
    return {
        "name": parameters["name"],
        "rows": table.rows,
        "features": table.width,
        "feature_names": list(table.feature_names or ())[:MOST_SHOWN],
        "columns": columns,
        "arrays": _arrays(parameters),
        "label": label,
        "pictures": list(table.image_shape) if table.image_shape else None,
    }
