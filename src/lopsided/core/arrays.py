"""Converts lists, series, PyTorch tensors and masked arrays without a mask to plain NumPy arrays.

PyTorch is never imported: a tensor is recognised by its methods (`detach`, `cpu`, `numpy`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.core.errors import InputError


def plain_array(value: Any, name: str) -> NDArray[Any]:
    """The array; anything else raises an InputError about `name`."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            got = f"{int(np.ma.getmaskarray(value).sum())} masked entries"
            raise InputError(f"a value for every entry of {name}", got, "fill or drop them first")
        value = value.data
    if hasattr(value, "toarray"):  # SciPy's sparse matrices
        raise InputError(f"a dense array for {name}", f"a sparse {type(value).__name__}", "call .toarray() first")
    kind = type(value).__name__
    try:
        if hasattr(value, "detach") and hasattr(value, "cpu"):
            tensor = value.detach().cpu()
            # types that NumPy lacks, such as bfloat16, as floats
            value = (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
        array = np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # also a tensor without data, or whatever an object's own __array__ raises
        if isinstance(error, (TypeError, ValueError)) and not hasattr(value, "detach"):
            raise InputError(f"an array for {name}", f"a ragged {kind}") from None
        got = f"a {kind}: {str(error).rstrip('.!')}"
        raise InputError(f"a dense array of numbers for {name}", got, "convert it first") from None
    if array.ndim == 0:
        raise InputError(f"an array for {name}", f"a single {type(value).__name__}", "give one entry per example")
    return array
