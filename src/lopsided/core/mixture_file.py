"""A mixture specification in TOML.

[[group]]
fraction = 0.8
mean = 0            # a number means that number in every coordinate
covariance = 1      # a number, a list (the diagonal) or a matrix

[teacher]
weights = [[1, 0], [0, 1]]        # d rows, K columns; or: neurons, seed, scale, and dimension where no vector shows it
activation = "sigmoid"            # or tanh, erf
"""

import os
import re
import tomllib
from typing import Any

import numpy as np

from lopsided.core.activation import check_activation
from lopsided.core.errors import InputError
from lopsided.core.files import check_regular
from lopsided.core.mixture_spec import MixtureProblem, mixture_of, problem_of
from lopsided.core.plain_records import to_plain
from lopsided.core.seeds import generator

MOST_DIMENSIONS = 2000
# A key of a hundred parts. TOML's reader takes the square of their number: hours for a file of a few megabytes.
_ENDLESS_KEY = re.compile(r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def mixture_file(path: str | os.PathLike[str]) -> MixtureProblem:
    """Read and check a specification; errors name the field."""
    source = check_regular(path, "a mixture specification in TOML")
    try:
        text = source.read_bytes().decode("utf-8")
        if _ENDLESS_KEY.search(text):
            raise RecursionError
        raw = tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError("a text file in TOML", f"binary content in {source}", "save it as UTF-8 text") from None
    except OSError as error:
        raise InputError("a readable specification", f"{source}: {error.strerror}") from None
    except RecursionError:  # a hundred thousand brackets, or parts of a key
        raise InputError("a mixture specification in TOML", f"{source}: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError("a mixture specification in TOML", f"{source}: {error}") from None
    return mixture_problem(raw)


def mixture_problem(raw: dict[str, Any]) -> MixtureProblem:
    """Check the fields of a specification given as a dictionary and build the problem."""
    try:
        checked = _validated(raw)
    except RecursionError:  # a hundred thousand dots in a key
        raise InputError("a mixture specification", "one that is nested too deeply") from None
    groups, teacher = checked.group, checked.teacher
    activation = check_activation(teacher.activation)
    dimension = teacher.dimension if teacher.weights is None else len(teacher.weights)
    try:
        mixture = mixture_of(
            [group.fraction for group in groups],
            [group.mean for group in groups],
            [group.covariance for group in groups],
            dimension,
        )
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("numbers in rows of equal length in group", "ragged lists") from None
    if teacher.weights is not None:
        if len({len(row) for row in teacher.weights}) != 1:
            raise InputError("rows of equal length in teacher.weights", "ragged rows") from None
        return problem_of(mixture, teacher.weights, activation)
    if teacher.neurons > mixture.dimension:
        expected = f"at most {mixture.dimension} for teacher.neurons (the dimension)"
        raise InputError(expected, teacher.neurons)
    drawn = generator(teacher.seed, "teacher").standard_normal((mixture.dimension, teacher.neurons))
    return problem_of(mixture, teacher.scale * drawn, activation)


def _validated(raw: dict[str, Any]) -> Any:
    """The specification checked field by field with pydantic; loaded here so that importing this module stays light."""
    from typing import Annotated

    from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

    # Strict: true is not the number 1, and "0.5" is not 0.5.
    number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
    whole = Annotated[int, Field(strict=True)]
    numbers = number | list[number] | list[list[number]]

    class Group(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=False)
        fraction: number = Field(gt=0, le=1)
        mean: number | list[number]
        covariance: numbers
        name: str | None = None

    class Teacher(BaseModel):
        model_config = ConfigDict(extra="forbid")
        weights: list[list[number]] | None = Field(default=None, min_length=1)
        neurons: whole | None = Field(default=None, ge=1, le=32)
        seed: whole = Field(default=0, ge=0)
        scale: number = Field(default=1.0, gt=0)
        dimension: whole | None = Field(default=None, ge=1, le=MOST_DIMENSIONS)
        activation: str = "sigmoid"

        @model_validator(mode="after")
        def _one_source(self) -> "Teacher":
            drawn = self.model_fields_set & {"neurons", "seed", "scale"}
            if self.weights is not None and drawn:
                raise ValueError(f"weights are given, so {', '.join(sorted(drawn))} cannot be")
            if self.weights is None and self.neurons is None:
                raise ValueError("give weights, or neurons to draw some")
            return self

    class Specification(BaseModel):
        model_config = ConfigDict(extra="forbid")
        group: list[Group] = Field(min_length=1)
        teacher: Teacher

    try:
        # arrays as lists: pydantic would cast their complex numbers to real ones
        return Specification.model_validate(to_plain(raw))
    except ValidationError as error:
        # For a union (number, list or matrix) pydantic reports every branch; the longest path is the branch that
        # fitted best.
        first = max(error.errors(), key=lambda entry: len(entry["loc"]))
        field = ".".join(
            str(part)
            for part in first["loc"]
            if not str(part).startswith(("list[", "constrained", "finite", "float", "int"))
        )
        got = first.get("input")
        shown = "nothing" if first["type"] == "missing" else np.array2string(np.asarray(got, dtype=object), threshold=4)
        raise InputError(
            f"a valid {field or 'specification'} ({first['msg'].lower()})",
            shown if len(shown) <= 80 else shown[:77] + "...",
            f"change {field}" if field else "see the example in the documentation",
        ) from None
