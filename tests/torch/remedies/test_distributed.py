"""Two real processes (gloo): shards of the sampler, and group DRO equal to one process on the joined batch."""

import json
import subprocess
import sys

import numpy as np

import torch
from lopsided.torch import GroupDROLoss, OversamplingSampler

LABELS = np.repeat([0, 1, 2], [40, 9, 4]).tolist()

WORKER = """
import json, os, sys, warnings
import torch, torch.distributed as distributed
from lopsided.torch import GroupDROLoss, OversamplingSampler
rank, folder, labels = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
torch.set_num_threads(1)
sampler = OversamplingSampler(labels, rate="balanced", seed=2)   # made before the process group, as scripts do
distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
epochs = []
for epoch in range(2):
    sampler.set_epoch(epoch)
    epochs.append(list(sampler))
loader = torch.utils.data.DataLoader(list(range(len(labels))), batch_size=7, sampler=sampler)
sampler.set_epoch(1)
loaded = [int(index) for batch in loader for index in batch]

torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2).double())
loss = GroupDROLoss([50, 5], step=0.4, adjustment=1.0)
inputs = torch.randn(8, 3, generator=torch.Generator().manual_seed(7)).double()
targets, groups = torch.arange(8) % 2, torch.tensor([0, 0, 0, 1, 0, 0, 0, 0])  # process 1 sees no example of group 1
mine = slice(4 * rank, 4 * rank + 4)
for _ in range(3):
    model.zero_grad()
    loss(model(inputs[mine]), targets[mine], groups[mine]).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.5 * parameter.grad
found = {"epochs": epochs, "loaded": loaded, "weights": loss.weights.tolist(),
         "parameters": [parameter.flatten().tolist() for parameter in model.parameters()]}
print(json.dumps(found), flush=True)
distributed.barrier()
distributed.destroy_process_group()
os._exit(0)  # gloo's threads abort now and then where the other process ends while they are torn down
"""


def test_two_processes(tmp_path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path), json.dumps(LABELS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [run.communicate(timeout=300) for run in runs]  # seconds on a free machine
    finally:
        for run in runs:
            run.kill()  # nothing to do where it has ended
    assert [run.returncode for run in runs] == [0, 0], outputs
    first, second = (json.loads(out.splitlines()[-1]) for out, _ in outputs)

    for epoch in range(2):
        whole = OversamplingSampler(LABELS, rate="balanced", seed=2).epoch_indices(epoch).tolist()
        a, b = first["epochs"][epoch], second["epochs"][epoch]
        assert len(a) == len(b) == len(whole) / 2
        assert whole == [index for pair in zip(a, b, strict=True) for index in pair]  # disjoint, complete, in turn
    assert first["loaded"] == first["epochs"][1]

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2).double()
    loss = GroupDROLoss([50, 5], step=0.4, adjustment=1.0)
    inputs = torch.randn(8, 3, generator=torch.Generator().manual_seed(7)).double()
    for _ in range(3):
        model.zero_grad()
        loss(model(inputs), torch.arange(8) % 2, torch.tensor([0, 0, 0, 1, 0, 0, 0, 0])).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.5 * parameter.grad
    # double precision, the same sums in another order
    np.testing.assert_allclose(first["weights"], second["weights"], rtol=1e-14)
    np.testing.assert_allclose(first["weights"], loss.weights.numpy(), rtol=1e-12)
    for one, two, alone in zip(first["parameters"], second["parameters"], model.parameters(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-14)
        np.testing.assert_allclose(one, alone.detach().flatten().numpy(), rtol=1e-12)
