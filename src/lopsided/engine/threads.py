"""One thread per worker for BLAS, OpenMP, Numba and PyTorch: workers do not fight, digits do not depend on cores."""

import contextlib
import os
import sys
from collections.abc import Iterator

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit libraries that are loaded already, and through the environment those that load later."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in VARIABLES}
    numba, torch = sys.modules.get("numba"), sys.modules.get("torch")
    numba_threads = numba.get_num_threads() if numba else None
    torch_threads = torch.get_num_threads() if torch else None
    # Numba refuses a changed NUMBA_NUM_THREADS once its threads run, so a loaded Numba is told directly.
    os.environ.update({name: "1" for name in VARIABLES if not (numba and name == "NUMBA_NUM_THREADS")})
    try:
        if numba:
            numba.set_num_threads(1)
        if torch:
            torch.set_num_threads(1)
        with threadpool_limits(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if numba:
            numba.set_num_threads(numba_threads)
        if torch:
            torch.set_num_threads(torch_threads)
