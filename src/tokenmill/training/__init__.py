"""Word counts to a vocabulary."""

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .extend import extend_vocabulary
    from .options import Options
    from .trainer import Training, estimate_memory

__all__ = ["Options", "Training", "estimate_memory", "extend_vocabulary"]
__getattr__ = lazy_names(__name__, extend="extend_vocabulary", options="Options", trainer="Training estimate_memory")
