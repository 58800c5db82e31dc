"""What the project's own linter says of changed lines."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sandbox.backends.unconfined import Unconfined
from tests.tools.workspaces import put, workspace
from tools.core.workspace import Workspace
from tools.edit.apply.lint_feedback import find_new_complaints

RUFF = Path(sys.executable).parent / "ruff"

pytestmark = pytest.mark.skipif(not RUFF.is_file(), reason="ruff is not installed beside this Python")


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with ruff configured, and on the path."""
    monkeypatch.setenv("PATH", f"{RUFF.parent}{os.pathsep}{os.environ['PATH']}")
    made = workspace(tmp_path, {"pyproject.toml": '[tool.ruff.lint]\nselect = ["F"]\n'})
    if made.sandbox.name == "unconfined":
        pytest.skip("commands cannot be confined here")
    return made


def said(at: Workspace, path: str, before: str, after: str) -> list[str]:
    return asyncio.run(find_new_complaints(at, path, before, after))


BEFORE = "import os\n\n\ndef f():\n    return undefined\n"


def test_a_new_complaint_on_a_changed_line_is_told(at: Workspace) -> None:
    assert said(at, "cart.py", BEFORE, BEFORE.replace("def f():\n", "def f():\n    print(x)\n")) == [
        "cart.py:5: F821 Undefined name `x`"
    ]


def test_complaints_that_were_there_are_not_told(at: Workspace) -> None:
    assert said(at, "cart.py", BEFORE, "x = 1\n" + BEFORE) == []


def test_every_line_of_a_new_file_is_new_but_five_are_enough(at: Workspace) -> None:
    after = "".join(f"print(x{number})\n" for number in range(9))
    assert [each.partition(" ")[0] for each in said(at, "shop/cart.py", "", after)] == [
        f"shop/cart.py:{number}:" for number in range(1, 6)
    ]


def test_other_files_are_left_alone(at: Workspace) -> None:
    assert said(at, "cart.js", "", "print(x)\n") == []
    assert at.facts == {}


def test_a_file_that_the_project_excludes_is_left_alone(at: Workspace) -> None:
    put(at.root, {"pyproject.toml": '[tool.ruff]\nextend-exclude = ["made"]\n'})
    assert said(at, "made/cart.py", "", "print(x)\n") == []


@pytest.mark.parametrize("name", ["ruff.toml", ".ruff.toml"])
def test_each_file_that_configures_ruff_is_seen(at: Workspace, name: str) -> None:
    put(at.root, {"pyproject.toml": "[project]\n", f"shop/{name}": 'lint.select = ["F821"]\n'})
    assert said(at, "shop/cart.py", "", "import os\nprint(x)\n") == [
        "shop/cart.py:2: F821 Undefined name `x`"
    ]
    assert said(at, "cart.py", "", "print(x)\n") == []


def test_nothing_is_started_where_nothing_is_configured(at: Workspace) -> None:
    put(at.root, {"pyproject.toml": "[project]\n# [tool.ruff]\n", ".venv/bin/ruff": "#!/bin/sh\necho >ran\n"})
    (at.root / ".venv/bin/ruff").chmod(0o755)
    assert said(at, "cart.py", "", "print(x)\n") == []
    assert at.facts == {"linters": {".": None}}


def fake(at: Workspace, name: str, script: str) -> None:
    """A program of the project's own environment."""
    put(at.root, {f".venv/bin/{name}": "#!/bin/sh\n" + script})
    (at.root / ".venv/bin" / name).chmod(0o755)


def test_the_projects_own_program_comes_first(at: Workspace) -> None:
    fake(at, "ruff", 'echo "cart.py:1:1: X1 mine"\n')
    assert said(at, "cart.py", "", "print(x)\n") == ["cart.py:1: X1 mine"]


def test_flake8_is_asked_where_it_is_configured(at: Workspace) -> None:
    fake(at, "flake8", 'cat >/dev/null\necho "1:F821:undefined name \'x\'"\necho "1:E999:SyntaxError"\n')
    put(at.root, {"pyproject.toml": "", "setup.cfg": "[metadata]\n[flake8]\nselect = F\n"})
    assert said(at, "cart.py", "", "print(x)\n") == ["cart.py:1: F821 undefined name 'x'"]


def test_a_linter_may_not_write_into_the_workspace(at: Workspace) -> None:
    fake(at, "ruff", 'touch was-here\necho "cart.py:1:1: X1 mine"\n')
    assert said(at, "cart.py", "", "print(x)\n") != []
    assert not (at.root / "was-here").exists()


@pytest.mark.slow
def test_a_linter_that_takes_long_says_nothing(at: Workspace) -> None:
    fake(at, "ruff", 'sleep 30\necho "cart.py:1:1: X1 mine"\n')
    assert said(at, "cart.py", "", "print(x)\n") == []


def test_a_linter_that_cannot_be_started_says_nothing(at: Workspace) -> None:
    put(at.root, {".venv/bin/ruff": "no program"})
    assert said(at, "cart.py", "", "print(x)\n") == []


def test_without_confinement_nothing_of_the_repositorys_is_run(at: Workspace) -> None:
    at.sandbox = Unconfined(at.root)
    assert said(at, "cart.py", "", "print(x)\n") == []


def test_where_the_linter_is_found_is_decided_once(at: Workspace) -> None:
    said(at, "cart.py", "", "x = 1\n")
    (at.root / "pyproject.toml").unlink()
    put(at.root, {"ruff.toml": 'lint.select = ["F"]\n'})
    decided = at.facts["linters"]
    assert said(at, "cart.py", "", "print(x)\n") == ["cart.py:1: F821 Undefined name `x`"]
    assert at.facts["linters"] is decided
    assert list(decided) == ["."]
