"""Snapshots that no session needs any more go with the sessions that needed them."""

from __future__ import annotations

from pathlib import Path

from agent.events import SnapshotEvent
from agent.session.log import Session
from agent.session.session_pruning import prune_snapshots
from sandbox.snapshots.workspace_snapshots import Snapshots


def test_what_a_log_names_is_kept_and_the_rest_is_deleted(tmp_path: Path) -> None:
    root, project = tmp_path / "root", tmp_path / "project"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    snapshots = Snapshots(root, project / "snapshots")
    kept = snapshots.take()
    (root / "a.txt").write_text("two\n")
    gone = snapshots.take()
    session = Session.create(project / "sessions")
    session.append(SnapshotEvent(tree=kept, when="before"))
    assert prune_snapshots(project) == 0, "a session has the store open"
    snapshots.close()
    session.close()
    assert prune_snapshots(project) > 0
    again = Snapshots(root, project / "snapshots")
    state = again.find_state(kept, "a.txt")
    assert state is not None
    assert again.read_content(state) == b"one\n"
    assert again.take() == gone, "it is recorded anew"
    again.close()
    assert prune_snapshots(tmp_path / "nowhere") == 0
