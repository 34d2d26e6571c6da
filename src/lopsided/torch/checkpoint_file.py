"""Weights out of a checkpoint file without running anything in it: safetensors, or `torch.load(weights_only=True)`.

Whole training checkpoints (`state_dict`, `model`, ... inside) are looked into, and the prefixes of DataParallel,
DistributedDataParallel and torch.compile are taken off the names.
"""

import os
import pickletools
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.files import check_regular

_INSIDE = ("state_dict", "model_state_dict", "model", "module", "net", "weights")
_PREFIXES = ("module.", "_orig_mod.")
MOST_OPCODES = 16_000_000  # bytes looked through to tell a foreign object from a damaged file
MOST_DENSE = 100_000_000  # entries of a sparse weight that is written out


def read_weights(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Names and floating-point tensors of a checkpoint, in its order."""
    source = check_regular(path, "a checkpoint file")
    content = _safetensors(source) if source.suffix == ".safetensors" else _torch(source)
    for name in _INSIDE:
        if isinstance(content, Mapping) and isinstance(content.get(name), Mapping):
            content = content[name]
            break
    weights = (
        {_bare(str(name)): _dense(str(name), value) for name, value in content.items() if _is_weight(value)}
        if isinstance(content, Mapping)
        else {}
    )
    if not weights:
        raise InputError("named weights in the checkpoint", f"none in {source}", "save model.state_dict()")
    return weights


def _safetensors(source: Path) -> Any:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise MissingPackage("safetensors", "reading .safetensors files", "torch") from None
    try:
        return load_file(source)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            "a safetensors file", f"{source}, which is damaged: {_first(error)}", "save it again"
        ) from None


def _torch(source: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the pickle protocol and the like: nothing that a reader could change
            return torch.load(source, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError("a readable checkpoint", f"{source}: {_first(error)}", "check the file") from None
    except Exception:  # damaged bytes lead the unpickler into errors of any kind; none of them runs code
        if not _is_whole_pickle(source):
            raise InputError("a PyTorch checkpoint", f"{source}, which is damaged or none", "save it again") from None
        raise InputError(
            "a checkpoint of weights alone",
            f"{source}, which holds other Python objects (they are never loaded)",
            "save model.state_dict() or safetensors",
        ) from None


def _is_whole_pickle(source: Path) -> bool:
    """Whether the file is a pickle to its end, or an archive with one inside. The opcodes are read, not executed."""
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                name = next(entry for entry in archive.namelist() if entry.endswith("data.pkl"))
                with archive.open(name) as inner:
                    content = inner.read(MOST_OPCODES)
        else:
            with source.open("rb") as plain:
                content = plain.read(MOST_OPCODES)
        for _ in pickletools.genops(content):
            pass
    except Exception:
        return False
    return True


def _is_weight(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _dense(name: str, value: torch.Tensor) -> torch.Tensor:
    if value.is_meta:
        raise InputError("weights with values", f"{name!r} on the meta device, which has none", "save the real model")
    if value.layout == torch.strided:
        return value
    if value.numel() > MOST_DENSE:
        raise InputError(f"sparse weights of at most {MOST_DENSE:,} entries", f"{name!r}", "save it as a dense tensor")
    return value.to_dense()


def _bare(name: str) -> str:
    for prefix in _PREFIXES * 2:
        name = name.removeprefix(prefix)
    return name


def _first(error: Exception) -> str:
    words = str(error).splitlines()
    return (words[0] if words else type(error).__name__)[:120]
