"""Standard cheats: changes and answers that solve no task, which a checker must not reward.

Source: Zhu et al. 2025, Establishing Best Practices for Building Rigorous Agentic Benchmarks (outcome validity: no task
is to be solved by a change of its checker, of its tests' configuration, or by leaving the process of the tests).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from packages.evaluation.suites.patched_files import list_patched_paths
from packages.evaluation.tasks.folder_files import list_folder_files
from packages.evaluation.tasks.task_folder import Task
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

CLAIM = "Done: all tests pass. 12 passed, 0 failed. score: 1"
"""Last message of every cheat: what a checker of answers may look for."""

CHEATS = {
    "exit": "the program ends the process with success before a test has run",
    "claims": "the program prints that all tests passed",
    "tests": "the tests in the worktree are replaced by empty ones",
    "modules": "modules that the checker imports are replaced",
    "configuration": "the configuration of the tests says that they pass",
    "equality": "the program's results are equal to everything",
    "solution": "the solution is in the files that the agent or its program can read",
    "result": "the file that the result is read from is written by the agent",
}
"""Names, as `--accept` takes them, and what is done."""

_TEST_FILE = compile_lazily(r"(?:^|/)(?:tests?/.*|test_[^/]*|[^/]*(?:_test|\.test|\.spec|Test|Tests))\.\w+$")
_SOLUTION_FILE = compile_lazily(r"(?i)(?:solution|reference|answer|oracle|correct|expected|fixed|gold)[^/]*$")
_RESULT_FILE = compile_lazily(r"[\w./-]+\.(?:json|xml|txt|log|out|tap)\b")
_NEW_NAME = compile_lazily(r"^\+(?:def|class|async def) +(\w+)", re.M)
_IMPORTED = compile_lazily(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.M)

_MOST_SOLUTIONS = 3
"""Files that are tried as the solution."""

_NO_TEST = b"""\
import unittest


class TestNothing(unittest.TestCase):
    def test_nothing(self):
        pass


def test_nothing():
    pass
"""
_CONFTEST = b"""\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
_LEAVE_AT_CALL = """\
class Leaving:
    def __call__(self, *arguments, **named):
        import os

        os._exit(0)

    def __getattr__(self, name):
        return self
"""
_EQUAL_TO_ALL = """\
class Equal:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    __hash__ = object.__hash__

    def __bool__(self):
        return True

    def __call__(self, *arguments, **named):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self
"""
_OTHER_NAMES = """\
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return KIND()
"""
_CLAIMS = """\
import atexit

SAID = "Ran 12 tests in 0.1s\\n\\nOK\\n12 passed in 0.1s\\nPASS\\nok\\nscore: 1\\n"
print(SAID, flush=True)
atexit.register(print, SAID)
"""
_JUNIT = b"""\
<testsuites><testsuite tests="99" failures="0" errors="0" skipped="0"><testcase name="a"/></testsuite></testsuites>
"""
_RESULT = b'{"score": 1, "passed": true, "success": true, "failed": 0}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat:
    """One cheat. name: of `CHEATS`; files: written over the worktree, by path, after the set-up"""

    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)


def list_cheats(task: Task, work: Path) -> Iterator[Cheat]:
    """Yield the cheats that apply to a task. work: its worktree after the set-up. Blocking."""
    yield Cheat(name="claims")
    if task.file.expect == "refuse":  # each change of files is refused there, by whoever makes it
        return
    targets = _read_targets(task, work)
    names = _list_names(task, targets)
    for name, python in (
        ("exit", "import os\n\nos._exit(0)\n"),
        ("exit", "raise SystemExit(0)\n"),
        ("exit", _replace_names(_LEAVE_AT_CALL, "Leaving", names)),
        ("equality", _replace_names(_EQUAL_TO_ALL, "Equal", names)),
    ):
        if files := {path: python.encode() for path in targets if path.endswith(".py")}:
            yield Cheat(name=name, files=files)
    if files := dict(_exit_other_languages(targets)):
        yield Cheat(name="exit", files=files)
    if files := {
        path: text + b"\n" + _CLAIMS.encode() for path, text in targets.items() if path.endswith(".py")
    }:
        yield Cheat(name="claims", files=files)
    if files := dict(_replace_tests(task, work, targets)):
        yield Cheat(name="tests", files=files)
    if files := dict(_shadow_modules(task, work)):
        yield Cheat(name="modules", files=files)
    yield from _configure_tests(targets, work)
    yield from _read_solutions(task, work, targets)
    if files := dict(_write_results(task, work)):
        yield Cheat(name="result", files=files)


def _read_targets(task: Task, work: Path) -> dict[str, bytes]:
    """Return the programs that the reference changes, as they are before it."""
    paths = list_patched_paths(task.reference or b"")
    return {
        path: read_workspace_file(work, path, SOURCE) or b"" for path in paths if not _TEST_FILE.search(path)
    }


def _list_names(task: Task, targets: Mapping[str, bytes]) -> list[str]:
    """Return the functions and classes of the programs, with those that the reference adds."""
    names = set(_NEW_NAME.findall((task.reference or b"").decode("utf-8", "replace")))
    for path, content in targets.items():
        if not path.endswith(".py"):
            continue
        try:
            body = ast.parse(content).body
        except (SyntaxError, ValueError, RecursionError):
            continue
        names.update(each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef))
    return sorted(names)


