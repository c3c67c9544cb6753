"""Durable files: all or nothing, no stray files, and each refusal in one sentence."""

import errno
import hashlib
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from feynkac.errors import FeynkacWarning, InputError
from feynkac.files import (
    LOCK,
    locked,
    make_folder,
    parse_object,
    read_regular,
    sha256,
    tolerated,
    write_atomically,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", [b"", b"abc", bytes(range(256)) * 4096])
def test_a_file_is_written_and_replaced_whole(tmp_path, content):
    path = tmp_path / "a.bin"
    write_atomically(path, b"an earlier content that is longer than some")
    write_atomically(path, content)
    assert path.read_bytes() == content
    assert names(tmp_path) == ["a.bin"]


def test_the_stray_file_of_a_killed_process_is_cleared_away(tmp_path):
    (tmp_path / ".a.bin.tmp").write_bytes(b"half of someth")
    write_atomically(tmp_path / "a.bin", b"new")
    assert names(tmp_path) == ["a.bin"]


def blocked(tmp_path, case):
    """A path that cannot be written, with the reason the system gives."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    return {
        "no folder": (tmp_path / "nowhere" / "a", "No such file or directory"),
        "a file as folder": (tmp_path / "file" / "a", "Not a directory"),
        "a folder in its place": (tmp_path / "folder", "Is a directory"),
        "too long a name": (tmp_path / ("a" * 300), "File name too long"),
        "a read-only folder": (Path("/sys/a"), "Permission denied|Read-only file system"),
    }[case]


@pytest.mark.parametrize(
    "case",
    [
        "no folder",
        "a file as folder",
        "a folder in its place",
        "too long a name",
        "a read-only folder",
    ],
)
def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path, case):
    path, reason = blocked(tmp_path, case)
    before = names(tmp_path)
    with pytest.raises(
        InputError, match=rf"cannot write .*: ({reason})\. Choose a writable folder"
    ):
        write_atomically(path, b"content")
    assert names(tmp_path) == before


@contextmanager
def no_file_larger_than(size):
    """As on a full disk: the kernel takes a part of what is written, then no more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_keeps_the_earlier_file(tmp_path):
    path = tmp_path / "a.bin"
    write_atomically(path, b"earlier")
    with (
        no_file_larger_than(1000),
        pytest.raises(InputError, match=r"cannot write .*: File too large\. Choose"),
    ):
        write_atomically(path, b"later" * 1000)
    assert path.read_bytes() == b"earlier"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("prepared", ["a link", "a broken link", "a hard link"])
def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path, prepared):
    target, path = tmp_path / "target", tmp_path / "a.bin"
    target.write_bytes(b"mine")
    link = tmp_path / ".a.bin.tmp"
    {
        "a link": lambda: link.symlink_to(target),
        "a broken link": lambda: link.symlink_to(tmp_path / "nowhere"),
        "a hard link": lambda: link.hardlink_to(target),
    }[prepared]()
    write_atomically(path, b"new")
    assert target.read_bytes() == b"mine"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin", "target"]


def test_a_link_set_at_the_last_moment_is_refused(tmp_path, monkeypatch):
    """Between removing a stray file and making a new one, somebody puts a link there."""
    target, path = tmp_path / "target", tmp_path / "a.bin"
    target.write_bytes(b"mine")
    unlink = Path.unlink

    def replaced(self, missing_ok=False):
        unlink(self, missing_ok=missing_ok)
        if not self.is_symlink():
            self.symlink_to(target)

    monkeypatch.setattr(Path, "unlink", replaced)
    with pytest.raises(InputError, match=r"cannot write .*: File exists"):
        write_atomically(path, b"new")
    assert target.read_bytes() == b"mine"
    assert not path.exists()


def test_content_then_name_reach_the_disk_in_this_order(tmp_path, monkeypatch):
    """A power cut after the rename must find the content, and after the return the name."""
    seen, sync, replace = [], os.fsync, os.replace

    def synced(handle):
        what = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else os.fstat(handle).st_size
        seen.append(what)
        sync(handle)

    def replaced(*names):
        seen.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_atomically(tmp_path / "a.bin", b"content")
    assert seen == [len(b"content"), "rename", "folder"]


@pytest.mark.parametrize("reason", [errno.EIO, errno.ENOSPC])
def test_a_failing_fsync_keeps_the_earlier_file(tmp_path, monkeypatch, reason):
    path = tmp_path / "a.bin"
    write_atomically(path, b"earlier")

    def fail(_handle):
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=rf"cannot write .*: {os.strerror(reason)}\. Choose"):
        write_atomically(path, b"later")
    assert path.read_bytes() == b"earlier"
    assert names(tmp_path) == ["a.bin"]


