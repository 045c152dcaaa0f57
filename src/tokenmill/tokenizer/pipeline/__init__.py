"""Tokenizers in plain Python, step by step as Hugging Face tokenizers runs them: see `vocabulary.pipeline`.

pre_tokenizers.py cuts a text into words, models.py gives the ids of a word, decoders.py gives the text of ids, and encoder.py
joins them.
"""

from .encoder import PipelineEncoder

__all__ = ["PipelineEncoder"]
