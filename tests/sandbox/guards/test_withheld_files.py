"""Files that one command may not read are closed to it alone: a later command reads them, and others in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox.boxes import CONFINED, make, sh


@pytest.mark.parametrize("name", CONFINED)
def test_a_file_that_was_withheld_is_read_by_the_next_command(name: str, workspace: Path) -> None:
    (workspace / "a.txt").write_text("mine\n")
    box = make(name, workspace)
    assert "mine" not in sh(box, workspace, "cat a.txt", withheld=(workspace / "a.txt",)).stdout.text()
    assert sh(box, workspace, "cat a.txt").stdout.text() == "mine\n"
    (workspace / "a.txt").write_text("new\n")
    assert sh(box, workspace, "cat a.txt").stdout.text() == "new\n"


@pytest.mark.parametrize("name", CONFINED)
def test_a_file_that_was_denied_stays_denied_under_another_name(name: str, workspace: Path) -> None:
    (workspace / "a.txt").write_text("mine\n")
    box = make(name, workspace)
    assert "mine" not in sh(box, workspace, "cat a.txt", denied=(workspace / "a.txt",)).stdout.text()
    (workspace / "a.txt").rename(workspace / "b.txt")
    assert "mine" not in sh(box, workspace, "cat b.txt").stdout.text()
