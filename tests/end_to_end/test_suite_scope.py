"""A passing run that did not reach the changed package is no proof: real Cargo and Python repositories."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

CARGO = {
    "Cargo.toml": (
        '[package]\nname="root"\nversion="0.1.0"\nedition="2021"\n[workspace]\nmembers=["crates/*"]\nresolver="2"\n'
    ),
    "src/lib.rs": "#[test] fn root_ok() {}\n",
    "crates/a/Cargo.toml": '[package]\nname="a"\nversion="0.1.0"\nedition="2021"\n',
    "crates/a/src/lib.rs": (
        "pub fn g() -> i32 { 2 }\n#[cfg(test)] mod t { #[test] fn g() { assert_eq!(super::g(), 2) } }\n"
    ),
    ".gitignore": "target\nCargo.lock\n",
}
TOML = '[project]\nname = "{0}"\nversion = "1"\n'
PYTHON = {
    "packages/one/pyproject.toml": TOML.format("one"),
    "packages/one/one.py": "X = 1\n",
    "packages/one/test_one.py": "def test_one():\n    assert True\n",
    "packages/two/pyproject.toml": TOML.format("two"),
    "packages/two/two.py": "Y = 1\n",
    ".gitignore": "__pycache__\n.pytest_cache\n",
}


def edit(folder: Path, files: dict[str, str], path: str, old: str, new: str) -> tuple[Repo, Result]:
    repo = Repo(folder / "r")
    for name, text in files.items():
        repo.write(name, text)
    repo.commit_all("Start")
    turns = [
        {"calls": [call("read", path=path)]},
        {"calls": [call("edit", path=path, old=old, new=new)]},
        *[{"text": "Done."}] * 4,
    ]
    return repo, run("run", "change it", "--model", script(folder, turns), cwd=repo.root, timeout=300)


@pytest.mark.skipif(not shutil.which("cargo"), reason="no cargo")
@pytest.mark.parametrize(("new", "code"), [("{ 1 + 1 }", Exit.DONE), ("{ 3 }", Exit.TESTS_FAIL)])
def test_members_of_a_cargo_workspace_are_tested_with_its_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: str, code: Exit
) -> None:
    rustup = Path(shutil.which("cargo") or "/").parent.parent.parent / ".rustup"
    if rustup.exists():  # tests have a HOME of their own
        monkeypatch.setenv("RUSTUP_HOME", str(rustup))
    _, ended = edit(tmp_path, CARGO, "crates/a/src/lib.rs", "{ 2 }", new)
    assert ended.code == code, ended.err
    if code == Exit.DONE:
        assert "crates/a included" in ended.err


def test_a_package_without_a_run_test_is_unverified(tmp_path: Path) -> None:
    repo, ended = edit(tmp_path, PYTHON, "packages/two/two.py", "Y = 1", "Y = 2")
    assert ended.code == Exit.NO_TEST_RUNNER, ended.err
    assert "no test of packages/two ran" in ended.err
    assert repo.git("log", "--format=%s") == "Start\n"


LOOSE = {
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "tests/test_users.py": "def test_users():\n    assert True\n",
    "bill/calc.py": "def add(a, b):\n    return a + b\n",
    "bill/checks/test_calc.py": "import bill.calc\n\n\ndef test_add():\n    assert bill.calc.add(1, 2) == 3\n",
    "web/app.js": "let one = 1;\n",
    ".gitignore": "__pycache__\n.pytest_cache\n",
}


@pytest.mark.parametrize(
    ("path", "old", "new", "code"),
    [
        ("bill/calc.py", "a + b", "a + b + 1", Exit.NO_TEST_RUNNER),
        ("web/app.js", "one = 1", "one = 2", Exit.NO_TEST_RUNNER),
        ("tests/test_users.py", "True", "1 == 1", Exit.DONE),
    ],
)
def test_a_folder_without_a_manifest_is_tested_by_what_reaches_it(
    tmp_path: Path, path: str, old: str, new: str, code: Exit
) -> None:
    repo, ended = edit(tmp_path, LOOSE, path, old, new)
    assert ended.code == code, ended.err
    if code == Exit.NO_TEST_RUNNER:
        assert f"no test of {path.partition('/')[0]} ran" in ended.err
        assert repo.git("log", "--format=%s") == "Start\n"


def test_a_test_of_a_package_that_depends_on_it_is_enough(tmp_path: Path) -> None:
    more = {"packages/one/pyproject.toml": TOML.format("one") + 'dependencies = ["two"]\n'}
    _, ended = edit(tmp_path, {**PYTHON, **more}, "packages/two/two.py", "Y = 1", "Y = 2")
    assert ended.code == Exit.DONE, ended.err
