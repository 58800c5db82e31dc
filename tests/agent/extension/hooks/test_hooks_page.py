"""docs/agent-hooks.md: its example runs, its table names every event; the command lists and tries hooks."""

from __future__ import annotations

import json
import re
from pathlib import Path

from typer.testing import CliRunner, Result

from agent.extension.hooks.hook_definition import EVENTS
from cli.app import app
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT, git

PAGE = (CHECKOUT / "docs/agent-hooks.md").read_text("utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_the_table_names_every_event() -> None:
    table = PAGE.partition("## Events")[2]
    named = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)))
    assert sorted(named) == sorted(EVENTS)


def test_the_example_of_the_page_forbids(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    blocks = dict(re.findall(r"^```(json|python)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    (tmp_path / ".claude/hooks").mkdir(parents=True)
    (tmp_path / ".claude/settings.json").write_text(blocks["json"])
    (tmp_path / ".claude/hooks/no_force_push.py").write_text(blocks["python"])
    place = ("-C", str(tmp_path))
    assert "no agent hooks" in run("agent-hooks", *place).stderr
    assert (
        "agent hook .claude/settings.json PreToolUse Bash: python3 .claude/hooks"
        in run("trust", *place).stdout
    )
    [listed] = json.loads(run("agent-hooks", "list", "--json", *place).stdout)
    assert (listed["event"], listed["matcher"], listed["project"]) == ("PreToolUse", "Bash", True)
    assert "PreToolUse Bash: python3" in run("agent-hooks", *place).stdout
    words = ("agent-hooks", "test", "PreToolUse", "--tool", "Bash", *place)
    forbidden = run(*words, "--input", '{"command": "git push --force"}')
    assert (forbidden.exit_code, "Do not force a push: ask for it." in forbidden.stdout) == (5, True)
    passed = run(*words, "--input", '{"command": "git push"}', "--json")
    assert (passed.exit_code, json.loads(passed.stdout)[0]["verdict"]) == (0, "")
    other = run("agent-hooks", "test", "PreToolUse", "--tool", "Read", *place)
    assert (other.exit_code, other.stdout) == (0, "0 hooks of PreToolUse for Read\n")
    for bad, told in (
        (("Setup",), "no event 'Setup'"),
        (("Stop", "--input", "{"), "no JSON"),
        (("Stop", "--input", "1"), "no table"),
    ):
        problem = run("agent-hooks", "test", *bad, *place).exception
        assert isinstance(problem, UserError)
        assert told in problem.message
