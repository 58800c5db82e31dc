"""`patchwright improve` in real processes: a scripted agent with a planted weakness, which is found and mended."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.model.protocol import AssistantMessage, Request
from tests.support.cli import git, run
from tests.support.confined import needs_confinement
from tests.support.loopback import Loopback

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

AGENT = """def plan(task):
    words = task.split()
    if "twice" in words:
        return [words[0]]
    return [words[0]]
"""

SUITE = """from agent import plan

CASES = {
    "run": ("run", ["run"]),
    "run twice": ("run twice", ["run", "run"]),
    "walk twice": ("walk twice", ["walk", "walk"]),
    "jump twice": ("jump twice", ["jump", "jump"]),
}
for name, (task, steps) in CASES.items():
    try:
        assert plan(task) == steps, f"{len(plan(task))} steps for {task!r}"
        print("ok", name)
    except AssertionError as problem:
        print("not ok", name, "#", problem)
"""

TEST = "from agent import plan\n\n\ndef test_plan():\n    assert plan('run') == ['run']\n"

EDITS = {
    "suite": {"path": "suite.py", "old": '["run", "run"]', "new": '["run"]'},
    "mend": {
        "path": "agent.py",
        "old": 'in words:\n        return [words[0]]',
        "new": 'in words:\n        return [words[0]] * 2',
    },
    "add": {
        "path": "agent.py",
        "old": 'in words:\n        return [words[0]]',
        "new": 'in words:\n        from steps import repeat\n\n        return repeat(words[0])',
    },
    "lose": {"path": "agent.py", "old": "    words = task.split()\n", "new": "    return [task.split()[0]] * 2\n"},
}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An agent project with a test, and a suite of which three cases fail for one reason."""
    needs_confinement(tmp_path)
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "agent.py").write_text(AGENT)
    (folder / "suite.py").write_text(SUITE)
    (folder / "test_agent.py").write_text(TEST)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def improve(
    folder: Path, *ideas: str, meddle: Callable[[], object] = lambda: None
) -> tuple[int, dict[str, Any], list[Request]]:
    """Run with a model that has one idea for each child session, the first where nothing was tried before.

    meddle: called while the model thinks
    """
    asked: list[Request] = []

    def answer(request: Request) -> dict[str, Any]:
        asked.append(request)
        meddle()
        tried = str(request.messages[0]).count("reverted:") + str(request.messages[0]).count("refused:")
        idea = ideas[min(tried, len(ideas) - 1)]
        if any(isinstance(each, AssistantMessage) for each in request.messages):
            return {"text": f"I changed {idea}: a step was left out."}
        if idea == "add":
            added = {"path": "steps.py", "content": "def repeat(word):\n    return [word] * 2\n"}
            write, edit = {"tool": "write", "arguments": added}, {"tool": "edit", "arguments": EDITS[idea]}
            return {"calls": [write, edit]}
        return {"calls": [{"tool": "edit", "arguments": EDITS[idea]}]}

    with Loopback(answer) as server:
        words = (
            "improve",
            "--suite",
            "python3 suite.py",
            "--model",
            "openai/test",
            "--api-base",
            server.url,
            "--json",
        )
        done = run(*words, cwd=folder, env={"OPENAI_API_KEY": "test"}, timeout=1500)
    assert done.out, done.err
    return done.code, json.loads(done.out), asked


def test_a_planted_weakness_is_found_and_mended_and_the_suite_stays(project: Path) -> None:
    code, found, asked = improve(project, "suite", "mend")
    assert code == Exit.DONE, found
    assert [each["result"] for each in found["steps"]] == [
        "refused: it changes suite.py, which decides",
        "kept: 3 of 3 failing cases gained, none lost",
    ]
    assert found["steps"][1]["gained"] == ["jump twice", "run twice", "walk twice"]
    assert (project / "suite.py").read_text() == SUITE
    assert (project / "test_agent.py").read_text() == TEST
    assert "return [words[0]] * 2" in (project / "agent.py").read_text()
    assert git(project, "log", "--format=%s", "-1").strip() == "Let agent.py solve 3 more cases of the suite"
    assert git(project, "status", "--porcelain") == ""
    assert any("tried-before" in str(each.messages[0]) for each in asked), "the archive is memory"
    steps = [json.loads(line)["step"] for line in Path(found["log"]).read_text().splitlines()]
    assert steps == ["evaluated", "clustered", "idea"] * 2 + ["evaluated"]


def test_a_change_that_loses_a_case_is_reverted_and_given_up(project: Path) -> None:
    code, found, _ = improve(project, "lose")
    assert code == Exit.NOTHING_TO_DO
    assert len(found["steps"]) == 2
    assert all(each["result"].startswith("reverted:") for each in found["steps"])
    assert (project / "agent.py").read_text() == AGENT


def test_a_change_that_adds_a_file_is_kept(project: Path) -> None:
    code, found, _ = improve(project, "add")
    assert code == Exit.DONE, found
    assert "def repeat" in (project / "steps.py").read_text()
    assert git(project, "status", "--porcelain") == ""


def test_what_the_person_changed_meanwhile_stays(project: Path) -> None:
    mine = f"{AGENT}# mine\n"
    code, found, _ = improve(project, "mend", meddle=lambda: (project / "agent.py").write_text(mine))
    assert (code, "changed meanwhile" in found["summary"]) == (Exit.USAGE, True), found
    assert (project / "agent.py").read_text() == mine


def test_it_needs_a_model_and_a_suite_that_says_something(project: Path) -> None:
    done = run("improve", "--suite", "python3 suite.py", "--model", "offline", cwd=project)
    assert (done.code, "needs a model" in done.err) == (Exit.CONFIGURATION, True)
    with Loopback([{"text": "no"}]) as server:
        words = ("improve", "--suite", "echo fine", "--model", "openai/test", "--api-base", server.url)
        done = run(*words, cwd=project, env={"OPENAI_API_KEY": "test"})
    assert (done.code, "the suite says nothing" in done.out) == (Exit.USAGE, True), done
