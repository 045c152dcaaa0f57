"""Word counts to a vocabulary."""

from .extend import extend_vocabulary
from .options import Options
from .superwords import Superwords, take_superwords
from .trainer import Training, estimate_memory, train_from_counts

__all__ = [
    "Options",
    "Superwords",
    "Training",
    "estimate_memory",
    "extend_vocabulary",
    "take_superwords",
    "train_from_counts",
]
