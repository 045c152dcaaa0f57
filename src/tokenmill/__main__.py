"""python -m tokenmill: the command line."""

from .cli import entry

entry()
