"""Small data sets in the layouts of the public suites: programs of our own, five tasks and more each."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.evaluation_tasks import write_tree

REVERSE = "prev = None\n    while node:\n        node.successor, prev, node = prev, node, node.successor\n"

QUIX = {
    "gcd": ("return gcd(a % b, b) if b else a", "return gcd(b, a % b) if b else a", "a, b"),
    "bitcount": ("return bin(n)[2:].count('0')", "return bin(n).count('1')", "n"),
    "sqrt": (
        "x = x0 = a / 2\n    while abs(x - x0) > epsilon:\n        x = 0.5 * (x + a / x)\n    return x",
        "x = a / 2\n    while abs(x * x - a) > epsilon:\n        x = 0.5 * (x + a / x)\n    return x",
        "a, epsilon",
    ),
    "flatten": (
        "for x in arr:\n        yield from flatten(x) if isinstance(x, list) else [[x]]",
        "for x in arr:\n        yield from flatten(x) if isinstance(x, list) else [x]",
        "arr",
    ),
    "reverse_linked_list": (f"{REVERSE}    return node", f"{REVERSE}    return prev", "node"),
}
"""Programs as (faulty body, right body, arguments)."""

PROBLEMS = {
    "add": ("a + b - 1", "a + b"),
    "largest": ("min(a, b)", "max(a, b)"),
    "scale": ("a * b + b", "a * b"),
    "gap": ("a - b", "abs(a - b)"),
    "first-or": ("a and b", "a or b"),
    "power": ("a ** 2 + b", "a + b ** 2"),
}
"""LeetCode-like problems as (faulty expression, right expression)."""

HUMANEVAL_DATA = "evaluation/create/humaneval-x/data/{}/data/humanevalpack.jsonl"

FUNCTIONS = {"add": "+", "subtract": "-", "multiply": "*"}
"""Functions of two numbers; the fault is an extra 1."""

PYTHON_FUNCTIONS = {**FUNCTIONS, "floordiv": "//", "modulo": "%"}

RENAMED_TEST = """\
import ast
import unittest


class Renamed(unittest.TestCase):
    def test_new_name(self):
        names = [node.name for node in ast.walk(ast.parse(open("../src/shop.py").read())) if hasattr(node, "name")]
        self.assertIn("total{number}", names)

    def test_module_is_there(self):
        open("../src/shop.py").close()


unittest.main()
"""

UV = """\
#!/bin/sh
# An environment of the Python that runs the evaluation: there is no package index here.
if [ "$1" = venv ]; then
    mkdir -p .venv/bin
    printf '#!/bin/sh\\nexec "%s" "$@"\\n' "$PYTHON" >.venv/bin/python
    chmod +x .venv/bin/python
