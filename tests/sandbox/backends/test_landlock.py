"""Landlock's own ways: what its list of places holds, and what it says it cannot do."""

from __future__ import annotations

import os
import sys
import uuid
from pathlib import Path

import pytest

from sandbox.backends import landlock
from sandbox.backends.landlock import subtract_holes
from sandbox.errors import UserError
from tests.sandbox.boxes import make, run, sh


def test_places_around_holes_hold_everything_else(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("a/x", "a/y/z", "b", ".git/hooks"):
        (top / name).mkdir(parents=True)
    (top / "link").symlink_to("/etc")
    holes = [top / ".git", top / "a" / "y"]
    around = subtract_holes(str(top), [str(hole) for hole in holes])
    assert sorted(around) == [str(top / "a" / "x"), str(top / "b")]
    assert list(subtract_holes(str(top), [])) == [str(top)]
    assert list(subtract_holes(str(top), [str(top)])) == []


def test_a_folder_that_is_no_repository_is_writable_at_its_top(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    assert sh(make("landlock", folder), folder, "mkdir new && echo x > new/file && rm -r new").returncode == 0


def test_the_top_of_a_repository_is_closed_and_the_warning_says_so(workspace: Path) -> None:
    (workspace / "readme").write_text("old")
    box = make("landlock", workspace)
    assert sh(box, workspace, "echo new > readme").returncode == 0
    assert (workspace / "readme").read_text() == "new\n"
    assert sh(box, workspace, "touch other").returncode != 0
    assert "cannot make or remove entries at the top of the repository" in box.warning


def test_temporary_folders_are_removed_after_the_command(workspace: Path) -> None:
    done = sh(make("landlock", workspace), workspace, "mkdir $TMPDIR/a; chmod 0 $TMPDIR/a; echo $TMPDIR")
    assert not Path(done.stdout.text().strip()).exists()


def test_another_temporary_folder_serves_where_tmpdir_cannot_be_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/proc/sys")
    done = sh(make("landlock", workspace), workspace, "echo $TMPDIR; echo x > $TMPDIR/file")
    assert done.returncode == 0
    assert done.stdout.text().startswith(("/tmp/patchwright-", "/var/tmp/patchwright-"))


def test_without_a_temporary_folder_the_error_says_what_to_do(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/proc/sys")
    monkeypatch.setattr(landlock, "_TEMPORARY", ("/proc/self/fd",))
    with pytest.raises(UserError) as error:
        sh(make("landlock", workspace), workspace, "true")
    assert "'/proc/sys'" in error.value.message
    assert "TMPDIR" in error.value.hint


def test_no_kind_of_socket_can_be_opened(workspace: Path) -> None:
    script = """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_VSOCK, socket.AF_UNIX):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            socket.socket(family, kind).close()
            print(family.name)
        except PermissionError:
            pass
"""
    done = run(make("landlock", workspace), workspace, sys.executable, "-c", script)
    assert done.stdout.text() == ""


def test_rights_cannot_be_gained_by_a_setuid_program(workspace: Path) -> None:
    done = sh(make("landlock", workspace), workspace, "grep NoNewPrivs /proc/self/status")
    assert done.stdout.text().split() == ["NoNewPrivs:", "1"]


def test_a_pair_of_sockets_can_be_made(workspace: Path) -> None:
    script = "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"
    assert run(make("landlock", workspace), workspace, sys.executable, "-c", script).stdout.text() == "b'x'\n"


def test_our_own_threads_stay_unconfined(workspace: Path, tmp_path: Path) -> None:
    run(make("landlock", workspace), workspace, "true")
    (tmp_path / "outside").write_text("x")
    status = [path.read_text() for path in Path("/proc/self/task").glob("*/status")]
    own = Path("/proc/self/status").read_text()
    for line in ("NoNewPrivs:", "Seccomp:", "CapEff:", "CapBnd:"):
        assert {each.partition(line)[2].split()[0] for each in status} == {own.partition(line)[2].split()[0]}


def test_root_has_few_capabilities_left(workspace: Path) -> None:
    names = "CapPrm|CapEff|CapBnd" if os.geteuid() == 0 else "CapPrm|CapEff"
    found = sh(make("landlock", workspace), workspace, f"grep -E '{names}' /proc/self/status").stdout.text()
    kept = 0b1011  # chown, override modes, act as a file's owner
    assert [line for line in found.splitlines() if int(line.split()[1], 16) & ~kept] == []


def test_files_of_others_in_temporary_folders_cannot_be_read(workspace: Path) -> None:
    other = Path("/var/tmp", f"patchwright-test-{uuid.uuid4().hex}")
    other.write_text("very-secret")
    try:
        assert "very-secret" not in sh(make("landlock", workspace), workspace, f"cat {other}").stdout.text()
    finally:
        other.unlink()
