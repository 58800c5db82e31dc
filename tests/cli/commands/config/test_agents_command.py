"""`patchwright agents`: list, show, new, check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.app import app
from sandbox.errors import UserError
from tests.support.cli import git


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.slow
def test_an_agent_is_made_trusted_and_shown(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    place = ("-C", str(tmp_path))
    made = run("agents", "new", "fixer", *place)
    path = tmp_path / ".patchwright/agents/fixer.md"
    assert (made.exit_code, made.stdout.strip()) == (0, str(path))
    assert "patchwright trust" in made.stderr
    assert isinstance(run("agents", "new", "fixer", *place).exception, UserError)
    listed = json.loads(run("agents", "list", "--json", *place).stdout)
    assert [each["name"] for each in listed] == ["explore", "plan", "tester", "reviewer"]
    assert "agent .patchwright/agents/fixer.md: tools: Read, Grep, Glob" in run("trust", *place).stdout
    shown = json.loads(run("agents", "show", "fixer", "--json", *place).stdout)
    assert shown["tools"] == ["Read", "Grep", "Glob"]
    assert shown["source"] == ".patchwright/agents/fixer.md"
    assert "fixer" in run("agents", *place).stdout
    assert "tools: Read, Grep, Glob" in run("agents", "show", "fixer", *place).stdout
    checked = run("agents", "check", *place)
    assert (checked.exit_code, checked.stdout) == (0, "5 agents, 0 bad\n")
    path.write_text("---\nname: fixer\n---\nx")
    checked = run("agents", "check", "--json", *place)
    assert checked.exit_code == 2
    assert json.loads(checked.stdout)["bad"] == [
        ".patchwright/agents/fixer.md: there is no description: say in `description:` when to use this agent"
    ]


@pytest.mark.slow
def test_the_users_agents_lie_beside_their_settings(tmp_path: Path) -> None:
    made = run("agents", "new", "mine", "--user", "-C", str(tmp_path))
    assert made.exit_code == 0
    assert Path(made.stdout.strip()).is_file()
    assert "mine" in run("agents", "-C", str(tmp_path)).stdout
    unknown = run("agents", "show", "nobody", "-C", str(tmp_path)).exception
    assert isinstance(unknown, UserError)
    assert "no agent 'nobody'" in unknown.message
    bad = run("agents", "new", "A b", "-C", str(tmp_path)).exception
    assert isinstance(bad, UserError)
