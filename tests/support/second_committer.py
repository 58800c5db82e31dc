"""Somebody else who commits in the same repository all the time: a person with git, or another session."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.git.commits.session_commit import commit_session

Commit = Callable[[Repo, str], bool]
"""Commits a new content of one path; returns whether git did."""


def _run(repo: Repo, *arguments: str) -> str | None:
    """Run git and return what it printed, None if it failed: its locks make both sides fail now and then."""
    who = ("-c", "gc.auto=0", "-c", "user.name=Someone Else", "-c", "user.email=else@example.org")
    done = subprocess.run(("git", *who, *arguments), cwd=repo.root, capture_output=True, check=False)
    return done.stdout.decode().strip() if done.returncode == 0 else None


def _commit_path(repo: Repo, path: str) -> bool:
    return _run(repo, "add", path) is not None and _run(repo, "commit", "-qm", path, "--", path) is not None


def _commit_index(repo: Repo, path: str) -> bool:
    return _run(repo, "add", path) is not None and _run(repo, "commit", "-qm", path) is not None


def _commit_by_plumbing(repo: Repo, path: str) -> bool:
    """Commit as a tool does that leaves the index alone: the tree of HEAD with one more file."""
    head, blob = _run(repo, "rev-parse", "HEAD"), _run(repo, "hash-object", "-w", path)
    if head is None or blob is None:
        return False
    index = repo.root.parent / "plumbing-index"
    places = ("env", f"GIT_INDEX_FILE={index}", "git")
    steps = (
        ("read-tree", head),
        ("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"),
        ("write-tree",),
    )
    tree = ""
    for step in steps:
        tree = (
            subprocess.run((*places, *step), cwd=repo.root, capture_output=True, check=True)
            .stdout.decode()
            .strip()
        )
    made = _run(repo, "commit-tree", "-p", head, "-m", path, tree)
    return made is not None and _run(repo, "update-ref", "HEAD", made, head) is not None


WAYS: Mapping[str, Commit] = {
    "one path": _commit_path,
    "the whole index": _commit_index,
    "plumbing": _commit_by_plumbing,
}


@dataclass(slots=True)
class SecondCommitter:
    """Commits files of its own, `else1.txt` and so on. made: those that git committed"""

    repo: Repo
    commit: Commit
    pause: float = 0.15
    made: list[str] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[SecondCommitter]:
        """Commit in a thread as long as the context is open."""
        stop = threading.Event()

        def work() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                path = f"else{number}.txt"
                self.repo.write(path, f"{number}\n")
                if self.commit(self.repo, path):
                    self.made.append(path)
                stop.wait(self.pause)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join()


def commit_often(repo: Repo, path: str, count: int) -> list[str]:
    """Change a file and commit it as a session does, `count` times; return the ids of the commits.

    A commit that was refused, since others were always first, is tried again. After each the index has to hold it.
    """
    at = repo.workspace()
    made: list[str] = []
    for number in range(count):
        agent_writes(at, path, f"{number}\n")
        for _ in range(20):
            try:
                made.append(asyncio.run(commit_session(at, f"{path} {number}")).sha)
                break
            except ToolFailure:
                continue
        else:
            raise AssertionError(f"{path} {number} was never committed")
        staged = repo.git("diff", "--cached", "--name-only", "--", path)
        assert not staged, f"the index reverts {path} {number}"
    return made


def assert_nothing_reverted(repo: Repo, own: Mapping[str, list[str]], others: list[str]) -> None:
    """Assert that no commit holds the reverse of another one, and that HEAD and the index hold all of them.

    own: commits of sessions by the path that they changed
    """
    for path, commits in own.items():
        assert {name for commit in commits for name in repo.committed(commit)} == {path}
    for commit in repo.git("log", "--format=%H", "--grep=^else").split():
        assert not own.keys() & set(repo.committed(commit))
    assert set(others) <= set(repo.git("ls-tree", "--name-only", "HEAD").split())
    staged = repo.git("diff", "--cached", "--name-only").split()
    assert not [path for path in staged if path in own]
