"""Commits under random work of an agent and a person, in repositories of every shape."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.snapshots.object_store import EMPTY_TREE
from tests.support.repo import Repo
from tests.support.worlds import TRAITS, Image, Told, World, git_state, image, lines_of, regular, world
from tools.changes.concurrent_changes import ConcurrentChanges
from tools.core.action import Observation

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261122"))
REPOSITORIES = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
"""Of each shape; every other trait may come with it."""

COMMITS = 8
"""Tried in each repository."""


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("shape", ["ordinary", *TRAITS])
def test_a_commit_leaves_index_stash_and_a_persons_work_as_they_were(shape: str, tmp_path: Path) -> None:
    for number in range(REPOSITORIES):
        draw = random.Random(f"{SEED} {shape} {number}")
        told = Told()
        with world(tmp_path / f"{number}", draw, (shape,), told) as place:
            told.tree = ConcurrentChanges(place.at.changes, lambda: place.snapshots).record_snapshot
            place.carries = bool(draw.randrange(2))
            for _ in range(COMMITS):
                place.meet()
                told.beside = place.beside
                for _ in range(draw.randrange(1, 5)):
                    draw.choice((place.person, place.agent, place.meddle))()
                told.beside = lambda: None  # so that what a commit does is seen
                _commit(place)
            assert _faults(place.repo) == []


def _faults(repo: Repo) -> list[str]:
    """What git finds wrong with the repository.

    Not wrong: that HEAD has no commit yet, and the empty tree in the cache of the index. A person's `git commit` with
    nothing staged on an unborn branch enters it there without storing it, and git's own fsck calls it missing
    (`git init; git read-tree --empty; git commit -m x; git fsck`). As the tree of a commit it has to be stored.
    """
    fine = ["notice: HEAD points to an unborn branch"]
    if EMPTY_TREE not in repo.git("log", "--all", "--reflog", "--format=%T").split():
        fine.append(f"missing tree {EMPTY_TREE}")
    done = subprocess.run(
        ["git", "fsck", "--no-dangling", "--no-progress"], cwd=repo.root, capture_output=True, check=False
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    return [line for line in said if not line.startswith(tuple(fine))]


def _commit(place: World) -> None:
    repo = place.repo
    files, state, entries, head = image(repo.root), git_state(repo), _entries(repo), _head(repo)
    staged = {path: repo.git("show", f":{path}", check=False) for path in entries}
    done = place.commit()
    assert image(repo.root) == files, "no file is touched by a commit"
    if done.failed:
        assert git_state(repo) == state, done.text
        return
    _only_head_moved(repo, state, git_state(repo), head)
    committed = set(repo.committed())
    after = _entries(repo)
    for path in after.keys() | entries.keys():
        if path not in committed:
            assert after.get(path) == entries.get(path), (
                f"{path!r} is not in the commit, and its entry changed"
            )
    for path in committed:
        _persons_lines(place, done, path, files, staged)


def _persons_lines(
    place: World,
    done: Observation,
    path: str,
    files: Image,
    staged: Mapping[str, str],
) -> None:
    """What a person has written and not committed, before or after the session changed the file, is not in the commit;
    what they had staged is staged."""
    repo = place.repo
    before, now, index = (
        lines_of(os.fsencode(repo.git("show", f"{where}:{path}", check=False)), "person")
        for where in ("HEAD~", "HEAD", "")
    )
    if not place.carries:
        assert now <= before, f"{path!r}: a person's lines went into the agent's commit"
    if path in files and regular(files[path]) and not any(path in note for note in _notes(done)):
        lost = lines_of(os.fsencode(staged.get(path, "")), "person") - before - index
        assert not lost, f"{path!r}: what a person had staged is staged no more"


def _only_head_moved(repo: Repo, before: Mapping[str, bytes], after: Mapping[str, bytes], head: str) -> None:
    """A commit on top of what was there; the stash, its log and all other references are the same bytes."""
    moved = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    branch = repo.git("symbolic-ref", "--quiet", "HEAD", check=False).strip()
    allowed = ("index", "HEAD", f"/{branch}" if branch else "HEAD")
    assert all(path.endswith(allowed) for path in moved), moved
    parent = repo.git("rev-parse", "--verify", "--quiet", "HEAD~", check=False).strip()
    assert parent == head


def _entries(repo: Repo) -> dict[str, str]:
    """Flags (skip-worktree, assumed unchanged), mode, blob and stage of every entry."""
    flags = {line[2:]: line[:1] for line in repo.git("ls-files", "-v", "-z").split("\0")[:-1]}
    return {path: f"{flags.get(path, '')} {entry}" for path, entry in repo.index().items()}


def _head(repo: Repo) -> str:
    return repo.git("rev-parse", "--verify", "--quiet", "HEAD", check=False).strip()


def _notes(done: Observation) -> list[str]:
    return [line for line in done.text.splitlines() if line.startswith("note: ")]
