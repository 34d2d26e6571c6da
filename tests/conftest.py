"""The climate of every test: float64, warnings as errors, data sets found through LOPSIDED_DATA."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines are noisy, so no deadline; the examples are the same in every run.
settings.register_profile("lopsided", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("lopsided")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets; a test that needs it says so instead of passing without it."""
    folder = os.environ.get("LOPSIDED_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.fail("LOPSIDED_DATA does not name the folder with the data sets")
    return Path(folder)
