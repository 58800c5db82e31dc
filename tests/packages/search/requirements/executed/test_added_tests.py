"""Tests that a prompt asks for are run: they pass, and fail where nothing is left of what they are to test."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

CART = "def total(items):\n    return sum(items)\n"
OLD = "from cart import total\n\n\ndef test_type():\n    assert total([]) >= 0\n"
MAX = "\n\ndef largest(items):\n    return max(items)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("test_cart.py", OLD)
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


def play(repo: Repo, prompt: str, files: dict[str, str], *, output: str = "json") -> Result:
    """Run a prompt with a model that writes these files and says that it is done, whatever it is told."""
    turns: list[dict[str, Any]] = [
        {"calls": [call("read", path=path) for path in ("cart.py", "test_cart.py")]},
        {"calls": [call("write", path=path, content=text) for path, text in files.items()]},
        {"text": "Done.", "repeat": 6},
    ]
    model = script(repo.root.parent, turns)
    return run("run", prompt, "--model", model, "-o", output, cwd=repo.root, timeout=300)


def add(*lines: str, to: str = OLD) -> str:
    """Return a text of tests with one more."""
    return f"{to}\n\ndef test_more():\n" + "".join(f"    {line}\n" for line in lines)


TOTAL = "add tests for total"
RIGHT: dict[str, tuple[str, dict[str, str], str]] = {
    "a value": (TOTAL, {"test_cart.py": add("assert total([1, 2]) == 3")}, "not where total returns nothing"),
    "a new name": (
        "add a function `largest` to cart.py, with tests",
        {
            "cart.py": CART + MAX,
            "test_cart.py": add("from cart import largest", "assert largest([1, 2]) == 2"),
        },
        "not without the change",
    ),
    "a changed test": (TOTAL, {"test_cart.py": OLD + "    assert total([2]) == 2\n"}, "returns nothing"),
}
WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "a name only": (TOTAL, {"test_cart.py": add("assert callable(total)")}, "they do not test it"),
    "another total": (
        TOTAL,
        {"test_cart.py": OLD.replace("from cart import total", "from cart import total\n\nlimit = 3")
         + "\n\ndef test_more():\n    total = 3\n    assert total == 3\n"},
        "they do not test it",
    ),
    "a skipped one": (
        TOTAL,
        {"test_cart.py": "import pytest\n" + OLD
         + "\n\n@pytest.mark.skip\ndef test_more():\n    assert total([1]) == 1\n"},
        "skipped",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_tests_are_done(shop: Repo, name: str) -> None:
    prompt, files, told = RIGHT[name]
    done = play(shop, prompt, files)
    assert done.code == Exit.DONE, done.err
    [found] = [each for each in done.events[0]["requirements"] if each["kind"] == "tested"]
    assert (found["state"], found["evidence"]) == ("met", "executed")
    assert told in found["detail"]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_tests_that_test_nothing_are_not_done(shop: Repo, name: str) -> None:
    prompt, files, told = WRONG[name]
    done = play(shop, prompt, files)
    assert done.code == Exit.NOT_ACHIEVED, done.err
    [found] = [each for each in done.events[0]["requirements"] if each["kind"] == "tested"]
    assert (found["state"], found["evidence"]) == ("not met", "executed")
    assert told in found["detail"]
    assert shop.git("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.slow
def test_a_test_without_an_assertion_is_told_and_stops_nothing(shop: Repo) -> None:
    done = play(shop, TOTAL, {"test_cart.py": add("total([1])")}, output="text")
    assert done.code == Exit.DONE, done.err
    assert "look at: the added tests of total pass where it returns nothing, too" in done.err


@pytest.mark.slow
def test_tests_that_the_suite_leaves_out_are_told(shop: Repo) -> None:
    shop.write("pytest.ini", "[pytest]\ntestpaths = test_cart.py\n")
    shop.commit_all("Name the tests")
    done = play(shop, TOTAL, {"test_more.py": add("assert total([1]) == 1")}, output="text")
    assert done.code == Exit.NO_TEST_RUNNER, "a suite without them shows nothing"
    assert "look at: the suite does not run the added tests: test_more.py::test_type" in done.err


NODE = {
    "package.json": '{"name": "shop", "scripts": {"test": "node --test"}}\n',
    "cart.js": "export function total(items) {\n  return items.length\n}\n",
    "cart.test.js": "import test from 'node:test'\nimport { total } from './cart.js'\n\n"
    "test('type', () => {\n  total([])\n})\n",
}
CARGO = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn total(items: &[i32]) -> usize {\n    items.len()\n}\n",
    "tests/cart.rs": "use shop::total;\n\n#[test]\nfn has_a_type() {\n    total(&[]);\n}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "path", "added", "state"),
    [
        (
            NODE,
            "cart.test.js",
            "test('counts', () => {\n  if (total([1]) !== 1) throw new Error()\n})\n",
            "met",
        ),
        (NODE, "cart.test.js", "test('counts', () => {\n  if (!total) throw new Error()\n})\n", "not met"),
        (CARGO, "tests/cart.rs", "#[test]\nfn counts() {\n    assert_eq!(total(&[1]), 1);\n}\n", "met"),
        (CARGO, "tests/cart.rs", "#[test]\nfn counts() {\n    let _ = total;\n}\n", "not met"),
    ],
)
def test_other_languages_are_run_too(
    tmp_path: Path, files: dict[str, str], path: str, added: str, state: str
) -> None:
    program = shutil.which("node" if files is NODE else "cargo")
    if program is None:
        pytest.skip("the runner is not installed")
    cargo = Path(program).parent.parent  # its tool chains are in the real home, which tests do not see
    env = {"CARGO_HOME": str(cargo), "RUSTUP_HOME": str(cargo.parent / ".rustup")} if files is CARGO else {}
    repo = Repo(tmp_path / "shop")
    for name, text in files.items():
        repo.write(name, text)
    repo.write(".gitignore", "target\n")
    repo.commit_all("Start")
    turns: list[dict[str, Any]] = [
        {"calls": [call("read", path=path)]},
        {"calls": [call("write", path=path, content=f"{files[path]}\n{added}")]},
        {"text": "Done.", "repeat": 6},
    ]
    done = run(
        "run", TOTAL, "--model", script(tmp_path, turns), "-o", "json", cwd=repo.root, timeout=300, env=env
    )
    assert "requirements" in done.events[0], done.events[0]
    [found] = [each for each in done.events[0]["requirements"] if each["kind"] == "tested"]
    assert (found["state"], found["evidence"]) == (state, "executed"), (found, done.events[0])
