"""`patchwright tests` shows what would be run and why, lists tests unrun, and says how each failing one runs again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.support.cli import git, run

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "test_cart.py").write_text("def test_one():\n    pass\n\ndef test_bad():\n    assert 1 == 2\n")
    return root


def test_the_command_is_shown_with_its_reason(project: Path) -> None:
    done = run("tests", "--explain", cwd=project)
    assert done.code == Exit.DONE
    first, second = done.out.splitlines()
    assert first.startswith("pytest: ")
    assert first.endswith("-m pytest")
    assert second == "  chosen by test_cart.py"


def test_tests_are_listed_without_being_run(project: Path) -> None:
    (project / "test_cart.py").write_text("open('ran', 'w')\n\ndef test_one():\n    open('test ran', 'w')\n")
    page = json.loads(run("tests", "--list", "--json", cwd=project).out)
    assert page["names"] == {"pytest": ["test_cart.py::test_one"]}
    assert page["unlisted"] == []
    assert not (project / "test ran").exists()


def test_a_runner_that_cannot_list_its_tests_is_not_started(project: Path) -> None:
    (project / "test_cart.py").unlink()
    (project / "Makefile").write_text("test:\n\ttouch ran\n")
    done = run("tests", "--list", cwd=project)
    assert "make test cannot list its tests without running them" in done.out
    assert not (project / "ran").exists()


def test_failing_tests_of_the_last_run_come_with_their_commands(project: Path) -> None:
    run("run", "make the failing tests pass", "--model", "offline", cwd=project)
    page = json.loads(run("tests", "--json", cwd=project).out)
    assert (page["last"]["outcome"], page["last"]["failed"]) == ("failed", 1)
    [(name, command)] = page["again"].items()
    assert name == "test_cart.py::test_bad"
    assert command.endswith("-m pytest test_cart.py::test_bad")
    text = run("tests", cwd=project).out
    assert "last run: failed (1 failed, 1 passed)" in text
    assert f"  {name}\n    {command}" in text


def test_what_is_missing_is_named_with_its_remedy(project: Path) -> None:
    (project / "test_cart.py").unlink()
    (project / "package.json").write_text('{"scripts": {"test": "jest"}, "devDependencies": {"jest": "*"}}')
    done = run("tests", cwd=project)
    assert done.code == Exit.NO_TEST_RUNNER
    assert "cannot run: " in done.out
    assert "npm" in done.out


def test_without_a_runner_it_is_said_what_was_looked_for(tmp_path: Path) -> None:
    done = run("tests", cwd=tmp_path)
    assert done.code == Exit.NO_TEST_RUNNER
    assert done.out.startswith("not run: no runner found in ")
