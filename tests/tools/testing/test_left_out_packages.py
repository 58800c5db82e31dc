"""`run_tests` where the suite at the root leaves out packages: those of changed files and their users run as well."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.testing.projects import Make, project, run
from tests.tools.workspaces import call
from tools.edit.edit_tools import edit
from tools.fs.file_tools import read
from tools.testing.launch import SPLIT_PACKAGES
from tools.testing.node import is_delegating
from tools.testing.package_coverage import list_cargo_members
from tools.testing.package_suites import describe_missing_scripts, list_package_suites
from tools.testing.packages import SuiteScope, find_unreached, list_packages_to_run
from tools.testing.project_files import Project

__all__ = ["project"]

needs_npm = pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
needs_cargo = pytest.mark.skipif(not shutil.which("cargo"), reason="cargo is not installed")


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's Rust, which rustup looks for in HOME."""
    rustup = Path(shutil.which("cargo") or "/").parent.parent.parent / ".rustup"
    if rustup.is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(rustup))


def crate(name: str, more: str = "") -> str:
    return f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n{more}'


LIB = """\
pub fn g() -> i32 { 2 }
#[cfg(test)]
mod t {
    #[test]
    fn g() { assert!(super::g() > 1) }
}
"""
CHOSEN = {
    "Cargo.toml": crate("r", '[workspace]\nmembers = ["c/*"]\ndefault-members = ["c/b"]\nresolver = "2"\n'),
    "src/lib.rs": "",
    "c/a/Cargo.toml": crate("a"),
    "c/a/src/lib.rs": LIB,
    "c/b/Cargo.toml": crate("b"),
    "c/b/src/lib.rs": LIB,
    "c/user/Cargo.toml": crate("user", '[dependencies]\na = { path = "../a" }\n'),
    "c/user/src/lib.rs": LIB.replace("2 }", "a::g() }"),
}


@pytest.mark.slow
@needs_cargo
@pytest.mark.usefixtures("toolchain")
def test_members_that_the_root_does_not_choose_run_once_they_or_what_they_use_changed(project: Make) -> None:
    at = project(CHOSEN)
    assert run(at)[1].passed == 1
    call(read, at, path="c/a/src/lib.rs")
    call(edit, at, path="c/a/src/lib.rs", old="2 }", new="1 }")
    _, report = run(at)
    assert (report.outcome, report.passed, report.failed) == ("failed", 1, 2)
    assert {each.id for each in report.failures} == {"c/a/t::g", "c/user/t::g"}
    _, again = run(at, "c/a/t::g")
    assert (again.passed, again.failed) == (0, 1)


def python_package(folder: str, name: str, *, pytest_config: bool = False) -> dict[str, str]:
    config = '[tool.pytest.ini_options]\npythonpath = ["src"]\n' if pytest_config else ""
    path = (
        ""
        if pytest_config
        else "import sys; sys.path.insert(0, __file__.rpartition('/tests/')[0] + '/src')\n"
    )
    return {
        f"{folder}/pyproject.toml": f'[project]\nname = "{name}"\nversion = "1"\n{config}',
        f"{folder}/src/{name}.py": "x = 1\n",
        f"{folder}/tests/test_core.py": f"{path}import {name}\n\n\ndef test_x():\n    assert {name}.x == 1\n",
    }


@pytest.mark.slow
@pytest.mark.parametrize("pytest_config", [False, True])
@pytest.mark.parametrize("at_root", [{}, {"tests/test_root.py": "def test_root():\n    pass\n"}])
def test_packages_that_cannot_be_run_together_run_one_by_one(
    project: Make, at_root: dict[str, str], *, pytest_config: bool
) -> None:
    """Test files of one name, or a configuration in each that a run at the root does not read."""
    a, b = (python_package(f"p/{name}", name, pytest_config=pytest_config) for name in "ab")
    at = project({**a, **b, **at_root})
    _, report = run(at)
    assert (report.outcome, report.passed) == ("passed", 2 + len(at_root))
    assert "p/b/tests/test_core.py::test_x" in report.passed_tests
    assert run(at, "p/b/tests/test_core.py::test_x")[1].passed == 1
    assert run(at)[1].passed == 2 + len(at_root)


@pytest.mark.slow
def test_what_is_broken_by_itself_stays_broken_and_is_not_tried_apart_again(project: Make) -> None:
    at = project(
        {
            **python_package("p/a", "a"),
            "p/b/pyproject.toml": "[project]\n",
            "p/b/test_b.py": "import missing_one\n",
        }
    )
    assert run(at)[1].outcome == "broken"
    assert at.facts[SPLIT_PACKAGES] == ()


@pytest.mark.slow
def test_the_working_folder_chooses_the_package_and_other_changed_ones_run_with_it(project: Make) -> None:
    at = project({**python_package("p/a", "a"), **python_package("p/b", "b"), "p/b/doc/x.md": ""})
    at.working_folder = "p/b/doc"
    _, report = run(at)
    assert report.passed_tests == ("p/b/tests/test_core.py::test_x",)
    call(read, at, path="p/a/src/a.py")
    call(edit, at, path="p/a/src/a.py", old="x = 1", new="x = 2")
    _, both = run(at)
    assert [each.id for each in both.failures] == ["p/a/tests/test_core.py::test_x"]


@pytest.mark.slow
@needs_cargo
@pytest.mark.usefixtures("toolchain")
def test_a_package_below_a_root_without_tests_is_run(project: Make) -> None:
    at = project({"README.md": "", "rust/Cargo.toml": crate("r"), "rust/src/lib.rs": LIB})
    _, report = run(at)
    assert (report.outcome, report.passed_tests) == ("passed", ("rust/t::g",))


