"""Every public name of the room resolves, and asking for a wrong one is an AttributeError."""

import pytest

from lopsided import remedies


@pytest.mark.parametrize("name", remedies.__all__)
def test_names_resolve(name) -> None:
    assert getattr(remedies, name).__module__.startswith("lopsided.remedies.")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Smote'"):
        _ = remedies.Smote
