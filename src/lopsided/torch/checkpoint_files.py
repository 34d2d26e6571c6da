"""The weights in a checkpoint file: safetensors, or `torch.load(weights_only=True)`. Nothing in the file is executed.

In whole training checkpoints the weights are found under `state_dict`, `model`, ..., and the prefixes of DataParallel,
DistributedDataParallel and torch.compile are removed from the names. A small file cannot claim large memory.
"""

import contextlib
import io
import mmap
import os
import pickletools
import re
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
MOST_DENSE = 100_000_000  # entries of weights that are written out: sparse ones and expanded ones
MOST_TIMES = 20  # as many bytes as the file: PyTorch does not compress, and packed weights shrink little
FEW_BYTES = 100_000_000  # which no file need be refused for
_COPIES_TEXT = re.compile(rb"c_codecs\nencode\n")
_MAKES_BYTES = re.compile(rb"c(?:builtins|__builtin__)\nbytearray\n")


def read_weights(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Names and floating-point tensors of a checkpoint, in its order."""
    source = check_regular(path, "a checkpoint file")
    content = _safetensors(source) if source.suffix == ".safetensors" else _torch(source)
    named: Mapping[Any, Any] = content if isinstance(content, Mapping) else {}
    named = next((named[name] for name in _INSIDE if isinstance(named.get(name), Mapping)), named)
    found = {
        str(name): value
        for name, value in named.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0
    }
    _check_entries(found)
    weights = {
        _bare(name): value if value.layout == torch.strided else value.to_dense() for name, value in found.items()
    }
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
        got = f"{source}, which is damaged: {first_line(error)}"
        raise InputError("a safetensors file", got, "save it again") from None


def _torch(source: Path) -> Any:
    try:
        _check_promises(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the pickle protocol and the like: nothing that a reader could change
            return torch.load(source, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except OSError as error:
        raise InputError("a readable checkpoint", f"{source}: {first_line(error)}", "check the file") from None
    except Exception:  # damaged bytes lead the unpickler into errors of any kind; none of them runs code
        if not _is_whole_pickle(source):
            raise InputError(
                "a PyTorch checkpoint", f"{source}, which is damaged or not a checkpoint", "save it again"
            ) from None
        raise _foreign(source) from None


def _foreign(source: Path) -> InputError:
    return InputError(
        "a checkpoint of weights alone",
        f"{source}, which holds other Python objects (they are never loaded)",
        "save model.state_dict() or safetensors",
    )


def _check_promises(source: Path) -> None:
    """Raise an error for what would fill memory out of proportion to the file, before it does: an archive that unpacks
    to far more, and two calls that `weights_only` allows: one makes bytes by their number, one copies text."""
    size = source.stat().st_size
    with source.open("rb") as stream:
        if stream.read(4) == b"PK\x03\x04":  # as torch.load decides
            with zipfile.ZipFile(stream) as archive:
                unpacked = sum(entry.file_size for entry in archive.infolist())
                if unpacked > max(MOST_TIMES * size, FEW_BYTES):
                    got = f"{source}, whose {size:,} bytes unpack to {unpacked:,}"
                    raise InputError("a checkpoint about as large as its weights", got, "save it again")
                programs: list[Any] = [archive.read(name) for name in archive.namelist() if name.endswith(".pkl")]
            large = any(map(_fills_memory, programs))
        elif size:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                large = _fills_memory(content)
        else:
            large = False
    if large:
        raise _foreign(source)


def _fills_memory(program: bytes | mmap.mmap) -> bool:
    if _MAKES_BYTES.search(program):
        return True
    if not _COPIES_TEXT.search(program):
        return False
    longest = calls = 0
    stream = io.BytesIO(program[:MOST_OPCODES])
    with contextlib.suppress(Exception):  # the end of the pickles, of which an old checkpoint has several
        while True:
            for code, argument, _ in pickletools.genops(stream):
                longest = max(longest, len(argument) if isinstance(argument, str) else 0)
                calls += code.name == "REDUCE"
    return longest * calls > FEW_BYTES


def _is_whole_pickle(source: Path) -> bool:
    """Whether the file is a pickle to its end, or an archive with one inside. The opcodes are read, not executed."""
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                name = next(entry for entry in archive.namelist() if entry.endswith("data.pkl"))
                content = archive.open(name).read(MOST_OPCODES)
        else:
            with source.open("rb") as plain:
                content = plain.read(MOST_OPCODES)
        for _ in pickletools.genops(content):
            pass
    except Exception:
        return False
    return True


def _check_entries(weights: Mapping[str, torch.Tensor]) -> None:
    """Raise an error unless the weights have their values in the file: a tensor of one value may claim any shape."""
    written_out = 0
    for name, value in weights.items():
        if value.is_meta:
            raise InputError(
                "weights with values", f"{name!r} on the meta device, which has none", "save the real model"
            )
        if value.is_nested:
            raise InputError("weights of one shape", f"{name!r}, a nested tensor", "save its parts")
        dense = value.layout == torch.strided
        if dense and value.numel() * value.element_size() <= value.untyped_storage().nbytes():
            continue
        written_out += value.numel()
        if written_out > MOST_DENSE:
            got = f"{name!r} of shape {tuple(value.shape)}"
            raise InputError(
                f"at most {MOST_DENSE:,} entries of sparse or expanded weights", got, "save it as a dense tensor"
            )


def _bare(name: str) -> str:
    for prefix in _PREFIXES * 2:
        name = name.removeprefix(prefix)
    return name


def first_line(error: Exception) -> str:
    """What an error of another package says, in short."""
    words = str(error).splitlines()
    return (words[0] if words else type(error).__name__)[:120]
