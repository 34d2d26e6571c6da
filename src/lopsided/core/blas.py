"""Limits BLAS to one thread for small matrices.

Threads that wait for each other on a busy machine cost a factor of ten there, and digits would depend on the cores.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    # Finding the libraries reads the memory map of the process, some milliseconds: once is enough.
    import numpy as np  # noqa: F401
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread(wanted: bool = True) -> AbstractContextManager[Any]:
    """`with one_blas_thread(): ...`; libraries that load later are not limited. Nothing happens unless `wanted`."""
    if not wanted:
        return nullcontext()
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
