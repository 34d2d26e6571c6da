"""One seed reaches everything: each use names what it varies with, and gets its own stream.

The stream of ("data", 3) under seed 0 never changes when another use is added, and the same sample can be
given to several learners by using the same name.
"""

import hashlib

import numpy as np

from lopsided.core.errors import InputError


def check_seed(seed: object) -> int:
    """A whole number >= 0."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError("a whole number >= 0 as seed", repr(seed))
    return int(seed)


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """The random stream that belongs to `names` under `seed`."""
    digest = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
    words = np.frombuffer(digest[:16], dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence([check_seed(seed), *words.tolist()]))
