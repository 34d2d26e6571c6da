"""A task that was stopped goes on where it was, and ends with the same numbers."""

import contextlib
import signal
from functools import partial

import numpy as np
import pytest

from lopsided.engine.unfinished import half_done, keeping_unfinished, trained_resumably
from lopsided.papers.shared.network_runs import network_numbers
from lopsided.papers.shared.network_settings import TINY

torch = pytest.importorskip("torch")

SETTINGS = {**TINY, "images": "digits", "shrink": 1, "ratio": 4, "steps": 120, "course": True}


def interrupted_after(epochs, seen):
    from lopsided.learners.deep import training

    plain = training._Run.steps

    def steps(run):
        for ended in plain(run):
            yield ended
            if ended:
                seen.append(run.epoch)
                if run.epoch == epochs:
                    signal.raise_signal(signal.SIGINT)

    return training._Run, "steps", steps


def test_an_interrupted_network_is_resumed_to_the_same_numbers(tmp_path, monkeypatch) -> None:
    want = network_numbers(SETTINGS, 3)
    folder = tmp_path / "unfinished" / "task"
    first, second = [], []
    with monkeypatch.context() as patch:
        patch.setattr(*interrupted_after(3, first))
        with pytest.raises(KeyboardInterrupt), keeping_unfinished(folder):
            network_numbers(SETTINGS, 3)
    assert {path.name for path in folder.iterdir()} == {"network.safetensors", "course.json"}
    with monkeypatch.context() as patch:
        patch.setattr(*interrupted_after(-1, second))
        with keeping_unfinished(folder):
            found = network_numbers(SETTINGS, 3)
    assert first == [1, 2, 3]
    assert second[0] == 4  # not from the beginning
    assert found == want  # bit for bit, the course included
    assert not folder.exists()
    assert half_done("x") is None


@pytest.mark.parametrize("damage", ["junk", "another run"])
def test_what_is_not_of_this_run_is_begun_anew(tmp_path, damage) -> None:
    from lopsided.learners.deep.networks import build
    from lopsided.learners.deep.recipe import TrainingRecipe
    from lopsided.learners.deep.training import train

    inputs = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    recipe = TrainingRecipe(steps=20, batch_size=8)

    def loss(seed):
        network = build("mlp", inputs.shape[1:], 2, seed=seed, widths=[5])
        run = partial(train, network, inputs, np.arange(40) % 2, recipe, seed=seed, threads=1)
        return trained_resumably(lambda checkpoint: run(checkpoint=checkpoint)).loss

    want = loss(1)
    with contextlib.suppress(RuntimeError), keeping_unfinished(tmp_path / "task"):
        if damage == "junk":
            half_done("network.safetensors").write_bytes(b"junk")
        else:
            loss(2)
        raise RuntimeError("stopped")
    with keeping_unfinished(tmp_path / "task"):
        assert half_done("network.safetensors").exists()
        assert loss(1) == want