fi
"""

DOCKERFILE = """\
FROM python:3.12-slim
# a comment
RUN apt-get update && apt-get install -y --no-install-recommends \\
    git && rm -rf /var/lib/apt/lists/*
ENV A=1
WORKDIR /app
COPY . /app
RUN echo start > /app/state.txt
"""
VERIFY = "#!/bin/bash\nif grep -q done{n} /app/state.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSource:
    """A data set. source: as `--from` names it; options: of the build; solutions: patches by task, of a suite that has
    no references"""

    source: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    solutions: Mapping[str, bytes] = field(default_factory=dict)


def write_quixbugs(folder: Path) -> SuiteSource:
    """Five programs under names of the data set."""
    write_tree(folder, {"conftest.py": "", "python_testcases/node.py": ""})
    for name, (bad, good, arguments) in QUIX.items():
        head = f"def {name}({arguments}):\n    "
        write_tree(folder, {
            f"python_programs/{name}.py": f'{head}{bad}\n\n"""\nThe fault is told here.\n"""\n',
            f"correct_python_programs/{name}.py": f"{head}{good}\n",
            f"python_testcases/test_{name}.py": f"from python_programs.{name} import {name}\n",
        })  # fmt: skip
    return SuiteSource(source=folder)


def make_humaneval_record(language: str, number: int, name: str, sign: str) -> dict[str, str]:
    """Return a record of HumanEvalFix as the data set has it."""
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


def write_humanevalfix(folder: Path) -> SuiteSource:
    """Five functions in Python."""
    rows = [make_humaneval_record("python", n, *each) for n, each in enumerate(PYTHON_FUNCTIONS.items())]
    write_tree(folder, {HUMANEVAL_DATA.format("python"): "\n".join(map(json.dumps, rows)) + "\n"})
    return SuiteSource(source=folder)


def write_debugbench(folder: Path) -> SuiteSource:
    """Six problems, and one whose examples nobody can read."""

    def record(slug: str, bad: str, good: str) -> dict[str, object]:
        head = "class Solution:\n    def solve(self, a: int, b: int) -> int:\n        return "
        examples = [f"Input: a = {a}, b = {b}\nOutput: {a}" for a, b in ((3, 4), (20, 7), (35, 2))]
        return {
            "slug": slug,
            "description": f"Compute {slug}.",
            "examples": examples,
            "oracle_code": head + good,
            "buggy_code": head + bad,
        }

    rows = [record(name, *programs) for name, programs in PROBLEMS.items()]
    unread = {**record("tree", "a", "b"), "examples": ["Input: root = a drawing\nOutput: 1"]}
    write_tree(folder, {"benchmark/python3_condition error.json": json.dumps([*rows, unread])})
    return SuiteSource(source=folder)


def write_refactory(folder: Path) -> SuiteSource:
    """Five wrong answers to one assignment, in the archive."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        question = "data/question_1"
        archive.writestr(f"{question}/description.txt", "Double a number.")
        archive.writestr(f"{question}/code/reference/reference.py", "def twice(x):\n    return x * 2\n")
        for number, expression in enumerate(("x", "x + 1", "x * 3", "-x", "x - 2")):
            name = f"{question}/code/wrong/wrong_1_{number:03}.py"
            archive.writestr(name, f"def twice(x):\n    return {expression}\n")
        for number, value in enumerate((3, 5)):
            archive.writestr(f"{question}/ans/input_{number:03}.txt", f"twice({value})")
            archive.writestr(f"{question}/ans/output_{number:03}.txt", str(value * 2))
    return SuiteSource(source=folder)


def write_exercise(folder: Path, language: str, name: str, number: int) -> None:
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


def write_polyglot(folder: Path) -> SuiteSource:
    """Five exercises in Python."""
    for number in range(5):
        write_exercise(folder, "python", f"task{number}", number)
    return SuiteSource(source=folder)


def write_refactorbench(folder: Path) -> SuiteSource:
    """Five renamings in one project, and a task of a project that has to be installed."""
    files = {"repositories/flask_refactor/src/shop.py": "def total():\n    return 0\n"}
    entries: list[str] = []
    solutions: dict[str, bytes] = {}
    for number in range(5):
        test = f"flask_refactor/rename{number}-test.py"
        problem = f"problems/base_problems/rename{number}-task.txt"
        files[f"tests/{test}"] = RENAMED_TEST.format(number=number)
        files[problem] = f"Rename total to total{number}."
        entries.append(f"    '../tests/{test}': '../{problem}',")
        head = "--- a/src/shop.py\n+++ b/src/shop.py\n@@ -1,2 +1,2 @@\n"
        patch = f"{head}-def total():\n+def total{number}():\n     return 0\n"
        solutions[f"flask-rename{number}"] = patch.encode()
    entries.append("    '../tests/django_refactor/x-test.py': '../problems/base_problems/x-task.txt',")
    files["scripts/base_mapping.py"] = "file_mapping = {\n" + "\n".join(entries) + "\n}\n"
    return SuiteSource(source=write_tree(folder, files), solutions=solutions)


def write_swebench(folder: Path) -> SuiteSource:
    """Five instances of one project, with its clone. Puts a `uv` that needs no package index first on the PATH."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", clone, *identity, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    clone = write_tree(
        folder / "clones/shop", {"shop.py": "".join(f"def f{n}():\n    return 0\n\n\n" for n in range(5))}
    )
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
        git(*arguments)
    rows = []
    for number in range(5):
        text = (clone / "shop.py").read_text()
        old, new = f"def f{number}():\n    return 0", f"def f{number}():\n    return {number + 1}"
        (clone / "shop.py").write_text(text.replace(old, new))
        patch = git("diff")
        place = clone / f"test_f{number}.py"
        place.write_text(
            f"from shop import f{number}\n\n\ndef test_it():\n    assert f{number}() == {number + 1}\n"
        )
        git("add", "-N", place.name)
        test_patch = git("diff", "--", place.name)
        git("reset", "-q", "--hard")
        place.unlink(missing_ok=True)
        rows.append({
            "instance_id": f"acme__shop-{number}", "repo": "acme/shop", "base_commit": git("rev-parse", "HEAD").strip(),
            "problem_statement": f"f{number} is wrong", "patch": patch, "test_patch": test_patch,
            "FAIL_TO_PASS": json.dumps([f"test_f{number}.py::test_it"]), "PASS_TO_PASS": "[]",
        })  # fmt: skip
    write_tree(folder, {"bin/uv": UV, "instances.jsonl": "\n".join(map(json.dumps, rows)) + "\n"})
    (folder / "bin/uv").chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return SuiteSource(source=folder / "instances.jsonl", options={"repositories": clone.parent})


def write_harbor(folder: Path) -> SuiteSource:
    """Four tasks of Harbor, one of terminal-bench, and one without a Dockerfile."""
    for number in range(4):
        write_tree(folder / f"state-{number}", {
            "task.toml": '[metadata]\ntags = ["files"]\n[agent]\ntimeout_sec = 77.0\n',
            "instruction.md": f"Append done{number} to `/app/state.txt`.",
            "environment/Dockerfile": DOCKERFILE,
            "environment/notes.txt": "see /app/state.txt",
            "tests/test.sh": VERIFY.replace("{n}", str(number)),
            "solution/solve.sh": f"echo done{number} >> /app/state.txt\n",
        })  # fmt: skip
    write_tree(folder / "old-style", {
        "task.yaml": "instruction: |-\n  Write 5 into /app/five.txt\ntags: [files]\n",
        "Dockerfile": "FROM ubuntu\nWORKDIR /app\n",
        "solution.sh": "echo 5 > five.txt\n",
        "run-tests.sh": "curl https://example.invalid\n",
        "tests/test_outputs.py": "from pathlib import Path\n\n\ndef test_five():\n"
        "    assert Path('/app/five.txt').read_text() == '5\\n'\n",
    })  # fmt: skip
    write_tree(folder / "image-only", {"task.toml": "", "instruction.md": "Do it.", "tests/test.sh": "true"})
    return SuiteSource(source=folder)


WRITERS: Mapping[str, Callable[[Path], SuiteSource]] = {
    "quixbugs": write_quixbugs,
    "humanevalfix": write_humanevalfix,
    "debugbench": write_debugbench,
    "refactory": write_refactory,
    "polyglot": write_polyglot,
    "refactorbench": write_refactorbench,
    "swebench": write_swebench,
    "harbor": write_harbor,
}
"""Writers by suite: each writes a data set into a folder that is not there yet."""
