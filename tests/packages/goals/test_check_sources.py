"""A goal's check passes on the work, not on a change of the files by which it judges."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from packages.goals.check_sources import describe_run
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

ASSERT = "python3 -c 'import a; assert a.f() == 2'"
WEAK = "python3 -c 'import a; assert a.f()'"
WORK = call("edit", path="a.py", old="return 1", new="return 2")

CHECKS: Mapping[str, tuple[str, str, str]] = {
    # what: (command, file that judges, its text)
    "a script": ("sh check.sh", "check.sh", f"#!/bin/sh\n{ASSERT}\n"),
    "a target": ("make check", "Makefile", f"check:\n\t{ASSERT}\n"),
    "a script of a package": (
        "npm run -s check",
        "package.json",
        f'{{"scripts": {{"check": "{ASSERT}"}}}}\n',
    ),
    "a program that checks": (
        "python3 ci/verify.py",
        "ci/verify.py",
        f"import os\nos.sys.exit(bool(os.system({ASSERT!r})))\n",
    ),
}


def work(
    folder: Path, command: str, files: Mapping[str, str], *changes: Any, goal: str = "make f return 2"
) -> Result:
    repo = Repo(folder / "r")
    for name, text in {"a.py": "def f():\n    return 1\n", ".gitignore": "__pycache__\n", **files}.items():
        repo.write(name, text)
    repo.commit_all("Start")
    turns = [{"calls": list(changes)}, *[{"text": "Done."}] * 8]
    return run(
        *("run", goal, "--until", command, "--max-turns", "1", "--model", script(folder, turns)),
        cwd=repo.root,
    )


def weaken(path: str) -> dict[str, Any]:
    return call("edit", path=path, old="assert a.f() == 2", new="assert a.f()")


@pytest.mark.parametrize("what", CHECKS)
def test_a_check_that_passes_by_a_change_of_itself_is_not_passed(tmp_path: Path, what: str) -> None:
    command, path, text = CHECKS[what]
    if not shutil.which(command.split()[0]):
        pytest.skip(f"no {command.split()[0]}")
    result = work(tmp_path, command, {path: text}, weaken(path))
    assert "goal not reached" in result.err, result.err
    assert f"with {path} as before the work" in result.err
    assert result.code != 0


def test_a_script_that_the_check_runs_by_another_one_counts(tmp_path: Path) -> None:
    files = {"check.sh": "#!/bin/sh\nsh ci/steps.sh\n", "ci/steps.sh": f"{ASSERT}\n"}
    result = work(tmp_path, "sh ./check.sh", files, weaken("ci/steps.sh"))
    assert "with ci/steps.sh as before the work" in result.err, result.err


def test_work_that_passes_the_check_as_it_was_is_done_whatever_else_was_changed(tmp_path: Path) -> None:
    command, path, text = CHECKS["a script"]
    result = work(
        tmp_path, command, {path: text}, WORK, call("edit", path=path, old="#!/bin/sh", new="#!/bin/sh -e")
    )
    assert "goal reached" in result.err, result.err
    assert result.code == 0


@pytest.mark.parametrize(
    ("command", "files", "change", "goal"),
    [
        (
            "sh check.sh",
            {"check.sh": "exit 1\n"},
            call("edit", path="check.sh", old="exit 1", new="exit 0"),
            "mend check.sh",
        ),
        (
            "sh new.sh",
            {},
            call("write", path="new.sh", content="exit 0\n"),
            "write a script new that ends with 0",
        ),
        (
            "python3 tool.py",
            {"tool.py": "1 / 0\n"},
            call("edit", path="tool.py", old="1 / 0", new="1 / 1"),
            "mend it",
        ),
    ],
    ids=["named by the goal", "made by the work", "the work itself"],
)
def test_a_check_of_the_work_itself_is_left_to_it(
    tmp_path: Path, command: str, files: Mapping[str, str], change: Any, goal: str
) -> None:
    result = work(tmp_path, command, files, change, goal=goal)
    assert "goal reached" in result.err, result.err


@pytest.mark.parametrize("name", ["test_total", "test_tax"])
def test_a_run_is_described_by_the_names_of_the_tests_that_fail(tmp_path: Path, name: str) -> None:
    """One test mended and another one broken is another result, though as many fail."""
    text = f"F.\nFAILED test_cart.py::{name} - assert 1 == 2\n1 failed, 1 passed in 0.01s\n"
    told = f"1 failed (test_cart.py::{name})"
    assert describe_run(text, 1, "exited", tmp_path) == told
    assert describe_run("3 passed in 0.01s\n", 0, "exited", tmp_path) == "3 passed"
