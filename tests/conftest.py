"""The climate of every test: float64, warnings as errors, data sets found through LOPSIDED_DATA."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines are noisy, so no deadline; the examples are the same in every run.
settings.register_profile("lopsided", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("lopsided")

# A shell that starts the tests in the background lets them, and what they start, ignore Ctrl-C; some tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was collected stays until the end: the garbage collector need not walk through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the real data sets. Without it a test is skipped by name, and in CI it fails."""
    folder = os.environ.get("LOPSIDED_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    reason = "LOPSIDED_DATA does not name the folder with the data sets"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
