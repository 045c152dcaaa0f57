"""Word counts to a vocabulary."""

from .trainer import Training, estimate_memory, train_from_counts

__all__ = ["Training", "estimate_memory", "train_from_counts"]
