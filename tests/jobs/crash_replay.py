"""Replays of a job that was cut off by a loss of power, after each of its system calls that change the disk.

A recorder notes after each rename, deletion, new folder and fsync what a folder tree looks like, and what of it is on the disk:
the contents of a file as of its last fsync, and the names in a folder as of its last fsync. Three states of the tree follow from
each moment, and a job is run again on each:

    killed          the process ended, and the tree is as it was
    data lost       names are all there, but a file has only what was synced
    names lost      names and contents are only those that were synced
"""

import os
import shutil
import stat
from contextlib import ExitStack, contextmanager
from unittest import mock

CALLS = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "fsync")


class Recorder:
    """The states of the tree at `root`, each a mapping of relative names to contents; a folder's is None."""

    def __init__(self, root):
        self.root = root
        self.states = {}  # in order, each with the moments at which it was
        self._open = {}  # a descriptor of each inode, so that its number is not used again
        self._data, self._names = {}, {}  # by inode, as they are on the disk
        self._step("start")
        for inode, (_, is_folder) in self._open.items():
            self._sync(inode, is_folder)
        self.states.clear()

    def _inode(self, path):
        status = os.lstat(path)
        if status.st_ino not in self._open:
            self._open[status.st_ino] = os.open(path, os.O_RDONLY), stat.S_ISDIR(status.st_mode)
        return status.st_ino

    def _sync(self, inode, is_folder):
        descriptor = self._open[inode][0]
        if is_folder:
            names = {}
            for name in os.listdir(descriptor):
                names[name] = os.stat(name, dir_fd=descriptor).st_ino
            self._names[inode] = names
        else:
            self._data[inode] = os.pread(descriptor, 1 << 30, 0)

    def _tree(self, inode, names_of, data_of, path=""):
        tree = {}
        for name, child in sorted(names_of(inode).items()):
            below = f"{path}/{name}" if path else name
            if self._open[child][1]:
                tree[below] = None
                tree |= self._tree(child, names_of, data_of, below)
            else:
                tree[below] = data_of(child)
        return tree

    def _step(self, call, descriptor=None):
        now = {}
        for folder, folders, files in os.walk(self.root):
            now[self._inode(folder)] = {name: self._inode(os.path.join(folder, name)) for name in folders + files}
        if descriptor is not None:
            status = os.fstat(descriptor)
            if status.st_ino in self._open:
                self._sync(status.st_ino, stat.S_ISDIR(status.st_mode))
        root = self._inode(self.root)
        contents = {
            inode: os.pread(file, 1 << 30, 0) for inode, (file, is_folder) in self._open.items() if not is_folder
        }
        synced = lambda inode: self._data.get(inode, b"")  # noqa: E731
        for kind, tree in (
            ("killed", self._tree(root, now.__getitem__, contents.__getitem__)),
            ("data lost", self._tree(root, now.__getitem__, synced)),
            ("names lost", self._tree(root, lambda inode: self._names.get(inode, {}), synced)),
        ):
            state = tuple(tree.items())
            self.states.pop(state, None)  # so that the last one is that of the end
            self.states[state] = f"{kind}, after {call}"

    @contextmanager
    def recording(self):
        with ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(mock.patch.object(os, name, self._recorded(name, getattr(os, name))))
            # With descriptors of folders in place of paths, the calls would not be those that are recorded.
            stack.enter_context(mock.patch.object(shutil, "_use_fd_functions", False))
            try:
                yield self
                self._step("the end")
            finally:
                for descriptor, _ in self._open.values():
                    os.close(descriptor)

    def _recorded(self, name, call):
        def recorded(*arguments, **options):
            self._step(f"writes before {name}")
            result = call(*arguments, **options)
            synced = arguments[0] if name == "fsync" else None
            self._step(f"{name} {' '.join(str(each) for each in arguments)}", synced)
            return result

        return recorded


def restore(root, tree):
    """Make the folder `root` what a state says."""
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in tree:
        if content is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(content)


def contents(path):
    """The files of an output by name, but for hidden ones, or the content of one; None if there is none."""
    if path.is_dir():
        return {each.name: each.read_bytes() for each in sorted(path.glob("[!.]*"))}
    return path.read_bytes() if path.exists() else None


def replay(root, job, outputs, every=1):
    """Record `job` on the folder `root`, and check that it ends well from each state that a crash may leave.

    outputs: the files and folders in `root` that the job writes. After a crash each is the old one or the new one, or is missing
        if there was none, or if the job goes on: `job` called again makes it the same.
    """
    old = [contents(root / name) for name in outputs]
    recorder = Recorder(root)
    with recorder.recording():
        job()
    new = [contents(root / name) for name in outputs]
    assert None not in new and new != old
    states = [*recorder.states.items()]
    for tree, when in states[::every]:
        restore(root, tree)
        try:
            yield when, old, [contents(root / name) for name in outputs], new
            job()
        except Exception as error:
            error.add_note(f"from the state: {when}; it has {[name for name, _ in tree]}")
            raise
        assert [contents(root / name) for name in outputs] == new, when
        rest = {path.name for path in root.iterdir()} - {*outputs}
        assert all(name.endswith(".part") for name in rest), (when, rest)
    restore(root, states[-1][0])
    assert [contents(root / name) for name in outputs] == new, "a finished output is not on the disk"
