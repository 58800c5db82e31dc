"""What a session has changed is worked out from its last clean place on, where all of it was committed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.context.restore.projection_checkpoint import read_checkpoint
from agent.events import ObservationEvent
from agent.session.log import Session
from agent.session.log_index import parse_event_id
from agent.turn.resume import restore_changes
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.bench import bench, workspace
from tests.support.cli import call, git
from tools.fs.file_tools import write
from tools.git.git_tools import git_commit

pytestmark = pytest.mark.slow  # real repositories


def test_nothing_before_the_last_clean_place_is_read(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("write", path="a.txt", content="a"), call("write", path="b.txt", content="b")]},
        {"calls": [call("git_commit", message="Add a and b")]},
        {"calls": [call("write", path="c.txt", content="c"), call("write", path="a.txt", content="A")]},
        {"text": "Done."},
    ]
    (tmp_path / "root").mkdir()
    git(tmp_path / "root", "init", "-q")
    it = bench(tmp_path, turns, [write, git_commit])
    it.turn("go")
    folder, changed = it.runtime.session.folder, it.runtime.workspace.changes.originals
    assert changed == {"c.txt": None, "a.txt": b"a"}
    asyncio.run(it.runtime.close())
    session = Session.open(folder)
    known = read_checkpoint(folder, session.replayed)
    assert known is not None
    assert known.clean is not None
    (committed,) = (e for e in session.replayed.select_events(ObservationEvent) if e.data.get("commit"))
    assert known.clean.at == parse_event_id(committed.id)
    assert len(list(session.replayed.select_file_events(known.clean.at))) < len(
        list(session.replayed.select_file_events())
    )
    for after, tree in ((0, ""), (known.clean.at, known.clean.tree)):
        later = workspace(it.runtime.workspace.root, tmp_path / f"later-{after}")
        snapshots = Snapshots(later.root, tmp_path / "snapshots")
        assert (
            restore_changes(session.replayed.select_file_events(after), later, snapshots, tree=tree) is None
        )
        assert later.changes.originals == changed
        snapshots.close()
    session.rewind(committed.parent)
    session.close()
    again = Session.open(folder)
    left = read_checkpoint(folder, again.replayed)
    assert left is None, "of another branch"
    again.close()
