"""Outputs appear whole or not at all, and replace nothing but an earlier output."""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import threading
from pathlib import Path

import pytest

import tokenmill
from tokenmill.errors import ConversionError, OutputError, UsageError
from tokenmill.jobs.outputs import (
    atomic_file,
    atomic_files,
    atomic_folder,
    is_device,
    open_output,
    output_errors,
    publish,
    refuse_existing,
    refuse_folder,
    refuse_source,
    remove,
)
from tokenmill.jobs.work import JobOptions
from tokenmill.kernels import machine


def anything(path):
    return True


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
                with atomic_folder(tmp_path / "folder", anything) as folder:
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


@pytest.mark.parametrize("exchange", [True, False])
def test_folder_replaces_the_old_one_whole(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr("tokenmill.jobs.outputs.exchange_paths", lambda one, other: False)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "stale").write_text("x")
    with atomic_folder(tmp_path / "t", anything) as folder:
        (folder / "fresh").write_text("y")
    assert os.listdir(tmp_path) == ["t"]
    assert os.listdir(tmp_path / "t") == ["fresh"]


def test_an_exception_leaves_the_old_folder(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "old").write_text("x")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "t", anything) as folder:
        (folder / "half").write_text("y")
        1 / 0  # noqa: B018
    assert os.listdir(tmp_path) == ["t"]
    assert os.listdir(tmp_path / "t") == ["old"]


def test_a_file_in_the_way_is_an_error_that_says_so(tmp_path):
    (tmp_path / "t").write_text("a file")
    with pytest.raises(OutputError, match="a file has that name"), atomic_folder(tmp_path / "t", anything):
        pass


def test_a_full_disk_is_one_error(tmp_path, full_disk):
    with pytest.raises(OutputError, match="No space left"), atomic_file(full_disk / "a") as file:
        file.write(b"x" * 10_000_000)
    assert os.listdir(full_disk) == []


def test_folders_are_exchanged_in_one_step(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if machine.exchange_paths(tmp_path / "a", tmp_path / "b"):
        assert os.listdir(tmp_path / "a") == ["b"] and os.listdir(tmp_path / "b") == ["a"]
    assert not machine.exchange_paths(tmp_path / "a", tmp_path / "missing")


def test_a_folder_with_other_files_is_never_replaced(tmp_path, monkeypatch):
    def is_own(path):
        return path.suffix == ".own"

    target = tmp_path / "t"
    refuse_folder(target, is_own)
    target.mkdir()
    refuse_folder(target, is_own)
    (target / "a.own").touch()
    with pytest.raises(OutputError, match=r"t exists: a folder with a\.own\. .*overwrite=True"):
        refuse_folder(target, is_own)
    refuse_folder(target, is_own, overwrite=True)
    (target / "b").touch()
    with pytest.raises(OutputError, match=r"a folder with other files: b\."):
        refuse_folder(target, is_own, overwrite=True)
    with pytest.raises(OutputError, match="other files"), atomic_folder(target, is_own):
        pytest.fail("began")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OutputError, match="is a symbolic link"):
        refuse_folder(tmp_path / "link", anything, overwrite=True)
    (target / "below").mkdir()
    monkeypatch.chdir(target / "below")
    for name in (".", "..", target):
        with pytest.raises(OutputError, match="is the current folder, one above it"):
            refuse_folder(name, anything, overwrite=True)
    with pytest.raises(OutputError, match="root of a disk"):
        refuse_folder("/", anything, overwrite=True)


def test_what_others_put_into_the_output_meanwhile_is_not_deleted(tmp_path):
    target = tmp_path / "t"
    with (
        pytest.raises(OutputError, match="other files"),
        atomic_folder(target, lambda path: path.name == "own") as folder,
    ):
        (folder / "own").touch()
        target.mkdir()
        (target / "foreign").touch()
    assert os.listdir(tmp_path) == ["t"] and os.listdir(target) == ["foreign"]


def test_what_another_process_wrote_meanwhile_is_not_overwritten(tmp_path):
    """Without `overwrite` that is an error at the end too, not only before the work."""
    for path, output in (
        (tmp_path / "file", atomic_file(tmp_path / "file", overwrite=False)),
        (tmp_path / "folder", atomic_folder(tmp_path / "folder", lambda path: True, overwrite=False)),
    ):
        with pytest.raises(OutputError, match="exists: a f"), output as out:
            (out / "mine").write_bytes(b"mine") if isinstance(out, Path) else out.write(b"mine")
            theirs = path / "theirs" if isinstance(out, Path) else path
            theirs.parent.mkdir(exist_ok=True)
            theirs.write_bytes(b"theirs")
        assert theirs.read_bytes() == b"theirs"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("name", ["", ".", "a\0b"])
def test_an_output_without_a_name_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, OutputError)):
        refuse_folder(name, anything, overwrite=True)
    with pytest.raises((UsageError, OutputError)), atomic_file(name):
        pass
    assert os.listdir(tmp_path) == []


