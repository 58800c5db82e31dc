"""What a model is told after an edit, of the linter's findings."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.tools.workspaces import call, put, workspace
from tools.core.tool_settings import EditSettings, ToolSettings
from tools.core.workspace import Workspace
from tools.edit.edit_tools import apply_patch, edit
from tools.fs.file_tools import write

RUFF = Path(sys.executable).parent / "ruff"

pytestmark = pytest.mark.skipif(not RUFF.is_file(), reason="ruff is not installed beside this Python")

CONFIGURED = {"pyproject.toml": '[tool.ruff.lint]\nselect = ["F"]\n'}


def linted(tmp_path: Path, *, lint: bool = True) -> Workspace:
    made = workspace(tmp_path, CONFIGURED, settings=ToolSettings(edit=EditSettings(lint=lint)))
    if made.sandbox.name == "unconfined":
        pytest.skip("commands cannot be confined here")
    return made


@pytest.fixture(autouse=True)
def ruff_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{RUFF.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
def test_an_edit_tells_what_the_linter_newly_finds(tmp_path: Path) -> None:
    at = linted(tmp_path)
    put(at.root, {"a.py": "import os\nx = 1\n"})
    observation = call(edit, at, path="a.py", old="x = 1", new="x = y")
    assert observation.text.endswith("\nnew for the linter:\na.py:2: F821 Undefined name `y`")
    assert not observation.failed
    assert "new for the linter" not in call(edit, at, path="a.py", old="x = y", new="x = 2").text


def test_a_written_file_is_linted_too(tmp_path: Path) -> None:
    at = linted(tmp_path)
    assert "a.py:1: F401 " in call(write, at, path="a.py", content="import os\n").text


@pytest.mark.slow
def test_of_many_files_the_first_three_are_linted(tmp_path: Path) -> None:
    at = linted(tmp_path)
    patch = "".join(f"*** Add File: {name}.py\n+x = undefined_{name}\n" for name in "abcde")
    text = call(apply_patch, at, patch=f"*** Begin Patch\n{patch}*** End Patch\n").text
    assert [name for name in "abcde" if f"{name}.py:1: F821 " in text] == ["a", "b", "c"]


def test_by_setting_nothing_is_linted(tmp_path: Path) -> None:
    at = linted(tmp_path, lint=False)
    assert "linter" not in call(write, at, path="a.py", content="import os\n").text
