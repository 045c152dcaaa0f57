"""python -m tokenmill: the command line."""

from .cli.main import app

app()