def test_a_source_is_not_an_output(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    for source in (tmp_path / "a" / "b", tmp_path / "link"):
        with pytest.raises(UsageError, match="this command reads"):
            refuse_source([source], tmp_path / "a")
    refuse_source([tmp_path / "a" / "b", "-", "https://x/a"], tmp_path / "a" / "c")


def test_a_device_is_written_and_never_replaced(tmp_path):
    refuse_existing("/dev/null")
    with atomic_file("/dev/null") as file:
        file.write(b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(tmp_path / "pipe")
    received = []
    reader = threading.Thread(target=lambda: received.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with atomic_file(tmp_path / "pipe") as file:
        file.write(b"through")
    reader.join()
    assert received == [b"through"] and stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names of open files")
def test_names_of_open_files_are_devices(tmp_path):
    """They are links, and a rename would replace the link. Other links and files may be replaced."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with open(tmp_path / "file", "wb") as file, tempfile.NamedTemporaryFile(dir="/dev/shm") as shared:
        name = f"/dev/fd/{file.fileno()}"
        assert [is_device(path) for path in (name, file.name, tmp_path / "link", shared.name)] == [True, *[False] * 3]
        with atomic_file(name) as output:
            output.write(b"written")
    assert (tmp_path / "file").read_bytes() == b"written" and sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_a_link_to_a_folder_is_removed_without_the_folder(tmp_path, monkeypatch):
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    remove(tmp_path / "link")
    assert os.listdir(tmp_path) == ["folder"]

    def busy(*_, **__):
        raise OSError(errno.EBUSY, "Device or resource busy")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", busy)
        remove(tmp_path / "folder")  # no error
    remove(tmp_path / "folder")
    assert os.listdir(tmp_path) == []


def test_a_folder_is_published_over_what_an_interrupted_call_left(tmp_path):
    for name in ("new", "new.replaced", "target"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    publish([(tmp_path / "new", tmp_path / "target")])
    assert os.listdir(tmp_path) == ["target"] and os.listdir(tmp_path / "target") == ["new"]


def test_folders_above_an_output_are_created(tmp_path):
    with atomic_folder(tmp_path / "a" / "b" / "t", anything) as folder:
        (folder / "x").touch()
    assert os.listdir(tmp_path / "a" / "b") == ["t"]
    with pytest.raises(OutputError, match="cannot write x: without a number"), output_errors("x"):
        raise OSError("without a number")


def test_a_pipe_is_never_renamed_over(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "new").touch()
    (tmp_path / "index").touch()
    with pytest.raises(OutputError, match="pipe is a device or a pipe, which no file replaces"):
        publish([(tmp_path / "index", tmp_path / "a.index"), (tmp_path / "new", tmp_path / "pipe")])
    assert sorted(os.listdir(tmp_path)) == ["index", "new", "pipe"]
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


def test_token_files_and_tokenizers_go_to_devices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("some text " * 100)
    tok = tokenmill.train_from_iterator(["some text"], vocab_size=258, special_tokens=["<|endoftext|>"])
    os.mkfifo("pipe")
    for format, bytes_before in (("bin", 0), ("npy", 128)):
        received = []
        reader = threading.Thread(target=lambda into=received: into.append(Path("pipe").read_bytes()))
        reader.start()
        for name in ("/dev/null", "pipe"):
            summary = tokenmill.encode_files(tok, "a.txt", name, format=format)
            assert summary.path == Path(name) and summary.documents == 1
        reader.join()
        assert len(received[0]) == bytes_before + 2 * summary.tokens
    written = tokenmill.encode_files(tok, "a.txt", tmp_path / "written" / "a.bin").path
    reader = threading.Thread(target=lambda: received.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    assert tokenmill.Join(files=[written, written], output="pipe").run().path == Path("pipe")
    reader.join()
    assert received[-1] == 2 * written.read_bytes()
    for output, option in (("pipe", {"shard_tokens": 10}), ("b.bin", {"overwrite": True})):
        with contextlib.suppress(FileExistsError):
            os.mkfifo("b.bin.json")
        with pytest.raises(
            (OutputError, UsageError), match=r"several files, and pipe is one|b.bin.json is a device or a pipe"
        ):
            tokenmill.Join(files=[written], output=output, **option).run()
    os.unlink("b.bin.json")
    shutil.rmtree("written")
    for format in ("tiktoken", "sentencepiece", "gguf"):
        with contextlib.suppress(ConversionError):
            tok.save("/dev/null", format=format)
    for write in (
        lambda: tokenmill.count_to_folder("a.txt", "/dev/null", job=JobOptions(overwrite=True)),
        lambda: tok.save("/dev/null", overwrite=True),
    ):
        with pytest.raises(OutputError, match="a file has that name"):
            write()
    assert sorted(os.listdir()) == ["a.txt", "pipe"]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and not list(Path("/dev").glob("*null?*"))


def test_an_error_of_a_source_is_not_one_of_the_output(tmp_path):
    with pytest.raises(OSError) as caught, atomic_file(tmp_path / "a"):
        raise OSError(5, "Input/output error")
    assert not isinstance(caught.value, OutputError)
    with (
        pytest.raises(OutputError, match=r"cannot write .*/folder/a: No such file"),
        open_output(tmp_path / "folder" / "a"),
    ):
        pass


def test_files_that_belong_together_appear_together(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "stale").write_bytes(b"old")
    with pytest.raises(OutputError):
        atomic_files({tmp_path / "a": b"new", tmp_path / "a" / "b": b"new"}, [tmp_path / "stale"])
    assert (tmp_path / "a").read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["a", "stale"]
    atomic_files({tmp_path / "a": b"new", tmp_path / "b": b"new"}, [tmp_path / "stale"])
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"new"
