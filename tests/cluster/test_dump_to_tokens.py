"""The commands of docs/how-to/from-dump-to-tokens.md, on one machine and on a cluster of two nodes: the same bytes."""

import re
import shlex
from pathlib import Path

import pytest

from command_line import call

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "from-dump-to-tokens.md"


def commands():
    """The four commands of the page, without the name of the program."""
    first = re.search(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    found = [shlex.split(line)[2:] for line in first[1].replace("\\\n", "").splitlines()]
    assert [command[0] for command in found] == ["clean", "count", "train", "encode"]
    return found


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(280)
def test_the_page_gives_the_same_bytes_on_a_cluster(cluster, shared, tmp_path):
    made = {}
    for engine in ("local", "ray"):
        folder = tmp_path / engine
        folder.mkdir()
        for command in commands():
            if command[0] == "clean":  # the slices by their full names, which stand in the output
                command = [str(shared / "corpus" / word) if ".xml" in word else word for word in command]
            if engine == "ray" and command[0] != "train":
                command += ["--engine", "ray", "--ray-address", cluster.address]
            result = call(*command, cwd=folder)
            assert result.exit_code == 0, result.stderr
        made[engine] = contents(folder)
    assert made["ray"].keys() == made["local"].keys()
    assert [name for name in made["ray"] if made["ray"][name] != made["local"][name]] == []
    assert {"wiki.bin", "wiki.report.json", "wiki8k/tokenizer.json"} <= made["ray"].keys()
