"""Folders that are no place to work in are refused with what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from tests.support.cli import git


def test_a_bare_repository_is_not_told_to_be_initialised(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(UserError, match="no files to work on") as caught:
        find_workspace_root(tmp_path / "bare.git", need_git=True)
    assert caught.value.fault is Fault.NOT_A_REPOSITORY
    assert "git worktree add" in caught.value.hint


def test_a_folder_without_a_repository_is_told_to_be_initialised(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        find_workspace_root(tmp_path, need_git=True)
    assert "git init" in caught.value.hint
