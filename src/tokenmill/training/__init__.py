"""Word counts to a vocabulary."""

from .further import train_further
from .trainer import Training, estimate_memory, train_from_counts

__all__ = ["Training", "estimate_memory", "train_from_counts", "train_further"]
