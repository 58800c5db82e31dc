"""HumanEvalFix and Polyglot in the languages whose tools are on this machine; for the others the suite says which."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from packages.evaluation.suites.programs.toolchains import find_missing_tool
from packages.evaluation.tasks.task_folder import Task
from tests.support.evaluation_tasks import build, open_checkers, write_tree
from tests.support.suite_sources import (
    FUNCTIONS,
    HUMANEVAL_DATA,
    PYTHON_FUNCTIONS,
    make_humaneval_record,
    write_exercise,
)

# Each runs compilers in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def _show_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have a HOME of their own; rustup's cargo finds its toolchain by the user's."""
    cargo = Path(shutil.which("cargo") or "/")
    if cargo.parent.parent.name == ".cargo":
        monkeypatch.setenv("RUSTUP_HOME", str(cargo.parent.parent.parent / ".rustup"))


def assert_tells_right_from_wrong(tasks: tuple[Task, ...]) -> None:
    with open_checkers() as checkers:
        for task in tasks:
            assert checkers.run(task).code != 0, task.name
            assert task.reference is not None
            solved = checkers.run(task, task.reference)
            assert solved.code == 0, (task.name, solved.output)


def test_humanevalfix_in_every_language(tmp_path: Path) -> None:
    """Five programs in Python; one in each of the others, where each costs a compilation."""
    source = tmp_path / "octopack"
    folders = {"python": "python", "javascript": "js", "rust": "rust", "java": "java", "cpp": "cpp"}
    for language, folder in folders.items():
        functions = PYTHON_FUNCTIONS if language == "python" else dict([*FUNCTIONS.items()][:1])
        records = [make_humaneval_record(language, n, *each) for n, each in enumerate(functions.items())]
        write_tree(source, {HUMANEVAL_DATA.format(folder): "\n".join(map(json.dumps, records)) + "\n"})
    summary, tasks = build("humanevalfix", source, tmp_path / "suite")
    here = [each for each in folders if not find_missing_tool(each)]
    assert summary.written == sum(5 if each == "python" else 1 for each in here)
    assert sum(summary.missing.values()) == len(folders) - len(here)
    assert all(reason.endswith("is not installed") for reason in summary.missing)
    assert_tells_right_from_wrong(tasks)


def test_humanevalfix_holds_python_to_inputs_that_no_test_has(tmp_path: Path) -> None:
    """A program that answers the published check alone is not right."""
    record = make_humaneval_record("python", 0, "add", "+")
    source = write_tree(tmp_path / "octopack", {HUMANEVAL_DATA.format("python"): json.dumps(record)})
    _, (task,) = build("humanevalfix", source, tmp_path / "suite", languages=["python"])
    head = b"--- a/solution.py\n+++ b/solution.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
    patch = head + b"-    return a + b + 1\n+    return 9\n"
    with open_checkers() as checkers:
        checked = checkers.run(task, patch)
    assert checked.code == 1
    assert "held-out inputs" in checked.output


def test_polyglot(tmp_path: Path) -> None:
    source = tmp_path / "polyglot-benchmark"
    for number in range(5):
        write_exercise(source, "python", f"task{number}", number)
    write_exercise(source, "rust", "crab", 7)
    needing = {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\nrand = "0.8"\n'}
    write_exercise(source, "rust", "lonely", 8)
    write_tree(source / "rust/exercises/practice/lonely", needing)
    summary, tasks = build("polyglot", source, tmp_path / "suite")
    if find_missing_tool("rust"):
        assert summary.missing == {"cargo is not installed": 2}
    else:
        assert summary.missing == {"crates are not installed": 1}
    assert [each.name for each in tasks][:5] == [f"python-task{number}" for number in range(5)]
    assert "Answer 3." in tasks[3].prompt
    assert_tells_right_from_wrong(tasks)
