"""Outputs appear whole or not at all."""

import os
import stat

import pytest

from tokenmill.errors import OutputError
from tokenmill.jobs.outputs import atomic_file, atomic_folder


def test_file_appears_on_success(tmp_path):
    with atomic_file(tmp_path / "new" / "a.bin") as file:
        file.write(b"whole")
        assert not (tmp_path / "new" / "a.bin").exists()
    assert (tmp_path / "new" / "a.bin").read_bytes() == b"whole"
    assert os.listdir(tmp_path / "new") == ["a.bin"]


def test_file_obeys_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "a", "w") as file:
            file.write("é\n")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"


def test_the_umask_of_the_process_is_not_touched(tmp_path, monkeypatch):
    """It belongs to all threads: one that creates a file meanwhile would get the wrong permissions."""
    old = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            with atomic_file(tmp_path / "file") as file:
                file.write(b"x")
            for _ in range(2):
                with atomic_folder(tmp_path / "folder") as folder:
                    (folder / "a").touch()
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_file(tmp_path, error):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(error), atomic_file(tmp_path / "a") as file:
        file.write(b"half")
        raise error
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_folder_replaces_the_old_one_whole(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "stale").write_text("x")
    with atomic_folder(tmp_path / "t") as folder:
        (folder / "fresh").write_text("y")
    assert os.listdir(tmp_path) == ["t"]
    assert os.listdir(tmp_path / "t") == ["fresh"]


def test_an_exception_leaves_the_old_folder(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "old").write_text("x")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "t") as folder:
        (folder / "half").write_text("y")
        1 / 0  # noqa: B018
    assert os.listdir(tmp_path) == ["t"]
    assert os.listdir(tmp_path / "t") == ["old"]


def test_a_file_in_the_way_is_an_error_that_says_so(tmp_path):
    (tmp_path / "t").write_text("a file")
    with pytest.raises(OutputError, match="a file with that name exists"), atomic_folder(tmp_path / "t"):
        pass


def test_a_full_disk_is_one_error(tmp_path, full_disk):
    with pytest.raises(OutputError, match="No space left"), atomic_file(full_disk / "a") as file:
        file.write(b"x" * 10_000_000)
    assert os.listdir(full_disk) == []
