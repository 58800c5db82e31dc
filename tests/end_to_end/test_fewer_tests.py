"""A turn that leaves tests out is not done, though the model never ran them before: real runners, by name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

PYTHON = {
    "cart.py": "def total(items):\n    return sum(items[1:])\n",
    "mail.py": 'def sender(name, host):\n    return name + "@" + name\n',
    "tests/test_cart.py": (
        'import sys; sys.path.insert(0, ".")\nfrom cart import total\n\n\ndef test_total():\n'
        "    assert total([1, 2]) == 3\n"
    ),
    "tests/test_mail.py": (
        'import sys; sys.path.insert(0, ".")\nfrom mail import sender\n\n\ndef test_sender():\n'
        '    assert sender("a", "b.c") == "a@b.c"\n'
    ),
    ".gitignore": "__pycache__\n.pytest_cache\n",
}
MENDED = {"mail.py": PYTHON["mail.py"].replace('"@" + name', '"@" + host')}
LOST = "tests/test_cart.py::test_total"

NARROWED: Mapping[str, Mapping[str, str]] = {
    "a new pytest.ini": {"pytest.ini": "[pytest]\ntestpaths = tests/test_mail.py\n"},
    "a new setup.cfg": {"setup.cfg": "[tool:pytest]\naddopts = --ignore=tests/test_cart.py\n"},
    "deselected": {"pyproject.toml": f'[tool.pytest.ini_options]\naddopts = "--deselect {LOST}"\n'},
    "another pattern": {"tox.ini": "[pytest]\npython_files = test_m*.py\n"},
    "a conftest that ignores": {"tests/conftest.py": 'collect_ignore = ["test_cart.py"]\n'},
    "a conftest that skips": {
        "conftest.py": "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        '        if "cart" in item.nodeid:\n            item.add_marker(pytest.mark.skip(reason="later"))\n'
    },
    "a module that skips itself": {
        "tests/test_cart.py": 'import pytest\npytest.skip("later", allow_module_level=True)\n'
        + PYTHON["tests/test_cart.py"]
    },
    "another name": {
        "tests/test_cart.py": PYTHON["tests/test_cart.py"].replace("def test_total", "def check_total")
    },
}

NODE = {
    "package.json": '{"name":"x","private":true,"scripts":{"test":"node --test"}}',
    "add.js": "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => b - a;\n",
    "add.test.js": "require('node:test')('adds', () => require('assert').equal(require('./add').add(1, 2), 3));\n",
    "sub.test.js": "require('node:test')('subtracts', () => require('assert').equal(require('./add').sub(3, 2), 1));\n",
}
MAKE = {
    "a.py": "X = 1\n",
    "Makefile": ".PHONY: test\ntest:\n\t@echo 1..2\n\t@echo 'ok 1 - one'\n\t@echo 'not ok 2 - two'; exit 1\n",
}


def work(
    folder: Path, files: Mapping[str, str], *changes: Mapping[str, str], prompt: str
) -> tuple[Repo, Result]:
    """A turn of a model that writes these files without a run of the tests before."""
    repo = Repo(folder / "r")
    for name, text in files.items():
        repo.write(name, text)
    repo.commit_all("Start")
    written = {name: text for each in changes for name, text in each.items()}
    reads = [call("read", path=name) for name in written if name in files]
    writes = [call("write", path=name, content=text) for name, text in written.items()]
    turns = [*([{"calls": reads}] if reads else []), {"calls": writes}, *[{"text": "All tests pass."}] * 8]
    return repo, run("run", prompt, "--model", script(folder, turns), cwd=repo.root)


@pytest.mark.parametrize("name", NARROWED)
def test_the_tests_that_do_not_run_any_more_are_named(tmp_path: Path, name: str) -> None:
    repo, ended = work(tmp_path, PYTHON, MENDED, NARROWED[name], prompt="make the tests pass")
    assert ended.code != Exit.DONE, ended.err
    assert "not run any more: tests/test_cart.py" in ended.err
    assert repo.git("log", "--format=%s").split("\n")[0] == "Start"


@pytest.mark.parametrize(
    ("prompt", "change"),
    [
        (
            "configure pytest to collect only tests/test_mail.py, and mend sender in mail.py",
            NARROWED["a new pytest.ini"],
        ),
        ("mend sender in mail.py and remove the tests of the cart", {"tests/test_cart.py": "X = 1\n"}),
    ],
)
def test_what_the_prompt_asks_for_is_done(tmp_path: Path, prompt: str, change: Mapping[str, str]) -> None:
    _, ended = work(tmp_path, PYTHON, MENDED, change, prompt=prompt)
    assert ended.code == Exit.DONE, ended.out + ended.err


def test_a_test_that_was_moved_or_added_is_no_loss(tmp_path: Path) -> None:
    mended = {"cart.py": "def total(items):\n    return sum(items)\n", **MENDED}
    more = {
        "tests/test_cart.py": PYTHON["tests/test_cart.py"]
        + "\n\ndef test_none():\n    assert total([]) == 0\n"
    }
    _, ended = work(
        tmp_path, PYTHON, mended, more, prompt="mend total and sender, with a test of the empty cart"
    )
    assert ended.code == Exit.DONE, ended.out + ended.err


def test_a_test_that_was_skipped_before_is_no_loss(tmp_path: Path) -> None:
    skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    assert False\n"
    files = {
        **PYTHON,
        "cart.py": "def total(items):\n    return sum(items)\n",
        "tests/test_later.py": skipped,
    }
    setting = {"setup.cfg": "[tool:pytest]\nxfail_strict = true\n"}
    _, ended = work(tmp_path, files, MENDED, setting, prompt="make the tests pass")
    assert ended.code == Exit.DONE, ended.out + ended.err


@pytest.mark.skipif(not shutil.which("npm"), reason="no npm")
def test_a_script_of_a_package_that_runs_less(tmp_path: Path) -> None:
    less = {"package.json": NODE["package.json"].replace("node --test", "node --test add.test.js")}
    _, ended = work(tmp_path, NODE, less, prompt="make the tests pass")
    assert ended.code != Exit.DONE, ended.err


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
@pytest.mark.parametrize("recipe", ["\t@echo 1..1\n\t@echo 'ok 1 - one'\n", "\t@true\n"])
def test_a_makefile_that_runs_less(tmp_path: Path, recipe: str) -> None:
    less = {"Makefile": f".PHONY: test\ntest:\n{recipe}"}
    _, ended = work(tmp_path, MAKE, less, prompt="make the tests pass")
    assert ended.code != Exit.DONE, ended.err
