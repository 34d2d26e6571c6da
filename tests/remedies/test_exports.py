"""Every public name of the room resolves, and asking for a wrong one is an AttributeError."""

import subprocess
import sys

import pytest

from lopsided import remedies


@pytest.mark.parametrize("name", remedies.__all__)
def test_names_resolve(name) -> None:
    assert getattr(remedies, name).__module__.startswith("lopsided.remedies.")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Smote'"):
        _ = remedies.Smote


def test_without_torch_there_is_one_sentence() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport lopsided.torch\nlopsided.torch.OversamplingSampler"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Expected the package torch for lopsided.torch.OversamplingSampler" in run.stderr
    assert "pip install 'lopsided[torch]'" in run.stderr
