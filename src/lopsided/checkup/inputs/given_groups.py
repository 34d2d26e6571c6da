"""Groups in whatever form they were given, as columns by name."""

from collections.abc import Mapping
from typing import Any

from lopsided.checkup.inputs.parts import find_part, is_name
from lopsided.checkup.inputs.sources import Source
from lopsided.core.arrays import plain_array
from lopsided.core.errors import InputError
from lopsided.data.frames import frame_table, is_frame
from lopsided.data.tables import LABEL_NAMES


def group_columns(source: Source, given: Any, labels: Any) -> dict[str, Any]:
    """Names or a list of names, a mapping, a frame, one array or one with a column per grouping."""
    columns = _columns(source, given)
    usual = {name for name in columns if labels is None and name.lower() in LABEL_NAMES}
    for name in [labels] if isinstance(labels, str) and labels in columns else sorted(usual):
        raise InputError("groups that are not the labels", repr(name), "name another column")
    return columns


def _columns(source: Source, given: Any) -> dict[str, Any]:
    if is_name(given):
        names = [given] if isinstance(given, str) else given
        return {name: find_part(source, name, (), "groups") for name in names}
    if isinstance(given, Mapping):
        return {str(name): plain_array(values, f"the groups {name}") for name, values in given.items()}
    if is_frame(given):
        frame = frame_table(given, features=None, beside=[str(name) for name in given.columns], need_features=False)
        return {str(name): frame.column(str(name)) for name in given.columns}
    array = plain_array(given, "groups")
    if array.ndim == 2:
        return {f"group {place + 1}": array[:, place] for place in range(array.shape[1])}
    return {"group": array}
