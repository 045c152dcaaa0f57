"""tokenmill makes, uses and judges byte-level BPE tokenizers."""

__version__ = "0.1.0"
