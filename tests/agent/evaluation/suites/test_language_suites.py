"""HumanEvalFix and Polyglot in the languages whose tools are on this machine; for the others the suite says which."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agent.evaluation.suites.programs.toolchains import find_missing_tool
from agent.evaluation.tasks.task_folder import Task
from tests.support.evaluation_tasks import build, open_checkers, write_tree

# Each runs compilers in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DATA = "evaluation/create/humaneval-x/data/{}/data/humanevalpack.jsonl"

FUNCTIONS = {"add": "+", "subtract": "-", "multiply": "*"}
"""Functions of two numbers; the fault is an extra 1."""

PYTHON_FUNCTIONS = {**FUNCTIONS, "floordiv": "//", "modulo": "%"}


@pytest.fixture(autouse=True)
def _show_rust(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have a HOME of their own; rustup's cargo finds its toolchain by the user's."""
    cargo = Path(shutil.which("cargo") or "/")
    if cargo.parent.parent.name == ".cargo":
        monkeypatch.setenv("RUSTUP_HOME", str(cargo.parent.parent.parent / ".rustup"))


def make_record(language: str, number: int, name: str, sign: str) -> dict[str, str]:
    """Return a record as the data set has it."""
    right = {"+": 9, "-": 5, "*": 14, "//": 3, "%": 1}[sign]
    parts = {
        "python": (f"def {name}(a, b):\n", f"    return a {sign} b", f"    return a {sign} b + 1",
                   f"def check(candidate):\n    assert candidate(7, 2) == {right}\n\ncheck({name})\n"),
        "javascript": (f"const {name} = (a, b) => {{\n", f"  return a {sign} b\n}}", f"  return a {sign} b + 1\n}}",
                       f"const check = () => {{\n  console.assert({name}(7, 2) === {right})\n}}\ncheck()\n"),
        "rust": (f"use rand::Rng;\nuse regex::Regex;\nuse md5;\nfn {name}(a: i32, b: i32) -> i32 {{\n",
                 f"    a {sign} b\n}}", f"    a {sign} b + 1\n}}",
                 "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn check() {\n"
                 f"        assert_eq!({name}(7, 2), {right});\n    }}\n}}\n"),
        "java": (f"import java.util.*;\n\nclass Solution {{\n    public int {name}(int a, int b) {{\n",
                 f"        return a {sign} b;\n    }}\n}}", f"        return a {sign} b + 1;\n    }}\n}}",
                 "public class Main {\n    public static void main(String[] args) {\n"
                 f"        List<Boolean> correct = Arrays.asList(new Solution().{name}(7, 2) == {right});\n"
                 "        if (correct.contains(false)) throw new AssertionError();\n    }\n}\n"),
        "cpp": (f"#include<vector>\nint {name}(int a, int b){{\n", f"    return a {sign} b;\n}}",
                f"    return a {sign} b + 1;\n}}",
                f"#undef NDEBUG\n#include<assert.h>\nint main(){{\n    assert({name}(7, 2) == {right});\n}}\n"),
    }  # fmt: skip
    declaration, good, bad, test = parts[language]
    return {
        "task_id": f"{language}/{number}",
        "declaration": declaration,
        "canonical_solution": good,
        "buggy_solution": bad,
        "test": test,
        "entry_point": name,
        "docstring": f"The {name} of two numbers.",
        "bug_type": "excess logic",
    }


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
        records = [make_record(language, n, *each) for n, each in enumerate(functions.items())]
        write_tree(source, {DATA.format(folder): "\n".join(map(json.dumps, records)) + "\n"})
    summary, tasks = build("humanevalfix", source, tmp_path / "suite")
    here = [each for each in folders if not find_missing_tool(each)]
    assert summary.written == sum(5 if each == "python" else 1 for each in here)
    assert sum(summary.missing.values()) == len(folders) - len(here)
    assert all(reason.endswith("is not installed") for reason in summary.missing)
    assert_tells_right_from_wrong(tasks)


def test_humanevalfix_holds_python_to_inputs_that_no_test_has(tmp_path: Path) -> None:
    """A program that answers the published check alone is not right."""
    record = make_record("python", 0, "add", "+")
    source = write_tree(tmp_path / "octopack", {DATA.format("python"): json.dumps(record)})
    _, (task,) = build("humanevalfix", source, tmp_path / "suite", languages=["python"])
    head = b"--- a/solution.py\n+++ b/solution.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
    patch = head + b"-    return a + b + 1\n+    return 9\n"
    with open_checkers() as checkers:
        checked = checkers.run(task, patch)
    assert checked.code == 1
    assert "held-out inputs" in checked.output


def make_exercise(folder: Path, language: str, name: str, number: int) -> None:
    """Write an exercise in Exercism's layout: a stub, a test and an example."""
    solution, test = {
        "python": (f"{name}.py", f"{name}_test.py"),
        "rust": ("src/lib.rs", f"tests/{name}.rs"),
    }[language]
    suffix = Path(solution).suffix
    texts = {
        "python": ("def answer():\n    pass\n", f"def answer():\n    return {number}\n",
                   f"import unittest\n\nfrom {name} import answer\n\n\nclass Test(unittest.TestCase):\n"
                   f"    def test_answer(self):\n        self.assertEqual(answer(), {number})\n"),
        "rust": ("pub fn answer() -> i32 {\n    todo!()\n}\n", f"pub fn answer() -> i32 {{\n    {number}\n}}\n",
                 f"use {name}::answer;\n\n#[test]\n#[ignore]\nfn one() {{\n    assert_eq!(answer(), {number});\n}}\n"),
    }  # fmt: skip
    stub, example, tests = texts[language]
    files = {
        ".docs/instructions.md": f"Answer {number}.",
        ".meta/config.json": json.dumps(
            {"files": {"solution": [solution], "test": [test], "example": [f".meta/example{suffix}"]}}
        ),
        f".meta/example{suffix}": example,
        solution: stub,
        test: tests,
    }
    if language == "rust":
        files["Cargo.toml"] = f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
    write_tree(folder / language / "exercises/practice" / name, files)


def test_polyglot(tmp_path: Path) -> None:
    source = tmp_path / "polyglot-benchmark"
    for number in range(5):
        make_exercise(source, "python", f"task{number}", number)
    make_exercise(source, "rust", "crab", 7)
    needing = {"Cargo.toml": '[package]\nname = "x"\n[dependencies]\nrand = "0.8"\n'}
    make_exercise(source, "rust", "lonely", 8)
    write_tree(source / "rust/exercises/practice/lonely", needing)
    summary, tasks = build("polyglot", source, tmp_path / "suite")
    if find_missing_tool("rust"):
        assert summary.missing == {"cargo is not installed": 2}
    else:
        assert summary.missing == {"crates are not installed": 1}
    assert [each.name for each in tasks][:5] == [f"python-task{number}" for number in range(5)]
    assert "Answer 3." in tasks[3].prompt
    assert_tells_right_from_wrong(tasks)
