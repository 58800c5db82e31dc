"""Copies in place of hard links: what they keep, which links stay, what happens where copying fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.backends.constraints import Constraints
from sandbox.errors import UserError
from sandbox.fs.workspace_tree import Tree
from sandbox.guards.hard_links import OutsideLinks
from sandbox.guards.workspace_inventory import Inventory
from tests.sandbox.boxes import make, sh


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.write_text("precious\n")
    return path


def copy(root: Path, guarded: tuple[Path, ...] = ()) -> int:
    inventory = Inventory(root)
    inventory.refresh()
    return OutsideLinks(inventory).copy_files(guarded).copied


def test_a_copy_has_the_content_mode_times_and_attributes(workspace: Path, outside: Path) -> None:
    outside.chmod(0o751)
    os.utime(outside, ns=(1_234_567_890, 2_345_678_901))
    try:
        os.setxattr(outside, "user.mark", b"x")
    except OSError:
        pytest.skip("no attributes on this file system")
    os.link(outside, workspace / "src" / "link")
    assert copy(workspace) == 1
    old, new = outside.stat(), (workspace / "src" / "link").stat()
    assert old.st_ino != new.st_ino
    assert (old.st_nlink, new.st_nlink) == (1, 1)
    for name in ("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns"):
        assert getattr(old, name) == getattr(new, name)
    assert os.getxattr(workspace / "src" / "link", "user.mark") == b"x"
    assert sorted(each.name for each in (workspace / "src").iterdir()) == ["cart.py", "link"]


def test_large_and_empty_files_are_copied_whole(workspace: Path, outside: Path) -> None:
    for number, content in enumerate((b"", os.urandom((3 << 20) + 7))):
        outside.write_bytes(content)
        os.link(outside, workspace / f"link{number}")
        assert copy(workspace) == 1
        assert (workspace / f"link{number}").read_bytes() == content


def test_a_setuid_program_is_copied_without_its_right(workspace: Path, outside: Path) -> None:
    outside.chmod(0o4755)
    os.link(outside, workspace / "link")
    copy(workspace)
    assert (workspace / "link").stat().st_mode & 0o7777 == 0o755


def test_links_between_files_of_the_workspace_stay(workspace: Path) -> None:
    os.link(workspace / "src" / "cart.py", workspace / "cart.py")
    assert copy(workspace) == 0
    assert (workspace / "cart.py").stat().st_nlink == 2


@pytest.mark.slow
def test_links_that_commands_make_and_remove_inside_stay(workspace: Path) -> None:
    box = make("bubblewrap", workspace)
    for script in ("ln src/cart.py src/two", "mkdir lib; ln src/cart.py lib/three", "rm src/two", "true"):
        assert sh(box, workspace, script).noticed == ()
    assert (workspace / "lib" / "three").samefile(workspace / "src" / "cart.py")


def test_a_name_in_a_guarded_place_counts_as_outside(workspace: Path) -> None:
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "tasks.json").write_text("{}")
    os.link(workspace / ".vscode" / "tasks.json", workspace / "src" / "tasks.json")
    os.link(workspace / ".git" / "config", workspace / "src" / "config")
    assert copy(workspace, (workspace / ".vscode", workspace / ".git")) == 2
    done = sh(make("bubblewrap", workspace), workspace, "echo evil > src/tasks.json; echo evil > src/config")
    assert done.returncode == 0
    assert (workspace / ".vscode" / "tasks.json").read_text() == "{}"
    assert "evil" not in (workspace / ".git" / "config").read_text()


def test_a_denied_file_is_not_copied_but_stays_denied(workspace: Path, outside: Path) -> None:
    os.link(outside, workspace / "src" / "link")
    box = make("bubblewrap", workspace)
    done = sh(box, workspace, "cat src/link; echo evil > src/link", denied=(outside,))
    assert "precious" not in done.stdout.text()
    assert outside.read_text() == "precious\n"
    assert (workspace / "src" / "link").stat().st_ino == outside.stat().st_ino


def test_reading_commands_change_no_file(workspace: Path, outside: Path) -> None:
    os.link(outside, workspace / "link")
    done = sh(make("bubblewrap", workspace), workspace, "cat link", scope="read-only")
    assert done.stdout.text() == "precious\n"
    assert done.noticed == ()
    assert outside.stat().st_nlink == 2


def test_a_folder_that_became_a_link_is_not_followed(workspace: Path, outside: Path) -> None:
    """A process that still runs may exchange a folder between the walk and the copy."""
    os.link(outside, workspace / "src" / "link")
    inventory = Inventory(workspace)
    inventory.refresh()
    (workspace / "src").rename(workspace.parent / "elsewhere")
    (workspace / "src").symlink_to("../elsewhere")
    inventory.refresh = lambda: None  # type: ignore[method-assign]
    inventory.reload = lambda: None  # type: ignore[method-assign]
    assert OutsideLinks(inventory).copy_files(()).copied == 0
    assert outside.stat().st_nlink == 2


@pytest.mark.slow
def test_a_link_that_cannot_be_copied_is_closed_to_commands(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(outside, workspace / "link")
    monkeypatch.setattr(os, "rename", _refuse)
    done = sh(
        make("bubblewrap", workspace), workspace, "echo evil > link; mv link src/; echo evil > src/link"
    )
    assert outside.read_text() == "precious\n"
    assert "1 hard links to files outside could not be copied: read-only" in done.noticed
    for number in range(40):
        (outside.parent / f"o{number}").write_text("")
        os.link(outside.parent / f"o{number}", workspace / f"l{number}")
    with pytest.raises(UserError, match="hard links to files outside"):
        sh(make("bubblewrap", workspace), workspace, "true")
    assert not list(workspace.glob(".patchwright-*"))


def _refuse(*arguments: object, **more: object) -> None:
    raise OSError(28, "No space left on device")


def test_edits_of_a_hard_link_leave_the_file_outside(workspace: Path, outside: Path) -> None:
    os.link(outside, workspace / "link")
    Tree(workspace).write("link", b"mine\n")
    assert outside.read_text() == "precious\n"
    assert Constraints(workspace).root == workspace
