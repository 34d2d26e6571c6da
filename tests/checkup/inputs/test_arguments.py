"""Public functions show themselves: every parameter is named, typed and documented, shared ones in the same words."""

import inspect

import pytest

import lopsided
from lopsided.checkup.inputs.arguments import PARAMETERS
from lopsided.checkup.inputs.gather import gather

FUNCTIONS = [lopsided.audit, lopsided.plan, lopsided.trial, gather]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_is_documented(function) -> None:
    documented = inspect.getdoc(function)
    assert documented is not None
    assert "{inputs}" not in documented
    for name, parameter in inspect.signature(function).parameters.items():
        assert parameter.kind is not parameter.VAR_KEYWORD
        assert parameter.annotation is not parameter.empty
        assert f"\n{name} : " in documented
        assert PARAMETERS.get(name, "") in documented
    for section in ("Parameters", "Returns"):
        assert f"\n{section}\n{'-' * len(section)}\n" in documented


def test_gather_takes_every_shared_parameter() -> None:
    asked = {"metric", "costs", "arms"}  # what is asked of the data, not what they are
    assert set(PARAMETERS) - asked <= set(inspect.signature(gather).parameters)
