"""Word counts to a vocabulary."""

from .further import train_further
from .options import Options
from .trainer import Training, estimate_memory, train_from_counts

__all__ = ["Options", "Training", "estimate_memory", "train_from_counts", "train_further"]
