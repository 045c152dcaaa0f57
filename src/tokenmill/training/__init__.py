"""Word counts to a vocabulary."""

from .extend import extend_vocabulary
from .options import Options
from .trainer import Training, estimate_memory, train_from_counts

__all__ = [
    "Options",
    "Training",
    "estimate_memory",
    "extend_vocabulary",
    "train_from_counts",
]
