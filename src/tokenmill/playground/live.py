"""A training that the page watches: its stage, its latest events and the counts of its merges, over the local server."""

from __future__ import annotations

import contextlib
import threading
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import ConversionError
from ..vocabulary import Vocabulary
from .pack import pack
from .server import STARTER, Server, bind, starter

if TYPE_CHECKING:
    from ..training.watching import TrainingEvent

LATEST = 12  # events that the page lists


class LiveTraining:
    """A local server with the page, and what the page asks for again and again while a training runs: see `state`.

    ready: called with the address of the view that shows the training.
    """

    def __init__(self, ready: Callable[[str], None]) -> None:
        self.latest: deque[TrainingEvent] = deque(maxlen=LATEST)
        self.counts = array("Q")  # of the pairs that were merged
        self.removals = 0
        self.stage: tuple[str, int, int | None] = ("Starting", 0, None)
        self.over = False
        self.tokenizer: dict[str, str] | None = None
        self.server = Server([(STARTER.stem, pack(*starter()))], bind(), live=self)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        ready(f"http://127.0.0.1:{self.server.server_port}/#view=training")

    def event(self, event: TrainingEvent) -> None:
        self.latest.append(event)
        if event.count is None:
            self.removals += 1
        else:
            self.counts.append(event.count)

    def state(self, first: int) -> dict[str, Any]:
        """The state as JSON, with the counts of the merges from the one with the number `first` on."""
        stage, done, total = self.stage
        return {
            "stage": stage,
            "done": done,
            "total": total,
            "over": self.over,
            "removals": self.removals,
            "counts": self.counts[first:].tolist(),
            "tokenizer": self.tokenizer,
            "latest": [
                {name: value.hex() if isinstance(value, bytes) else value for name, value in asdict(event).items()}
                for event in list(self.latest)
            ],
        }

    def publish(self, name: str, vocabulary: Vocabulary) -> None:
        """End the training on the page, and add the trained vocabulary to it, if the page can show it."""
        with contextlib.suppress(ConversionError):
            self.server.files["/packs/trained.tmpack"] = "application/octet-stream", pack(name, vocabulary)
            self.tokenizer = {"name": name, "pack": "packs/trained.tmpack"}
        self.over = True
