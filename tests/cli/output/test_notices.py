"""What a run tells beside its answer also stands in `--output json`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import call, git, script


@pytest.mark.slow
def test_what_was_kept_from_running_is_told(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    calls = [call("write", path="a.txt", content="a\n"), call("git_commit", message="Add a")]
    model = script(tmp_path, [{"calls": calls}, {"text": "Done."}])
    done = cli.run("run", "add it", "--model", model, "--output", "json", "--sandbox", "unconfined", cwd=root)
    (end,) = done.events
    assert len(end["notices"]) == 2, done.err
    assert "WITHOUT a sandbox" in end["notices"][0]
    assert "hook pre-commit" in end["notices"][1]
    assert "patchwright trust" in end["notices"][1]
