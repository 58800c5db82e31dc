"""Landlock's own ways: what its list of places holds, and what it says it cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sandbox.landlock import around
from tests.sandbox.boxes import make, run, sh


def test_places_around_holes_hold_everything_else(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("a/x", "a/y/z", "b", ".git/hooks"):
        (top / name).mkdir(parents=True)
    (top / "link").symlink_to("/etc")
    holes = [top / ".git", top / "a" / "y"]
    assert sorted(around(top, holes)) == [top / "a" / "x", top / "b"]
    assert around(top, []) == [top]
    assert around(top, [top]) == []


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


def test_the_filter_holds_for_every_kind_of_socket_that_leaves_the_machine(workspace: Path) -> None:
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
    assert done.stdout.text() == "AF_UNIX\nAF_UNIX\n"


def test_rights_cannot_be_gained_by_a_setuid_program(workspace: Path) -> None:
    done = sh(make("landlock", workspace), workspace, "grep NoNewPrivs /proc/self/status")
    assert done.stdout.text().split() == ["NoNewPrivs:", "1"]


def test_the_wrapper_imports_only_the_standard_library() -> None:
    script = Path(__file__).parents[2] / "sandbox" / "landlock_exec.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script)], capture_output=True, text=True, check=False
    )
    assert "IndexError" in done.stderr  # it got as far as its arguments
