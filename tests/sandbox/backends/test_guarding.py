"""Guarded places: which they are, how missing ones are held, what is told and taken back after a command."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.backends.audit import audit_workspace
from sandbox.fs.placeholders import hold_placeholders, is_placeholder
from sandbox.fs.protected_paths import find_protected_name, find_protected_paths
from sandbox.guards import ALLOWED_REPOSITORIES
from sandbox.guards.workspace_inventory import Inventory
from sandbox.process.command import Command
from tests.sandbox.boxes import make, sh


def test_the_folder_of_hooks_that_the_settings_name_is_guarded(workspace: Path) -> None:
    (workspace / "tools" / "hooks").mkdir(parents=True)
    subprocess.run(["git", "-C", str(workspace), "config", "core.hooksPath", "tools/hooks"], check=True)
    places = find_protected_paths(workspace)
    assert workspace / "tools" / "hooks" in places.there
    assert places.list_enclosing_folders(workspace) == [workspace / "tools"]


def test_repositories_inside_are_found_and_large_folders_of_others_passed_over(workspace: Path) -> None:
    for name in ("lib/one", "node_modules/two"):
        subprocess.run(["git", "init", "--quiet", str(workspace / name)], check=True)
    subprocess.run(["git", "init", "--quiet", "--bare", str(workspace / "bare")], check=True)
    inventory = Inventory(workspace)
    inventory.refresh()
    assert sorted(inventory.list_guarded()) == [workspace / "bare", workspace / "lib" / "one" / ".git"]


def test_a_link_to_the_top_itself_closes_nothing(workspace: Path) -> None:
    (workspace / ".vscode").symlink_to(".")
    assert workspace not in find_protected_paths(workspace).there
    assert sh(make("bubblewrap", workspace), workspace, "touch new").returncode == 0


def test_placeholders_vanish_with_the_last_of_those_who_hold_them(workspace: Path) -> None:
    folders = [workspace / ".vscode", workspace / ".idea"]
    with hold_placeholders(workspace, folders) as first:
        with hold_placeholders(workspace, folders) as second:
            assert first == second == folders
            assert all(map(is_placeholder, folders))
        assert all(map(is_placeholder, folders))
    assert not any(folder.exists() for folder in folders)


def test_a_placeholder_that_somebody_fills_is_theirs(workspace: Path) -> None:
    with hold_placeholders(workspace, [workspace / ".vscode"]):
        (workspace / ".vscode" / "settings.json").write_text("{}")
    assert (workspace / ".vscode" / "settings.json").read_text() == "{}"


def test_what_a_killed_process_left_is_removed_by_the_next(workspace: Path) -> None:
    with hold_placeholders(workspace, [workspace / ".vscode"]):
        top = os.open(workspace, os.O_RDONLY)
        fcntl.flock(top, fcntl.LOCK_SH)  # as if a command still ran
    assert is_placeholder(workspace / ".vscode")
    os.close(top)
    with hold_placeholders(workspace, [workspace / ".vscode"]):
        pass
    assert not (workspace / ".vscode").exists()


@pytest.mark.slow
def test_a_command_that_hogs_the_lock_stops_nothing(workspace: Path, tmp_path: Path) -> None:
    top = os.open(workspace, os.O_RDONLY)
    fcntl.flock(top, fcntl.LOCK_EX)
    try:
        with hold_placeholders(workspace, [workspace / ".vscode"]) as mine:
            assert mine == []
        box = make("bubblewrap", workspace, tmp_path / "spill")
        assert sh(box, workspace, "mkdir .vscode; echo x > src/x").returncode == 0
        assert not (workspace / ".vscode").exists()  # moved away afterwards
    finally:
        os.close(top)


def test_a_new_guarded_file_is_moved_aside_and_told(workspace: Path, tmp_path: Path) -> None:
    done = sh(
        make("bubblewrap", workspace, tmp_path / "spill"),
        workspace,
        "echo evil > .envrc; echo x > .gitattributes",
    )
    aside = tmp_path / "spill" / "refused"
    assert done.noticed == (f"'.envrc' was made, and moved to {str(aside)!r}", "'.gitattributes' was made")
    assert [path.read_text() for path in aside.iterdir()] == ["evil\n"]
    assert (workspace / ".gitattributes").exists()


def test_settings_in_a_new_dot_folder_of_an_unknown_program_are_moved_aside(
    workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".oldtool").mkdir()
    (workspace / ".oldtool" / "config.json").write_text("1")
    done = sh(
        make("bubblewrap", workspace, tmp_path / "spill"),
        workspace,
        "mkdir -p .newtool/hooks .venv src/evil; echo evil > .newtool/mcp.json; echo x > .newtool/notes.md;"
        "echo x > .venv/config; echo 2 > .oldtool/config.json;"
        "echo x > src/evil/settings.json; ln -s src/evil .othertool",
    )
    assert sorted(line.partition(" was ")[0] for line in done.noticed) == [
        *("'.newtool/hooks'", "'.newtool/mcp.json'", "'.oldtool/config.json'", "'.othertool/settings.json'"),
    ]
    assert [each.name for each in (workspace / ".newtool").iterdir()] == ["notes.md"]
    assert (
        workspace / ".oldtool" / "config.json"
    ).read_text() == "2\n"  # a program's own file, reported only
    assert not (workspace / ".othertool").is_symlink()


def test_an_audit_tells_changes_by_content_and_touches_nothing_old(workspace: Path, tmp_path: Path) -> None:
    (workspace / ".envrc").write_text("mine")
    audit = audit_workspace(workspace, tmp_path / "aside")
    (workspace / ".envrc").write_text("mine")  # the same again
    assert audit.finish() == ()
    audit = audit_workspace(workspace, tmp_path / "aside")
    (workspace / ".envrc").write_text("other")
    (workspace / ".git" / "hooks" / "pre-commit").write_text("evil")
    (workspace / ".git" / "index").write_text("changes all the time")
    assert audit.finish() == ("'.envrc' was changed", "'.git/hooks/pre-commit' was made")
    assert (workspace / ".envrc").read_text() == "other"


@pytest.mark.slow
def test_nothing_is_told_of_an_ordinary_command(workspace: Path) -> None:
    for name in ("bubblewrap", "landlock", "unconfined"):
        before = sorted(workspace.rglob("*"))
        assert sh(make(name, workspace), workspace, "echo x > src/cart.py; git status").noticed == ()
        assert sorted(workspace.rglob("*")) == before


def test_the_workspace_itself_has_no_guarded_name(workspace: Path) -> None:
    assert [find_protected_name(workspace, path) for path in ("", ".", "src/..", "src/.GitHub/x")] == [
        "",
        "",
        "",
        ".GitHub",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_what_an_interrupted_command_made_is_moved_aside(name: str, workspace: Path, tmp_path: Path) -> None:
    box = make(name, workspace, tmp_path / "spill")
    script = "git init -q src/evil; (echo x > .envrc) 2>/dev/null; touch src/done; sleep 60"

    async def interrupt() -> None:
        running = asyncio.create_task(box.run(Command(argv=("/bin/sh", "-c", script), cwd=workspace)))
        while not (workspace / "src" / "done").exists():
            await asyncio.sleep(0.01)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    asyncio.run(interrupt())
    assert not (workspace / ".envrc").exists()
    assert (workspace / "src" / "evil" / ".git" / "config").exists()
    assert not (workspace / "src" / "evil" / ".git" / "HEAD").exists()


@pytest.mark.slow
def test_a_repository_that_a_rule_allows_may_be_made_and_used(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = make("bubblewrap", workspace, tmp_path / "spill")
    monkeypatch.setitem(ALLOWED_REPOSITORIES, workspace, lambda path: path == "src/mine/.git")
    assert sh(box, workspace, "git init -q src/mine").noticed == ()
    assert sh(box, workspace, "git -C src/mine config user.name me").returncode == 0
    done = sh(box, workspace, "git init -q src/other; git init -q src/third")
    (line,) = done.noticed
    assert line.startswith("'src/other/.git', 'src/third/.git' became git folders: HEAD was moved to ")
    assert "edit(src/other/.git)" in line


def test_an_existing_repository_is_guarded_whoever_made_it(workspace: Path, tmp_path: Path) -> None:
    box = make("bubblewrap", workspace, tmp_path / "spill")
    assert sh(box, workspace, "true").noticed == ()
    subprocess.run(["git", "init", "-q", str(workspace / "src" / "mine")], check=True)
    done = sh(box, workspace, "echo evil >> src/mine/.git/config; rm -rf src/mine/.git; mv src/mine src/x")
    assert done.noticed == ()
    assert "evil" not in (workspace / "src" / "mine" / ".git" / "config").read_text()
    assert (workspace / "src" / "mine" / ".git" / "HEAD").exists()
