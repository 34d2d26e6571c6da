"""`lopsided results` answers one question that only reads."""

import pytest

from lopsided.core.errors import InputError
from lopsided.engine.query import results


@pytest.mark.parametrize(
    "text", [";", "  -- only a comment", "select 1; select 2", "drop table tasks", "create table t (a int)"]
)
def test_anything_else_is_refused(tmp_path, text) -> None:
    with pytest.raises(InputError):
        results(text, store=tmp_path)


def test_columns_of_one_name_stay_apart(tmp_path) -> None:
    assert results("select 1 a, 2 a", store=tmp_path).records() == [{"a": 1, "a_2": 2}]
