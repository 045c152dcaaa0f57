"""The seed of this process for hash tables whose keys come from outside."""

import os


def random_seed() -> tuple[int, int]:
    """Two random 64-bit numbers, the same for the life of the process: tables that share entries need the same seed."""
    return _SEED


_SEED = (int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little"))
