"""`patchwright plugin`, and skills from a git repository."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from agent.app_dirs import Home
from cli.app import app
from sandbox.errors import UserError
from tests.agent.extension.plugins.plugin_folders import make_neutral, make_vendor
from tests.support.cli import git


def run(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=answer)


def test_a_plugin_is_shown_added_checked_updated_and_removed(tmp_path: Path) -> None:
    source = make_vendor(tmp_path / "guard")
    assert "no plugins" in run("plugin").stderr
    shown = run("plugin", "add", str(source))
    assert "hook guard:PreToolUse Bash 1: runs in the sandbox: python3" in shown.stdout
    assert "not used: web: " not in shown.stdout
    assert "nothing was added" in shown.stderr
    assert not (Home.from_environment().data / "plugins").exists()

    assert "added: guard" in run("plugin", "add", str(source), "--yes").stdout
    again = run("plugin", "add", str(source), "--yes").exception
    assert isinstance(again, UserError)
    assert "patchwright plugin update guard" in again.hint
    [listed] = json.loads(run("plugin", "list", "--json").stdout)
    assert (listed["name"], listed["source"]) == ("guard", str(source))
    parts = json.loads(run("plugin", "show", "guard", "--json").stdout)["parts"]
    assert {each["kind"] for each in parts} == {"skill", "command", "agent", "hook", "server"}
    assert "guard: as you accepted it" in run("plugin", "check").stdout

    assert "guard: up to date" in run("plugin", "update").stdout
    (source / "why.txt").write_text("changed\n\x1b[2Jred")
    (source / "hooks/hooks.json").write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "x\ny"}]}]}})
    )
    offered = run("plugin", "update", "guard")
    assert "+ hook guard:Stop 1: runs in the sandbox: x" in offered.stdout
    assert "- hook guard:PreToolUse Bash 1" in offered.stdout
    assert "  file changed: why.txt" in offered.stdout
    assert "stays as it is" in offered.stderr
    assert "PreToolUse" in run("plugin", "show", "guard").stdout
    assert "updated: guard" in run("plugin", "update", "--yes").stdout
    assert "PreToolUse" not in run("plugin", "show", "guard").stdout

    [place] = (Home.from_environment().data / "plugins/guard").glob("*/why.txt")
    place.write_text("x")
    changed = run("plugin", "check")
    assert (changed.exit_code, "its files were changed" in changed.stdout) == (2, True)
    assert "removed: guard" in run("plugin", "remove", "guard").stdout
    unknown = run("plugin", "show", "guard").exception
    assert isinstance(unknown, UserError)


def test_a_plugin_that_one_writes_is_checked(tmp_path: Path) -> None:
    source = make_neutral(tmp_path / "calc")
    checked = run("plugin", "check", str(source))
    assert (checked.exit_code, checked.stdout.splitlines()[-1]) == (2, "3 parts, 1 not used")
    (source / "mcp.json").unlink()
    assert run("plugin", "check", str(source)).exit_code == 0
    assert not (Home.from_environment().data / "plugins").exists()


def test_skills_are_added_from_a_repository(tmp_path: Path) -> None:
    source = make_neutral(tmp_path / "calc")
    git(source, "init", "-q")
    git(source, "add", "-A")
    git(source, "commit", "-qm", "c")
    commit = git(source, "rev-parse", "HEAD").strip()
    added = run("skill", "add", source.as_uri(), "--user", "-C", str(tmp_path))
    assert added.exit_code == 0, added.exception
    assert f"commit {commit}" in added.stdout
    folder = Home.from_environment().config / "skills/adding"
    assert (folder / "scripts/add.sh").is_file()
    again = run(
        "skill", "add", source.as_uri(), "--user", "--path", "skills/adding/deep", "-C", str(tmp_path)
    )
    assert "added: " in again.stdout
    assert not list((Home.from_environment().cache / "fetched").iterdir())
