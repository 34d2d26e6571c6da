"""Two processes with half of the data and of the classes each: alone they say so, added up they hold the whole."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import torch
from lopsided.measure.class_overlap import class_overlap

from .reference import epochs, small_network

WORKER = """
import json, os, sys, torch
from torch import nn
import torch.distributed as dist
from lopsided.torch import Monitor
from tests.torch.monitor.reference import small_network

rank, folder = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(small_network())
inputs, labels = torch.load(folder + "/data.pt", weights_only=True)
found = []
for together in (False, True):
    monitor = Monitor(model, all_reduce=together, scatter_every=1)
    for _ in range(2):
        for rows in torch.arange(rank, len(labels), 2).split(10):
            model(inputs[rows])
            # Rank 0 has classes 0 and 2 and as many groups; rank 1 knows one group only.
            monitor.update(labels[rows], groups=labels[rows] * (1 - rank))
        record = monitor.end_epoch()
    if together:  # an epoch whose held-out examples only one process sees
        model.module(inputs[rows]), monitor.update(labels[rows])
        if rank == 0:
            model.module.eval()(inputs), monitor.update(labels)
        held_out = monitor.end_epoch().held_out.examples
        found.append(held_out)
    monitor.close()
    found.append(record.to_dict())
optimizer, loss = torch.optim.AdamW(model.train().parameters()), nn.CrossEntropyLoss()
monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=4, all_reduce=True)
for rows in torch.arange(rank, len(labels), 2).split(10):
    optimizer.zero_grad()
    loss(model(inputs[rows]), labels[rows]).backward()
    optimizer.step()
found.append([monitor.end_epoch().evidence.before_score.tolist(), monitor._first.rates["nearest_neighbour"].tolist()])
monitor.close()
monitor = Monitor(model, loss=loss, optimizer=optimizer, epochs=4, all_reduce=True)
for number, rows in enumerate(torch.arange(rank, len(labels), 2).split(10)):
    targets = labels[rows]
    if rank == 0 and number == 1:  # mixup now and then, seen by one process alone
        targets = 0.7 * nn.functional.one_hot(targets, 4) + 0.3 * nn.functional.one_hot(targets.roll(1), 4)
    loss(model(inputs[rows]), targets).backward()
    optimizer.step()
record = monitor.end_epoch()
found.append([one for one in record.notes if "were not compared" in one])
json.dump(found, open(f"{folder}/{rank}.json", "w"))
dist.destroy_process_group()
"""


@pytest.fixture
def data():
    torch.manual_seed(1)
    return torch.randn(80, 5), torch.arange(80) % 4


def test_two_gloo_processes(data, tmp_path) -> None:
    torch.save(data, tmp_path / "data.pt")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    root = Path(__file__).parents[3]
    environment = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "PYTHONPATH": f"{root / 'src'}:{root}",
        "PATH": "/usr/bin:/bin",
        "OMP_NUM_THREADS": "1",
    }
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path)], env=environment) for rank in range(2)
    ]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    torch.manual_seed(0)
    whole = epochs(small_network(), *data, 2, size=10, scatter_every=1).records[1].train
    scores = []
    for rank in range(2):
        alone, held_out, together, compared, refused = json.loads((tmp_path / f"{rank}.json").read_text())
        scores.append(compared)
        assert len(refused) == 1
        assert ("mixed labels" if rank == 0 else "another process") in refused[0]
        assert held_out == 80
        assert alone["train"]["examples"] == 40
        assert any(f"process {rank} of 2 saw only its own shard" in note for note in alone["notes"])
        assert together["train"]["examples"] == 80
        assert not together["notes"]
        for name in ("nc1", "nc3", "nc4", "feature_energy"):
            # The same sums in another order; features in float32.
            assert together["train"]["neural_collapse"][name] == pytest.approx(
                getattr(whole.neural_collapse, name), rel=1e-5
            )
        assert together["train"]["loss"] == pytest.approx(whole.loss, rel=1e-6)
        assert [group["examples"] for group in together["train"]["groups"]] == [60, 0, 20]
    # Each process compares its own examples: rank 0 has classes 0 and 2, rank 1 has 1 and 3, and both hold all of them.
    assert scores[0] == scores[1]
    inputs, labels = (part.numpy() for part in data)
    own = [class_overlap(inputs[rank::2], labels[rank::2], classes=4).nearest_neighbour for rank in range(2)]
    assert scores[0][1] == [own[k % 2][k] for k in range(4)]