def member(name: str, **scripts: str) -> dict[str, str]:
    return {f"packages/{name}/package.json": json.dumps({"name": name, "scripts": scripts})}


def root(script: str) -> dict[str, str]:
    text = json.dumps({"private": True, "workspaces": ["packages/*"], "scripts": {"test": script}})
    return {"package.json": text}


@pytest.mark.parametrize(
    ("script", "delegates"),
    [
        ("npm test --workspaces", True),
        ("npm run test -ws --if-present", True),
        ("pnpm -r test", True),
        ("pnpm --recursive run test", True),
        ("yarn workspaces foreach -A run test", True),
        ("yarn workspaces run test", True),
        ("npm test -w a", False),
        ("pnpm -r --filter a test", False),
        ("npm run build -ws", False),
        ("npm test -ws && node --test", False),
        ("turbo run test", False),
        ("", False),
    ],
)  # fmt: skip
def test_scripts_that_only_start_those_of_all_members(script: str, delegates: bool, project: Make) -> None:
    assert is_delegating(script) is delegates
    files = {**root(script), **member("a", test="node --test"), **member("b")}
    found = Project(project(files))
    wants = ["packages/a"] if delegates or not script else []
    assert list_package_suites(found) == wants


def test_single_tests_go_to_their_member_where_a_task_runner_starts_all(project: Make) -> None:
    found = Project(project({**root("turbo run test"), **member("a", test="node --test")}))
    assert list_package_suites(found) == []
    assert list_package_suites(found, has_targets=True) == ["packages/a"]


def test_members_without_a_script_are_named_where_the_manager_would_fail(project: Make) -> None:
    files = {**member("a", test="node --test"), **member("b")}
    assert "packages/b" in describe_missing_scripts(Project(project({**files, **root("npm test -ws")})))


def test_members_without_a_script_are_no_matter_where_they_may_be_missing(project: Make) -> None:
    files = {**member("a", test="node --test"), **member("b"), **root("npm test -ws --if-present")}
    assert describe_missing_scripts(Project(project(files))) == ""


@pytest.mark.slow
@needs_npm
def test_a_root_script_for_all_members_runs_each_by_itself(project: Make) -> None:
    ok = "require('node:test')('ok', () => {});\n"
    files = {**root("npm test --workspaces"), **member("a", test="node --test"), **member("b")}
    at = project({**files, "packages/a/a.test.js": ok})
    observation, report = run(at)
    assert (report.outcome, report.passed) == ("passed", 1)
    assert "no test script in packages/b" in observation.text
    assert run(at, "packages/a/a.test.js")[1].passed == 1


@pytest.mark.slow
@needs_npm
def test_a_member_that_the_root_script_leaves_out_runs_when_it_changed(project: Make) -> None:
    ok = "require('node:test')('ok', () => {});\n"
    files = {**root("node --test test/"), "test/r.test.js": ok, **member("a", test="node --test")}
    at = project({**files, "packages/a/a.test.js": ok})
    assert run(at)[1].passed == 1
    call(read, at, path="packages/a/a.test.js")
    call(edit, at, path="packages/a/a.test.js", old="{}", new="{ throw Error() }")
    _, report = run(at)
    assert (report.outcome, report.passed, report.failed) == ("failed", 1, 1)


def test_path_dependencies_are_members_of_a_cargo_workspace(project: Make) -> None:
    files = {
        "Cargo.toml": crate(
            "r", '[dependencies]\na = { path = "libs/a" }\n[workspace]\nexclude = ["libs/x"]\n'
        ),
        "libs/a/Cargo.toml": crate("a", '[dependencies]\nb = { path = "../b" }\nx = { path = "../x" }\n'),
        "libs/b/Cargo.toml": crate("b"),
        "libs/c/Cargo.toml": crate("c"),
        "libs/x/Cargo.toml": crate("x"),
    }
    folders = ["libs/a", "libs/b", "libs/c", "libs/x"]
    found = Project(project(files))
    assert list_cargo_members(found, is_whole=True, folders=folders) == ["libs/a", "libs/b", ""]


def test_a_package_run_from_its_folder_counts_only_with_a_test_of_it(project: Make) -> None:
    found = Project(project(CHOSEN))
    scope = SuiteScope(
        runner="cargo", command="cargo test && (cd c/a && cargo test)", names=["t::g", "c/a/t::g"]
    )
    assert find_unreached(found, ["c/a/src/lib.rs"], scope) == (["c/a"], [])
    assert find_unreached(found, ["c/a/src/lib.rs"], replace(scope, names=["t::g"])) == ([], ["c/a"])
    assert list_packages_to_run(found, ["c/a/src/lib.rs"], scope) == ["c/user"]


@pytest.mark.slow
@needs_cargo
@pytest.mark.usefixtures("toolchain")
def test_a_lock_file_that_cargo_brought_up_to_a_changed_manifest_is_the_sessions(project: Make) -> None:
    lock = "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\n"
    lock += 'version = 4\n\n[[package]]\nname = "r"\nversion = "0.1.0"\n'
    at = project({"Cargo.toml": crate("r"), "src/lib.rs": LIB, "Cargo.lock": lock})
    run(at)
    assert list(at.changes) == []
    call(read, at, path="Cargo.toml")
    call(edit, at, path="Cargo.toml", old="0.1.0", new="0.2.0")
    run(at)
    assert set(at.changes) == {"Cargo.toml", "Cargo.lock"}
    assert at.changes.originals["Cargo.lock"] == lock.encode()
