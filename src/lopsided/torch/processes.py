"""The processes that share a distributed run."""

from torch import distributed


def process_group() -> tuple[int, int]:
    """How many processes there are, and the rank of this one; 1 and 0 where torch.distributed is not in use."""
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size()), int(distributed.get_rank())
    return 1, 0