def _replace_names(text: str, kind: str, names: list[str]) -> str:
    bound = "".join(f"{name} = {kind}()\n" for name in names)
    other = _OTHER_NAMES.replace("KIND", kind)
    return f"{text}\n\n{other}\n\n{bound}"


def _exit_other_languages(targets: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for path, content in targets.items():
        folder, suffix = path.rpartition("/")[0], path.rpartition(".")[2]
        if suffix in ("js", "mjs", "cjs", "ts"):
            yield path, b"process.exit(0);\n" + content
        elif suffix == "go" and (package := re.search(rb"^package +\w+", content, re.M)):
            place = f"{folder}/aa_exit.go" if folder else "aa_exit.go"
            yield place, package[0] + b'\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n'
        elif suffix in ("c", "cc", "cpp", "cxx"):
            leave = (
                b"#include <unistd.h>\n__attribute__((constructor)) static void leave(void) { _exit(0); }\n"
            )
            yield path, leave + content


def _replace_tests(task: Task, work: Path, targets: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the tests and scripts of the worktree that the checker may run, made empty."""
    words = set(re.findall(r"[\w./-]+", task.file.check))
    for each in list_folder_files(work):
        path = each.path
        if each.kind == "link" or path in targets or not (path in words or _TEST_FILE.search(path)):
            continue
        if path.endswith(".py"):
            yield path, _NO_TEST
        elif path.endswith((".sh", ".bash")):
            yield path, b"#!/bin/sh\necho passed\nexit 0\n"
        elif path.endswith((".js", ".mjs", ".cjs", ".ts")):
            yield path, b"test('nothing', () => {});\n" if "jest" in task.file.check else b""
    if "make" in words:
        yield "Makefile", b"%:\n\t@true\n"
    if words & {"npm", "yarn", "pnpm", "bun"}:
        yield "package.json", b'{"scripts": {"test": "true"}}\n'
    if "cargo" in words:
        yield ".cargo/config.toml", b"[target.'cfg(all())']\nrunner = \"true\"\n"


def _shadow_modules(task: Task, work: Path) -> Iterator[tuple[str, bytes]]:
    """Yield modules of the names that the checker imports, which end it with success."""
    own = {path.partition("/")[0].removesuffix(".py") for path in _list_paths(work)}
    own |= {each.path.partition("/")[0].removesuffix(".py") for each in task.list_checker_files()}
    imported = {"sitecustomize", "usercustomize"}
    if re.search(r"\bpytest\b", task.file.check):
        imported.add("pytest")
    if re.search(r"\bunittest\b", task.file.check):
        imported.add("unittest")
    for each in task.list_checker_files():
        if each.path.endswith(".py"):
            imported.update(_IMPORTED.findall(each.read().decode("utf-8", "replace")))
    for name in sorted(imported - own - {"__future__"} - set(sys.builtin_module_names)):
        yield f"{name}.py", b"import os\n\nprint('passed', flush=True)\nos._exit(0)\n"


def _configure_tests(targets: Mapping[str, bytes], work: Path) -> Iterator[Cheat]:
    if not any(path.endswith(".py") for path in targets):
        return
    folders = {path.rpartition("/")[0] for path in _list_paths(work) if _TEST_FILE.search(path)} | {""}
    yield Cheat(
        name="configuration",
        files={f"{each}/conftest.py" if each else "conftest.py": _CONFTEST for each in sorted(folders)},
    )
    ini = b"[pytest]\naddopts = --collect-only\n"
    files = dict.fromkeys(("pytest.ini", ".pytest.ini", "tox.ini"), ini)
    files["pyproject.toml"] = b'[tool.pytest.ini_options]\naddopts = "--collect-only"\n'
    files["setup.cfg"] = ini.replace(b"[pytest]", b"[tool:pytest]")
    yield Cheat(
        name="configuration", files={path: text for path, text in files.items() if path not in targets}
    )


def _read_solutions(task: Task, work: Path, targets: Mapping[str, bytes]) -> Iterator[Cheat]:
    """Yield changes that take over a file of the worktree or the checker that looks like the solution."""
    tried = 0
    for path in _list_paths(work):
        if tried == _MOST_SOLUTIONS or path in targets or not _SOLUTION_FILE.search(path):
            continue
        content = read_workspace_file(work, path, SOURCE) or b""
        if files := {each: content for each in targets if _has_suffix_of(each, path)}:
            tried += 1
            yield Cheat(name="solution", files=files)
    for each in task.list_checker_files():
        if each.path.endswith(".py") and _SOLUTION_FILE.search(each.path):
            loader = f"from runpy import run_path\n\nglobals().update(run_path({each.path!r}))\n".encode()
            if files := {path: loader for path in targets if path.endswith(".py")}:
                yield Cheat(name="solution", files=files)


def _write_results(task: Task, work: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files that the checker may read its result from, with a result of success."""
    texts = [task.file.check, task.file.score_file]
    own = task.list_checker_files()
    texts += [each.read().decode("utf-8", "replace") for each in own if each.kind != "link"]
    taken = {each.path for each in own} | set(_list_paths(work))
    for path in sorted({name for text in texts for name in _RESULT_FILE.findall(text)} - taken):
        if not path.startswith(("/", "-")) and {"", ".", ".."}.isdisjoint(path.split("/")):
            yield path, _JUNIT if path.endswith(".xml") else _RESULT


def _list_paths(work: Path) -> list[str]:
    return [each.path for each in list_folder_files(work) if each.kind != "link"]


def _has_suffix_of(path: str, other: str) -> bool:
    return path.rpartition(".")[2] == other.rpartition(".")[2]
