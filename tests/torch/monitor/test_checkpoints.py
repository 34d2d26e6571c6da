"""Two checkpoint files compared, against whole matrices; damaged and foreign files end in a sentence."""

import codecs
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from safetensors.torch import save_file

import lopsided
import torch
from lopsided.cli.main import main
from lopsided.core.errors import InputError
from lopsided.torch import compare_checkpoints
from torch import nn


@pytest.fixture
def pair(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(8, 6), nn.Linear(6, 5))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    after = {name: value + 0.1 * torch.randn_like(value) for name, value in before.items()}
    after["3.weight"][4] = 2 * after["3.weight"][1]  # two classifiers point the same way
    return before, after, tmp_path


def stored(weights, path):
    if path.suffix == ".safetensors":
        save_file(weights, path)
    else:
        torch.save(weights, path)
    return path


@pytest.mark.parametrize("ending", [".safetensors", ".pt"])
def test_against_whole_matrices(pair, ending) -> None:
    before, after, folder = pair
    found = compare_checkpoints(stored(before, folder / f"a{ending}"), stored(after, folder / f"b{ending}"))
    assert {layer.name for layer in found.layers} == set(before)
    for layer in found.layers:
        start, end = before[layer.name].double(), after[layer.name].double()
        assert layer.relative_distance == pytest.approx(((end - start).norm() / start.norm()).item(), rel=1e-12)
        if start.ndim > 1:
            values = torch.linalg.svdvals((end - start).reshape(len(start), -1)).numpy()
            np.testing.assert_allclose(layer.change.values, values, rtol=1e-10, atol=1e-12)
            assert layer.change.stable_rank == pytest.approx((values**2).sum() / values[0] ** 2)
        else:
            assert layer.change is None
    head = found.classifier
    assert (head.name, head.classes, head.closest_after) == ("3.weight", 5, (1, 4))
    assert head.largest_after == pytest.approx(1)
    rows = before["3.weight"].double().numpy()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert head.cosine_before == pytest.approx((rows @ rows.T)[np.triu_indices(5, 1)].mean())
    assert compare_checkpoints(folder / f"a{ending}", folder / f"b{ending}", head="2").classifier.name == "2.weight"


def test_training_checkpoints_and_wrapped_names(pair) -> None:
    before, after, folder = pair
    stored({"epoch": 3, "state_dict": {f"module._orig_mod.{n}": v for n, v in before.items()}}, folder / "a.ckpt")
    stored(after, folder / "b.pt")
    assert len(compare_checkpoints(folder / "a.ckpt", folder / "b.pt").layers) == 6


def test_the_same_file_and_a_zero_start(pair) -> None:
    before, _, folder = pair
    before["2.bias"] = torch.zeros(6)
    path = stored(before, folder / "a.pt")
    found = compare_checkpoints(path, path)
    for layer in found.layers:
        assert layer.relative_distance == (None if layer.name == "2.bias" else 0.0)


def test_mistakes_end_in_a_sentence(pair) -> None:
    before, after, folder = pair
    good = stored(before, folder / "good.pt")
    (folder / "junk.pt").write_bytes(b"junk")
    (folder / "junk.safetensors").write_bytes(b"junk")
    (folder / "cut.pt").write_bytes(good.read_bytes()[:400])
    (folder / "empty.pt").write_bytes(b"")
    (folder / "plain.pt").write_bytes(pickle.dumps([1, 2]))
    torch.save(nn.Linear(2, 2), folder / "whole.pt")
    torch.save({"lr": 0.1}, folder / "bare.pt")
    stored({name: value for name, value in after.items() if name != "2.weight"}, folder / "fewer.pt")
    stored({**after, "2.weight": torch.zeros(3, 3)}, folder / "other.pt")
    stored({**after, "2.weight": after["2.weight"] * torch.nan}, folder / "nan.pt")
    for name, words in {
        "nothing.pt": "which does not exist",
        ".": "a directory",
        "junk.pt": "damaged",
        "junk.safetensors": "damaged",
        "cut.pt": "damaged",
        "empty.pt": "damaged",
        "plain.pt": "never loaded",
        "whole.pt": "never loaded",
        "bare.pt": "named weights",
        "fewer.pt": "'2.weight' in one of them only",
        "other.pt": "shape",
        "nan.pt": "NaN",
    }.items():
        with pytest.raises(InputError, match=words):
            compare_checkpoints(good, folder / name)
    partly = compare_checkpoints(good, folder / "fewer.pt", strict=False)
    assert partly.only_before == ("2.weight",)
    with pytest.raises(InputError, match="choose among"):
        compare_checkpoints(good, good, head="nowhere")


def test_the_command(pair, capsys) -> None:
    before, after, folder = pair
    files = [str(stored(before, folder / "a.safetensors")), str(stored(after, folder / "b.pt"))]
    assert main(["compare", *files, "--json", "--plot", str(folder / "pair.html")]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"before", "after", "layers", "classifier", "seconds"} <= set(facts)
    assert "Singular values of the change" in (folder / "pair.html").read_text()
    assert main(["compare", *files]) == 0
    assert "Classifier 3.weight" in capsys.readouterr().out
    assert main(["compare", files[0], str(folder / "none.pt")]) == 2
    assert "which does not exist" in capsys.readouterr().err
    assert lopsided.compare is compare_checkpoints


