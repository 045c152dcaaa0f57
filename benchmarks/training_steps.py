"""Times the five steps of the course on training, and the kernel: docs/explanation/training.md."""

import sysconfig
from pathlib import Path

from tokenmill.learn import times

from .harness import save

if __name__ == "__main__":
    save("training_steps", times(str(Path(sysconfig.get_path("stdlib")) / "pydoc_data" / "topics.py"), 1000))
