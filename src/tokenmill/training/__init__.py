"""Word counts to a vocabulary."""

from .extend import extend_vocabulary
from .options import Options
from .superwords import Superwords, superwords_of
from .trainer import Training, estimate_memory, train_from_counts

__all__ = [
    "Options",
    "Superwords",
    "Training",
    "estimate_memory",
    "extend_vocabulary",
    "superwords_of",
    "train_from_counts",
]
