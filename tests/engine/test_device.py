"""Where networks train: said once, carried to the workers, and recorded with the result. No GPU is needed here."""

import os

import pytest

from lopsided.core.errors import InputError
from lopsided.engine.device import DEVICE_VARIABLE, chosen_device, on_device
from lopsided.engine.store import Result
from lopsided.engine.work import WorkerSetup, attempt
from lopsided.papers.register import load_claim
from lopsided.papers.reproduce import expand
from tests.engine.conftest import TOYS


def test_the_choice_lasts_as_long_as_the_block_and_reaches_workers() -> None:
    assert chosen_device() == "cpu"
    with on_device("cuda", here=False):
        assert WorkerSetup(store=None, data=None).device == "cuda"
    assert chosen_device() == "cpu"
    assert DEVICE_VARIABLE not in os.environ


def test_a_result_made_elsewhere_than_on_the_cpu_says_so() -> None:
    home = str(TOYS / "toy_sum.py")
    task = expand(load_claim(home), home, "quick")[0]
    with on_device("cuda", here=False):
        there = attempt(task)
    here = attempt(task)
    assert isinstance(there, Result)
    assert isinstance(here, Result)
    assert there.provenance["machine"]["device"] == "cuda"
    assert "device" not in here.provenance["machine"]


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="a device among cpu, cuda, but got 'tpu'"):
        on_device("tpu")
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="a GPU that PyTorch can use, but got none"):
        on_device("cuda")
