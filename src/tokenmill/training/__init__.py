"""Word counts to a vocabulary."""

from .options import Options
from .trainer import Training, estimate_memory, train_from_counts

__all__ = ["Options", "Training", "estimate_memory", "train_from_counts"]
