"""Snapshots have a budget by age and size; what goes is said, and the newest sessions keep their undo."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agent.events import SnapshotEvent
from agent.session.log import Session, read_events
from agent.session.snapshot_budget import limit_snapshots
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.cli import call, run, script
from tests.support.repo import Repo


def make_sessions(tmp_path: Path, ages: list[float]) -> tuple[Path, list[str]]:
    """Return a project's folder, and the snapshot of each of its sessions. ages: in days"""
    root, project = tmp_path / "root", tmp_path / "project"
    root.mkdir()
    snapshots = Snapshots(root, project / "snapshots")
    trees = []
    for age in ages:
        (root / "a.bin").write_bytes(os.urandom(100_000))
        trees.append(snapshots.take())
        session = Session.create(project / "sessions")
        session.append(SnapshotEvent(tree=trees[-1], when="after"))
        session.close()
        when = time.time() - age * 86_400
        os.utime(session.folder / "log.jsonl", (when, when))
    snapshots.close()
    return project, trees


def list_kept(project: Path, trees: list[str]) -> list[bool]:
    snapshots = Snapshots(project.parent / "root", project / "snapshots")
    kept = [snapshots._store.has(tree) for tree in trees]
    snapshots.close()
    return kept


def test_old_sessions_lose_their_snapshots(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [200, 100, 1])
    notice = limit_snapshots(project)
    assert "cannot be undone any more" in notice
    assert list_kept(project, trees) == [False, False, True]
    assert limit_snapshots(project) == ""


def test_the_oldest_go_while_all_are_too_large(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [40, 30, 20, 10])
    assert limit_snapshots(project, most_bytes=250_000)
    assert list_kept(project, trees) == [False, False, True, True]


def test_within_the_budget_nothing_goes(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [80, 1])
    assert limit_snapshots(project) == ""
    assert list_kept(project, trees) == [True, True]


def test_lines_that_name_no_snapshot_are_not_parsed_and_damage_keeps_all(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [200, 1])
    newest = max((project / "sessions").iterdir(), key=lambda each: (each / "log.jsonl").stat().st_mtime)
    log = newest / "log.jsonl"
    log.write_bytes(b'{"v":2,"kind":"no event"}\n' + log.read_bytes())
    found = list(read_events(newest, only=(b'"snapshot"',)))
    assert [getattr(event, "tree", "") for event in found] == [trees[1]]
    log.write_bytes(b"\0" * 30 + b"\n" + log.read_bytes())
    assert limit_snapshots(project) == ""
    assert list_kept(project, trees) == [True, True]


@pytest.mark.slow
def test_the_next_session_says_what_went(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "one\n")
    repo.commit_all()
    made = script(tmp_path, [{"calls": [call("write", path="b.txt", content="two\n")]}, {"text": "done"}])
    assert run("run", "go", "--no-commit", "--model", made, cwd=repo.root).code in (0, 10)
    home = Path(os.environ["PATCHWRIGHT_HOME"])
    [log] = home.rglob("sessions/*/log.jsonl")
    os.utime(log, (1, 1))
    again = run("run", "go", "--no-commit", "--output", "stream-json", "--model", made, cwd=repo.root)
    assert "cannot be undone any more" in again.out
    assert list(home.rglob("snapshots/last-check"))
