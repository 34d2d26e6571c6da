"""Weights out of a checkpoint file without running anything in it: safetensors, or `torch.load(weights_only=True)`.

Whole training checkpoints (`state_dict`, `model`, ... inside) are looked into, and the prefixes of DataParallel,
DistributedDataParallel and torch.compile are taken off the names.
"""

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lopsided.core.errors import InputError, MissingPackage
from lopsided.core.files import check_regular

_INSIDE = ("state_dict", "model_state_dict", "model", "module", "net", "weights")
_PREFIXES = ("module.", "_orig_mod.")


def read_weights(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Names and floating-point tensors of a checkpoint, in its order."""
    source = check_regular(path, "a checkpoint file")
    content = _safetensors(source) if source.suffix == ".safetensors" else _torch(source)
    for name in _INSIDE:
        if isinstance(content, Mapping) and isinstance(content.get(name), Mapping):
            content = content[name]
            break
    weights = (
        {_bare(str(name)): value for name, value in content.items() if _is_weight(value)}
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
        return torch.load(source, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        foreign = "Unsupported" in str(error) or "not an allowed global" in str(error)
        if not foreign:
            raise InputError("a PyTorch checkpoint", f"{source}, which is damaged", "save it again") from None
        raise InputError(
            "a checkpoint of weights alone",
            f"{source}, which holds other Python objects (they are never loaded)",
            "save model.state_dict() or safetensors",
        ) from None
    except OSError as error:
        raise InputError("a readable checkpoint", f"{source}: {_first(error)}", "check the file") from None
    except Exception:  # damaged bytes lead the unpickler into errors of any kind; none of them runs code
        raise InputError("a PyTorch checkpoint", f"{source}, which is damaged", "save it again") from None


def _is_weight(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _bare(name: str) -> str:
    for prefix in _PREFIXES * 2:
        name = name.removeprefix(prefix)
    return name


def _first(error: Exception) -> str:
    words = str(error).splitlines()
    return (words[0] if words else type(error).__name__)[:120]
