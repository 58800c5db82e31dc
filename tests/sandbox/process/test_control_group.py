"""Control groups: found where they are delegated, joined from the first process on, emptied and removed."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from sandbox.process.command import Limits
from sandbox.process.control_group import open_control_group, search_delegated_group


def make_process(base: Path, own: str) -> Path:
    """A folder like one of /proc, of a process in the group `own` of the hierarchy below `base`."""
    process = base / "process"
    process.mkdir()
    mount = f"30 24 0:26 / {base}/groups rw,nosuid - cgroup2 cgroup2 rw"
    (process / "mountinfo").write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n{mount}\n")
    (process / "cgroup").write_text(f"4:memory:/elsewhere\n0::{own}\n")
    return process


def make_groups(base: Path, **controllers: str) -> None:
    """Groups by path ("__" for a slash), with the controllers that each gives its children."""
    for name, words in {"": "", **controllers}.items():
        folder = base / "groups" / name.replace("__", "/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.subtree_control").write_text(words)
        (folder / "cgroup.procs").write_text("")


def test_the_nearest_group_that_gives_limits_is_taken(tmp_path: Path) -> None:
    make_groups(tmp_path, user="cpu memory pids", user__app="memory pids", user__app__term="")
    assert search_delegated_group(make_process(tmp_path, "/user/app/term")) == tmp_path / "groups/user/app"


@pytest.mark.parametrize("own", ["/user/app", "/../outside", "/gone/away"])
def test_none_is_taken_where_none_gives_limits(tmp_path: Path, own: str) -> None:
    make_groups(tmp_path, user="cpu io", user__app="")
    assert search_delegated_group(make_process(tmp_path, own)) is None


def test_no_hierarchy_and_no_linux(tmp_path: Path) -> None:
    assert search_delegated_group(tmp_path / "nothing") is None
    process = make_process(tmp_path, "/")
    (process / "mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
    assert search_delegated_group(process) is None


def test_the_limits_are_written(tmp_path: Path) -> None:
    """Files appear with the folder in the kernel's file system; a plain one shows what would be written."""
    with open_control_group(Limits(processes=7, total_memory=5 << 20), tmp_path) as group:
        (folder,) = tmp_path.glob("patchwright-*")
        written = {each.name: each.read_text() for each in folder.iterdir()}
        assert written == {"memory.max": "5242880", "memory.oom.group": "1", "pids.max": "7"}
        assert group.build_join_prefix()[-1] == str(folder / "cgroup.procs")
        (folder / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
        assert group.explain_kill() == "its processes needed more than 5 MiB of memory"
        (folder / "memory.events").write_text("low 0\noom 1\noom_kill 0\n")
        assert group.explain_kill() == ""


def find_hierarchy() -> Path:
    for each in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if Path(each, "cgroup.procs").exists() and os.access(each, os.W_OK):
            return Path(each)
    pytest.skip("no control group that may be written here")


def test_a_real_group_holds_all_processes_and_ends_with_them() -> None:
    parent = find_hierarchy()
    before = set(parent.glob("patchwright-*"))
    with open_control_group(Limits(), parent) as group:
        (folder,) = set(parent.glob("patchwright-*")) - before
        script = "(setsid sleep 50 >/dev/null 2>&1 &); cat /proc/self/cgroup"
        done = subprocess.run(
            [*group.build_join_prefix(), "/bin/sh", "-c", script], capture_output=True, text=True, check=True
        )
        assert f"/{folder.name}\n" in done.stdout
        (left,) = (folder / "cgroup.procs").read_text().split()
        with subprocess.Popen(["sleep", "50"]) as later:
            group.add_process(later.pid)
            assert str(later.pid) in (folder / "cgroup.procs").read_text().split()
            later.kill()
    deadline = time.monotonic() + 5
    while Path("/proc", left).exists() and "Z" not in Path("/proc", left, "stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
