"""Word counts to a vocabulary."""

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .options import Options
    from .trainer import Training, estimate_memory, extend_vocabulary

__all__ = ["Options", "Training", "estimate_memory", "extend_vocabulary"]
__getattr__ = lazy_names(__name__, options="Options", trainer="Training estimate_memory extend_vocabulary")
