"""`patchwright tune` in real processes: a world whose model says the unit only where a rule asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.model.protocol import Request
from tests.support.cli import git, run
from tests.support.confined import needs_confinement
from tests.support.loopback import Loopback

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

KEY = {"OPENAI_API_KEY": "test"}
TASKS = 12


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository, with a suite and rules beside it."""
    needs_confinement(tmp_path)
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "AGENTS.md").write_text("Be short.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    for number in range(TASKS):
        task = tmp_path / "suite" / f"length-{number}"
        (task / "repo").mkdir(parents=True)
        (task / "repo" / "note.txt").write_text("12\n")
        (task / "task.toml").write_text(
            f'prompt = "How long is part {number}?"\n'
            """check = 'grep -q "12 cm" "$PATCHWRIGHT_ANSWER"'\n[base]\nfolder = "repo"\n"""
        )
    (tmp_path / "rules.md").write_text("- Be polite.\n- Say the unit.\n- Guess.\n")
    return folder


def answer(request: Request) -> dict[str, Any]:
    told = str(request)
    return {"text": "It is 12 cm." if "Say the unit." in told and "- Guess." not in told else "It is 12."}


def tune(folder: Path, *words: str) -> tuple[int, str]:
    done = run("tune", *words, cwd=folder, env=KEY, timeout=1500)
    assert done.out, done.err
    return done.code, done.out


def test_the_rule_that_helps_is_found_confirmed_applied_and_reverted(project: Path) -> None:
    with Loopback(answer) as server:
        options = ("--model", "openai/test", "--api-base", server.url, "--json")
        code, out = tune(project, "run", "../suite", "--rules", "../rules.md", *options)
        found = json.loads(out)
        assert (code, found["version"], found["rules"]) == (Exit.DONE, 1, ["Say the unit."]), found
        assert found["held_out"]["rates"] == [0.0, 1.0]
        assert found["held_out"]["p_value"] < 0.05
        assert found["held_out"]["tasks"] == TASKS // 2
        asked = len(server.requests)
        code, out = tune(project, "run", "../suite", "--rules", "../rules.md", *options)
        assert json.loads(out)["version"] == 2
        assert len(server.requests) == asked, "results that are there are not drawn again"
    assert tune(project, "apply", "1")[0] == Exit.DONE
    assert "- Say the unit." in (project / "AGENTS.md").read_text()
    assert "1 (applied): 0.0% to 100.0% of 6 held-out tasks" in tune(project, "show")[1]
    assert tune(project, "revert")[1] == "AGENTS.md has no version\n"
    assert (project / "AGENTS.md").read_text().strip() == "Be short."


def test_rules_that_do_not_help_become_no_version(project: Path) -> None:
    (project.parent / "rules.md").write_text("Be polite.\n")
    with Loopback(answer) as server:
        options = ("--model", "openai/test", "--api-base", server.url, "--limit", "4")
        code, out = tune(project, "run", "../suite", "--rules", "../rules.md", *options)
    assert code == Exit.NOTHING_TO_DO
    assert "nothing was better than the guideline as it is" in out
    assert "0% to 0% of the tasks that choose" in out
    assert not (project / ".patchwright").exists()


def answer_by_tools(request: Request) -> dict[str, Any]:
    """Answer right where no code is asked for."""
    return {"text": f"It is 12{'' if 'python' in [each.name for each in request.tools] else ' cm'}."}


def test_the_strategy_that_helps_is_found_confirmed_applied_and_reverted(project: Path) -> None:
    parts = project.parent / "parts.toml"
    parts.write_text('actions = ["tools", "hybrid"]\ndiscipline.rules = ["off", "enforce"]\n')
    with Loopback(answer_by_tools) as server:
        options = ("--model", "openai/test", "--api-base", server.url, "--json", "--kind", "strategy")
        code, out = tune(project, "run", "../suite", "--rules", "../parts.toml", *options)
        found = json.loads(out)
        assert (code, found["kind"], found["version"]) == (Exit.DONE, "strategy", 1), found
        assert found["rules"] == ['actions = "tools"']
        assert found["held_out"]["rates"] == [0.0, 1.0]
    code, out = tune(project, "apply", "1", "--kind", "strategy")
    assert (code, out) == (Exit.DONE, "patchwright.toml has version 1; it counts after `patchwright trust`\n")
    assert 'actions = "tools"\n' in (project / "patchwright.toml").read_text()
    assert "strategy 1 (applied): 0.0% to 100.0% of 6 held-out tasks" in tune(project, "show")[1]
    assert tune(project, "revert", "--kind", "strategy")[1] == "patchwright.toml has no version\n"
    assert not (project / "patchwright.toml").exists()


def answer_by_description(request: Request) -> dict[str, Any]:
    """Answer right where a tool is described in the words that help."""
    return {"text": f"It is 12{' cm' if any('in cm' in each.description for each in request.tools) else ''}."}


def test_the_description_that_helps_is_found_confirmed_applied_and_reverted(project: Path) -> None:
    parts = project.parent / "parts.toml"
    parts.write_text('descriptions.read = ["Read a file.", "Read a file. Lengths are in cm."]\n')
    kind = ("--kind", "descriptions")
    with Loopback(answer_by_description) as server:
        options = ("--model", "openai/test", "--api-base", server.url, "--json")
        code, out = tune(project, "run", "../suite", "--rules", "../parts.toml", *options, *kind)
        found = json.loads(out)
        assert (code, found["kind"], found["version"]) == (Exit.DONE, "descriptions", 1), found
        assert found["rules"] == ['descriptions.read = "Read a file. Lengths are in cm."']
        assert found["held_out"]["rates"] == [0.0, 1.0]
    assert tune(project, "apply", "1", *kind) == (
        Exit.DONE,
        "patchwright.toml has version 1; it counts after `patchwright trust`\n",
    )
    assert (
        'descriptions.read = "Read a file. Lengths are in cm."\n'
        in (project / "patchwright.toml").read_text()
    )
    assert "descriptions 1 (applied): 0.0% to 100.0% of 6 held-out tasks" in tune(project, "show")[1]
    assert tune(project, "revert", *kind)[1] == "patchwright.toml has no version\n"
    assert not (project / "patchwright.toml").exists()


def test_words_without_a_file_of_them_are_not_chosen(project: Path) -> None:
    done = run("tune", "run", "../suite", "--kind", "prompts", "--model", "openai/test", cwd=project, env=KEY)
    assert (done.code, done.out) == (Exit.USAGE, "")
    assert "no rules in ''" in done.err
