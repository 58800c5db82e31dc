"""`run_tests` in repositories whose packages have test suites of their own."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.tools.testing.projects import Make, project, run
from tools.testing.node import find_manager
from tools.testing.package_suites import list_package_suites, split_targets
from tools.testing.project_files import Project

__all__ = ["project"]

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")

CONFIG = '[project]\nname = "{0}"\nversion = "1"\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'


def python_package(folder: str, name: str, test: str) -> dict[str, str]:
    return {
        f"{folder}/pyproject.toml": CONFIG.format(name),
        f"{folder}/src/{name}.py": "x = 1\n",
        f"{folder}/tests/test_it.py": f"import {name}\n\n\ndef test_x():\n    assert {name}.x == {test}\n",
    }


def node_package(name: str, script: str = "node --test") -> dict[str, str]:
    return {f"packages/{name}/package.json": json.dumps({"name": name, "scripts": {"test": script}})}


OWN = "[pytest]\n"
ALL = "packages:\n  # all\n  - 'packages/**'\n"
MEMBERS = json.dumps({"name": "root", "private": True, "workspaces": ["packages/*", "!packages/c"]})


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ({**python_package("libs/a", "a", "1"), **python_package("libs/b", "b", "1")}, ["libs/a", "libs/b"]),
        ({"backend/pytest.ini": OWN, "backend/tests/test_a.py": ""}, ["backend"]),
        ({"backend/setup.cfg": "[tool:pytest]\n", "backend/test_a.py": "", "web/tox.ini": OWN}, ["backend"]),
        ({"pytest.ini": OWN, **python_package("libs/a", "a", "1")}, []),  # the root's own suite
        ({"tests/test_a.py": "", **python_package("libs/a", "a", "1")}, []),  # a test of the root
        ({"a/pyproject.toml": "[project]\nname = 'a'\n", "a/test_a.py": ""}, []),  # nothing of pytest
        ({"a/pytest.ini": OWN, "a/b/pytest.ini": OWN, "a/test_a.py": "", "a/b/test_b.py": ""}, ["a", "a/b"]),
        ({"package.json": MEMBERS, **node_package("a"), **node_package("c")}, ["packages/a"]),
        (
            {"package.json": '{"workspaces": {"packages": ["packages/a"]}}', **node_package("a"), **node_package("b")},
            ["packages/a"],
        ),
        (
            {"package.json": "{}", "pnpm-workspace.yaml": ALL, **node_package("a")},
            ["packages/a"],
        ),
        ({"package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "x"}}', **node_package("a")}, []),
        ({"package.json": "{}", **node_package("a")}, []),  # no workspace
    ],
)  # fmt: skip
def test_packages_with_a_suite_of_their_own(files: dict[str, str], folders: list[str], project: Make) -> None:
    assert list_package_suites(Project(project(files))) == folders


def test_targets_go_to_the_innermost_package() -> None:
    targets = ("a/tests/test_a.py::test_x", "a/b/test_b.py", "a", "ab/test_c.py")
    assert split_targets(["a", "a/b"], targets) == {
        "a": ("tests/test_a.py::test_x",),
        "a/b": ("test_b.py",),
        "": ("ab/test_c.py",),
    }


@pytest.mark.slow
def test_each_package_runs_from_its_root_and_a_failure_is_run_again_by_its_id(project: Make) -> None:
    at = project({**python_package("libs/a", "a", "1"), **python_package("libs/b", "b", "2")})
    observation, report = run(at)
    assert (report.runner, report.outcome, report.passed, report.failed) == ("pytest", "failed", 1, 1)
    assert report.passed_tests == ("libs/a/tests/test_it.py::test_x",)
    [failure] = report.failures
    assert (failure.id, failure.file) == ("libs/b/tests/test_it.py::test_x", "libs/b/tests/test_it.py")
    assert "cd libs/b && " in report.command
    assert "libs/b/tests/test_it.py" in observation.text
    _, again = run(at, failure.id)
    assert (again.outcome, again.failed, again.passed) == ("failed", 1, 0)
    (at.root / "libs/b/src/b.py").write_text("x = 2\n")
    _, both = run(at, failure.id, "libs/a")
    assert (both.outcome, both.passed) == ("passed", 2)


@pytest.mark.slow
@needs_npm
def test_members_of_a_workspace_without_a_script_at_the_root_are_run(project: Make) -> None:
    good, bad = (
        "require('node:test')('one', () => {});\n",
        "require('node:test')('two', () => { throw Error(); });\n",
    )
    files = {"package.json": MEMBERS, **node_package("a"), **node_package("b")}
    at = project({**files, "packages/a/a.test.js": good, "packages/b/b.test.js": bad})
    _, report = run(at)
    assert (report.runner, report.outcome, report.passed, report.failed) == ("node", "failed", 1, 1)
    _, one = run(at, "packages/a/a.test.js")
    assert (one.outcome, one.passed) == ("passed", 1)


@pytest.mark.parametrize(
    ("files", "manager"),
    [
        ({"package.json": '{"packageManager": "pnpm@12.21.0+sha512.ab"}', "yarn.lock": ""}, "pnpm"),
        ({"package.json": '{"devEngines": {"packageManager": {"name": "yarn"}}}'}, "yarn"),
        ({"package.json": '{"packageManager": "other@1"}', "bun.lock": ""}, "bun"),
        ({"package.json": '{"packageManager": 3, "devEngines": []}'}, "npm"),
        ({"package.json": "[]"}, "npm"),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, "pnpm"),
    ],
)
def test_the_manager_is_the_one_that_the_project_names(
    files: dict[str, str], manager: str, project: Make
) -> None:
    at = project({**files, **node_package("a")})
    assert find_manager(Project(at))[0] == manager
    assert find_manager(Project(at, "packages/a"))[0] == manager