class Foreign:
    """Something that a checkpoint of weights does not hold; loading it would run a command."""

    def __reduce__(self):
        return os.system, ("echo executed",)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("foreign in an archive", "other Python objects"),
        ("foreign pickle", "other Python objects"),
        ("junk", "damaged or not a checkpoint"),
        ("text", "damaged or not a checkpoint"),
        ("empty", "damaged or not a checkpoint"),
        ("cut short", "damaged or not a checkpoint"),
    ],
)
def test_foreign_objects_and_damaged_files_are_told_apart(tmp_path, capfd, kind, words) -> None:
    path = tmp_path / "x.pt"
    if kind == "foreign in an archive":
        torch.save({"a": Foreign()}, path)
    elif kind == "foreign pickle":
        path.write_bytes(pickle.dumps(Foreign()))
    elif kind == "cut short":
        torch.save({"w": torch.ones(3, 3)}, path)
        path.write_bytes(path.read_bytes()[:400])
    else:
        random = np.random.default_rng(0).bytes(500)
        path.write_bytes({"junk": random, "text": b"hello, this is text\n" * 20, "empty": b""}[kind])
    with pytest.raises(InputError, match=words):
        compare_checkpoints(path, path)
    assert "executed" not in capfd.readouterr().out


def test_sparse_and_meta_weights(tmp_path) -> None:
    torch.manual_seed(0)
    dense = [torch.randn(4, 6), torch.randn(4, 6)]
    for name, weight in zip("ab", dense, strict=True):
        torch.save({"w": weight.to_sparse()}, tmp_path / f"sparse_{name}.pt")
        torch.save({"w": weight}, tmp_path / f"dense_{name}.pt")
    torch.save({"w": torch.empty(4, 6, device="meta")}, tmp_path / "meta.pt")
    pairs = [compare_checkpoints(tmp_path / f"{kind}_a.pt", tmp_path / f"{kind}_b.pt") for kind in ("sparse", "dense")]
    assert pairs[0].layers[0].relative_distance == pairs[1].layers[0].relative_distance
    with pytest.raises(InputError, match="meta device"):
        compare_checkpoints(tmp_path / "meta.pt", tmp_path / "meta.pt")


def _archive_of(program: bytes, path, packing=zipfile.ZIP_STORED):
    """A checkpoint with this pickle."""
    torch.save({"w": torch.ones(2, 2)}, path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in contents.items():
            archive.writestr(name, program if name.endswith("data.pkl") and program else content)


class Bytes:
    def __reduce__(self):
        return bytearray, (10**12,)


class Text:
    def __reduce__(self):
        return codecs.encode, (LONG, "latin1")


LONG = "x" * 30_000


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        # each would take 40 GB or more; that they end at all shows that nothing was taken
        ("expanded", "at most 100,000,000 entries of sparse or expanded weights, but got 'fc.weight'"),
        ("overlapping", "at most 100,000,000 entries"),
        ("many", "at most 100,000,000 entries"),
        ("sparse", "at most 100,000,000 entries"),
        ("bytes", "other Python objects"),
        ("copies", "other Python objects"),
    ],
)
def test_a_small_file_claims_no_large_memory(tmp_path, kind, words, old) -> None:
    path = tmp_path / "x.pt"
    one, none = torch.ones(1), torch.zeros(2, 0, dtype=torch.long)
    if kind in ("bytes", "copies"):
        content = [Bytes()] if kind == "bytes" else [Text() for _ in range(40_000)]
        program = pickle.dumps(content, protocol=2)
        path.write_bytes(program) if old else _archive_of(program, path)
    else:
        weights = {
            "expanded": {"fc.weight": one.expand(100_000, 100_000)},
            "overlapping": {"fc.weight": torch.ones(200_000).as_strided((100_000, 100_000), (1, 1))},
            "many": {f"w{place}": one.expand(5000, 5000) for place in range(400)},
            "sparse": {f"w{i}": torch.sparse_coo_tensor(none, torch.zeros(0), (9999, 9999)) for i in range(110)},
        }
        torch.save(weights[kind], path, _use_new_zipfile_serialization=not old)
    with pytest.raises(InputError, match=words):
        compare_checkpoints(path, path)


def test_a_packed_archive_that_unpacks_to_far_more_is_refused(tmp_path) -> None:
    path = tmp_path / "x.pt"
    _archive_of(b"\x80\x02" + b"N0" * 60_000_000 + b"N.", path, zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="bytes unpack to 120,"):
        compare_checkpoints(path, path)
    _archive_of(b"", path, zipfile.ZIP_DEFLATED)  # packed by hand, and sound
    assert compare_checkpoints(path, path).layers[0].relative_distance == 0


def test_small_expanded_weights_are_compared(tmp_path) -> None:
    for name, value in (("a", 1.0), ("b", 2.0)):
        torch.save({"w": torch.full((1,), value).expand(3, 4)}, tmp_path / f"{name}.pt")
    found = compare_checkpoints(tmp_path / "a.pt", tmp_path / "b.pt")
    assert found.layers[0].relative_distance == 1.0  # |2 - 1| / |1|


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_weights_that_cannot_be_converted_are_named(tmp_path) -> None:
    torch.save({"w": torch.zeros(2, 2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)}, tmp_path / "x.pt")
    with pytest.raises(InputError, match="converted to float64"):
        compare_checkpoints(tmp_path / "x.pt", tmp_path / "x.pt")
    torch.save({"w": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])}, tmp_path / "x.pt")
    with pytest.raises(InputError, match="nested"):
        compare_checkpoints(tmp_path / "x.pt", tmp_path / "x.pt")