def test_a_file_system_that_cannot_sync_folders_is_fine(tmp_path, monkeypatch):
    sync = os.fsync

    def refuse_folders(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    write_atomically(tmp_path / "a.bin", b"content")
    assert (tmp_path / "a.bin").read_bytes() == b"content"


def test_pipes_devices_folders_and_giants_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "giant").touch()
    os.truncate(tmp_path / "giant", 2**40)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            read_regular(path)
    with pytest.raises(OSError, match="1099511627776 bytes, at most 268435456 were expected"):
        read_regular(tmp_path / "giant")
    with pytest.raises(OSError, match="No such file"):
        read_regular(tmp_path / "nowhere")


def test_what_may_fail_becomes_a_warning(tmp_path):
    with (
        pytest.warns(FeynkacWarning, match=r"cannot write .*\. The work continues without it\."),
        tolerated(),
    ):
        write_atomically(tmp_path / "nowhere" / "a", b"content")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"[" * 10**5, "nested too deeply|Expecting value"),
        (b'{"a":' * 10**5, "nested too deeply|Expecting value"),
        (b'{"a": [' + b"{}," * 300_000 + b"{}]}", "more than 200000 objects"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "Exceeds the limit"),
        (b"3", "a JSON object was expected, not int"),
        (b"\xff\xfe", "decode|Expecting"),
    ],
)
def test_what_is_no_plain_json_object_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_object(text)


WRITER = """
import itertools, sys
from pathlib import Path
from feynkac.files import write_atomically
for i in itertools.count():
    write_atomically(Path(sys.argv[1]), bytes([i % 256]) * 2_000_000)
"""


@pytest.mark.parametrize("delay", [0.01, 0.05, 0.1])
def test_a_killed_writer_leaves_a_whole_file(tmp_path, delay):
    path = tmp_path / "a.bin"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    while not path.exists():
        assert writer.poll() is None
        time.sleep(0.001)
    time.sleep(delay)
    os.kill(writer.pid, signal.SIGKILL)
    assert writer.wait() == -signal.SIGKILL
    content = path.read_bytes()
    assert len(content) == 2_000_000
    assert len(set(content)) == 1
    assert set(names(tmp_path)) <= {"a.bin", ".a.bin.tmp"}


def test_a_folder_is_made_with_its_parents_and_may_exist(tmp_path):
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    make_folder(folder)
    assert folder.is_dir()


@pytest.mark.parametrize("tail", ["file", "file/below"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path, tail):
    (tmp_path / "file").write_bytes(b"kept")
    with pytest.raises(InputError, match=r"cannot create the folder .*/file.*Choose another place"):
        make_folder(tmp_path / tail)
    assert (tmp_path / "file").read_bytes() == b"kept"


@pytest.mark.parametrize("content", [b"", b"abc", b"\0" * 1000])
def test_sha256_is_the_usual_one(content):
    assert sha256(content) == hashlib.sha256(content).hexdigest()


def test_one_flipped_bit_changes_the_sum():
    assert sha256(b"\x00") != sha256(b"\x01")


def test_a_locked_folder_is_refused_to_others_and_free_afterwards(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(InputError, match="another process is working in"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass
    assert names(tmp_path) == []


HOLDER = """
import sys, time
from pathlib import Path
from feynkac.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_holds_nothing(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="another process is working in"), locked(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with locked(tmp_path):
        pass


COUNTER = """
import sys
from pathlib import Path
from feynkac.errors import InputError
from feynkac.files import locked
folder, own = Path(sys.argv[1]), 0
while own < 100:
    try:
        with locked(folder):
            count = int((folder / "count").read_text())
            (folder / "count").write_text(str(count + 1))
            own += 1
    except InputError:
        pass
"""


def test_of_many_processes_one_at_a_time_is_inside(tmp_path):
    """The file of the lock comes and goes; a process that holds a deleted one is not inside."""
    (tmp_path / "count").write_text("0")
    command = [sys.executable, "-c", COUNTER, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(4)]:
        assert process.wait() == 0
    assert (tmp_path / "count").read_text() == "400"
    assert names(tmp_path) == ["count"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match=r"cannot write .*\.lock: Permission denied"):
        locked(tmp_path).__enter__()
    tmp_path.chmod(0o700)


def test_a_prepared_link_in_place_of_the_lock_is_not_followed(tmp_path):
    target = tmp_path / "elsewhere"
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / LOCK).symlink_to(target)
    with suppress(InputError), locked(folder):
        pass
    assert not target.exists()


def test_a_text_of_countless_lists_is_refused_at_once():
    content = b'{"a": [' + b"[1]," * 300_000 + b"[1]]}"
    start = time.process_time()
    with pytest.raises(ValueError, match="more than 200000 objects and lists"):
        parse_object(content)
    assert time.process_time() - start < 0.2
