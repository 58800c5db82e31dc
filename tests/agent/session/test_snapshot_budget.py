"""Snapshots have a budget by age and size; what goes is said, and the newest sessions keep their undo."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agent.events import Prompt, SnapshotEvent
from agent.session.log import Session, read_events
from agent.session.snapshot_budget import limit_snapshots
from agent.session_settings import SnapshotSettings
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.cli import call, run, script
from tests.support.repo import Repo

BUDGET = SnapshotSettings()


def make_sessions(
    tmp_path: Path, ages: list[float], undoable: tuple[int, ...] = ()
) -> tuple[Path, list[str]]:
    """Return a project's folder, and the snapshot after each of its sessions. ages: in days

    undoable: places of those whose change was not undone
    """
    root, project = tmp_path / "root", tmp_path / "project"
    root.mkdir()
    snapshots = Snapshots(root, project / "snapshots")
    trees = []
    for place, age in enumerate(ages):
        before = snapshots.take()
        (root / "a.bin").write_bytes(os.urandom(400_000))
        trees.append(snapshots.take())
        session = Session.create(project / "sessions")
        if place in undoable:
            session.append(Prompt(text="go"))
            session.append(SnapshotEvent(tree=before, when="before"))
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
    notice = limit_snapshots(project, BUDGET)
    assert "cannot be undone any more" in notice
    assert list_kept(project, trees) == [False, False, True]
    assert limit_snapshots(project, BUDGET) == ""


def test_the_oldest_go_while_all_are_too_large(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [40, 30, 20, 10])
    assert "(kept: 90 days, 1 MB)" in limit_snapshots(project, SnapshotSettings(megabytes=1))
    assert list_kept(project, trees) == [False, False, True, True]


@pytest.mark.parametrize(
    ("ages", "undoable", "kept"),
    [
        ([200, 150, 100], (1,), [True, True, False]),
        ([200, 150, 100], (0, 2), [False, True, True]),
        ([200, 1], (0,), [True, True]),
        ([3, 2, 1, 0], (0,), [True, False, False, True]),
    ],
)
def test_the_last_change_that_was_not_undone_keeps_its_snapshots(
    tmp_path: Path, ages: list[float], undoable: tuple[int, ...], kept: list[bool]
) -> None:
    project, trees = make_sessions(tmp_path, ages, undoable)
    limit_snapshots(project, SnapshotSettings(megabytes=1))
    assert list_kept(project, trees) == kept


def test_within_the_budget_nothing_goes(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [80, 1])
    assert limit_snapshots(project, BUDGET) == ""
    assert list_kept(project, trees) == [True, True]


def test_lines_that_name_no_snapshot_are_not_parsed_and_damage_keeps_all(tmp_path: Path) -> None:
    project, trees = make_sessions(tmp_path, [200, 1])
    newest = max((project / "sessions").iterdir(), key=lambda each: (each / "log.jsonl").stat().st_mtime)
    log = newest / "log.jsonl"
    log.write_bytes(b'{"v":2,"kind":"no event"}\n' + log.read_bytes())
    found = list(read_events(newest, only=(b'"snapshot"',)))
    assert [getattr(event, "tree", "") for event in found] == [trees[1]]
    log.write_bytes(b"\0" * 30 + b"\n" + log.read_bytes())
    assert limit_snapshots(project, BUDGET) == ""
    assert list_kept(project, trees) == [True, True]


@pytest.mark.slow
def test_the_next_session_says_what_went(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "one\n")
    repo.commit_all()
    made = script(tmp_path, [{"calls": [call("write", path="b.txt", content="two\n")]}, {"text": "done"}])
    script(
        tmp_path, [{"calls": [call("write", path="c.txt", content="new\n")]}, {"text": "done"}], "more.json"
    )
    assert run("run", "go", "--no-commit", "--model", made, cwd=repo.root).code in (0, 10)
    home = Path(os.environ["PATCHWRIGHT_HOME"])
    assert run("run", "go", "--no-commit", "--model", made.replace("turns", "more"), cwd=repo.root).code in (
        0,
        10,
    )
    first = min(home.rglob("sessions/*/log.jsonl"), key=lambda each: each.stat().st_mtime)
    os.utime(first, (1, 1))
    [marker] = home.rglob("snapshots/last-check")
    os.utime(marker, (1, 1))
    again = run("run", "go", "--no-commit", "--output", "stream-json", "--model", made, cwd=repo.root)
    assert "cannot be undone any more" in again.out
    assert list(home.rglob("snapshots/last-check"))
