"""The example of the page runs, and what the page says of it is true."""

import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import lopsided.torch
from lopsided.core.errors import MissingPackage
from lopsided.torch import ImbalanceWarning

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(DOCS / "examples" / "monitor_digits.py"))


def test_the_example_runs_and_warns_from_the_first_epoch(example, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImbalanceWarning)
        monitor = example["train"](epochs=12)
    first, last = monitor.records[0], monitor.records[-1]
    assert first.warnings[0].startswith("classes 8 and 9 with 5 and 3 examples are likely to merge with another")
    recall = last.held_out.class_accuracy
    assert max(recall[8:]) < 0.2 < min(recall[:3])
    assert monitor.report(tmp_path / "page.html").stat().st_size < 2_000_000


def test_the_page_shows_the_script() -> None:
    page, script = (DOCS / "monitor.md").read_text(), (DOCS / "examples" / "monitor_digits.py").read_text()
    for line in script.splitlines():
        if line.rstrip().endswith(("before the loop", "after each epoch")):
            assert line.strip().split("  #")[0] in page
    assert "images/monitor.png" in page
    assert (DOCS / "images" / "monitor.png").exists()
    for name in lopsided.torch.__all__:
        if name in (
            "Monitor",
            "LightningMonitor",
            "TransformersMonitor",
            "compare_checkpoints",
            "RunSettings",
            "Logger",
        ):
            assert name in page, name


def test_names_resolve_and_the_room_is_light() -> None:
    for name in lopsided.torch.__all__:
        assert getattr(lopsided.torch, name) is not None
        assert name in dir(lopsided.torch)
    with pytest.raises(AttributeError, match="Monitr"):
        _ = lopsided.torch.Monitr
    code = "import lopsided.torch, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "lightning", "transformers", "mlflow", "wandb", "tensorboard"} & set(loaded)


def without_torch(code):
    """What is printed where torch cannot be imported."""
    lines = ["import sys", "sys.modules['torch'] = None", "from lopsided.core.errors import MissingPackage"]
    lines += ["try:", f"    {code}", "except MissingPackage as error:", "    print(error)"]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True).stdout


def test_without_torch_a_sentence_says_so() -> None:
    assert "package torch for lopsided.torch.Monitor" in without_torch("import lopsided.torch; lopsided.torch.Monitor")
    assert "package torch for lopsided.torch.compare" in without_torch("import lopsided; lopsided.compare")


@pytest.mark.parametrize(
    ("hidden", "name", "words"),
    [
        (("lightning.pytorch", "pytorch_lightning"), "LightningMonitor", "package lightning"),
        (("transformers",), "TransformersMonitor", "package transformers"),
        (("wandb",), "WandbLogger", "package wandb"),
        (("mlflow",), "MLflowLogger", "package mlflow"),
        (("torch.utils.tensorboard",), "TensorBoardLogger", "package tensorboard"),
    ],
)
def test_absent_packages_are_named(monkeypatch, hidden, name, words) -> None:
    for package in hidden:
        monkeypatch.setitem(sys.modules, package, None)
    for module in ("lightning_callbacks", "transformers_callbacks"):
        monkeypatch.delitem(sys.modules, f"lopsided.torch.{module}", raising=False)
    with pytest.raises(MissingPackage, match=words):
        getattr(lopsided.torch, name)(*(["folder"] if name == "TensorBoardLogger" else []))
