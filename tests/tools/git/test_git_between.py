"""What a person edits in a file after the session changed it is no part of the session's commit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo, agent_removes, agent_writes
from tools.changes.concurrent_changes import ConcurrentChanges
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.commits.session_commit import CommitResult, commit_session

pytestmark = pytest.mark.slow  # each test makes a repository and several snapshots

LINES = "".join(f"line {number}\n" for number in range(1, 21))
MINE = LINES.replace("line 5\n", "agent's 5\n")


class Session:
    """Steps of an agent with a person's edits between them."""

    def __init__(self, repo: Repo, snapshots: Snapshots) -> None:
        self.repo, self.snapshots = repo, snapshots
        self.at: Workspace = repo.workspace()
        self.concurrent_changes = ConcurrentChanges(self.at.changes, lambda: snapshots)

    def writes(self, content: str, path: str = "a.py") -> None:
        self.concurrent_changes.record_snapshot(self.snapshots.take(), "before")
        agent_writes(self.at, path, content)
        self.concurrent_changes.record_snapshot(self.snapshots.take(), "after")

    def removes(self, path: str = "a.py") -> None:
        self.concurrent_changes.record_snapshot(self.snapshots.take(), "before")
        agent_removes(self.at, path)
        self.concurrent_changes.record_snapshot(self.snapshots.take(), "after")

    def commits(self) -> CommitResult:
        self.concurrent_changes.record_snapshot(self.snapshots.take(), "before")
        return asyncio.run(commit_session(self.at, "Change it"))

    def refused(self) -> str:
        with pytest.raises(ToolFailure) as failure:
            self.commits()
        return str(failure.value)

    @property
    def committed(self) -> str:
        return self.repo.git("show", "HEAD:a.py")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    repo = Repo(tmp_path / "repo")
    repo.write("a.py", LINES)
    repo.write("b.py", "b\n")
    repo.commit_all("first")
    snapshots = Snapshots(repo.root, tmp_path / "store")
    yield Session(repo, snapshots)
    snapshots.close()


def edit(session: Session, old: str, new: str) -> str:
    """A person's edit; returns what the file holds now."""
    path = session.repo.root / "a.py"
    text = path.read_text().replace(old, new)
    path.write_text(text)
    return text


def test_an_edit_beside_the_sessions_lines_stays_the_persons(session: Session) -> None:
    session.writes(MINE)
    now = edit(session, "line 15\n", "person's 15\n")
    assert not session.commits().notes
    assert session.committed == MINE
    assert (session.repo.root / "a.py").read_text() == now
    assert session.repo.git("show", ":a.py") == MINE
    # and still does when the session goes on in that file
    session.writes(now.replace("line 1\n", "agent's 1\n"))
    session.commits()
    assert session.committed == MINE.replace("line 1\n", "agent's 1\n")


def test_of_lines_that_a_person_changed_again_the_sessions_are_committed_and_it_is_said(
    session: Session,
) -> None:
    session.writes(MINE)
    now = edit(session, "agent's 5\n", "person's 5\n")
    assert [note.partition(":")[0] for note in session.commits().notes] == ["a.py"]
    assert session.committed == MINE
    assert (session.repo.root / "a.py").read_text() == now
    assert session.repo.git("diff", "--name-only").split() == ["a.py"]


def test_an_edit_of_a_new_file_stays_the_persons(session: Session) -> None:
    session.writes("one\ntwo\nthree\n", "new.py")
    with (session.repo.root / "new.py").open("a") as file:
        file.write("a person's\n")
    assert session.commits().notes
    assert session.repo.git("show", "HEAD:new.py") == "one\ntwo\nthree\n"
    assert (session.repo.root / "new.py").read_text().endswith("a person's\n")


def test_of_a_file_that_was_ignored_nobody_knows_whose_lines_it_has(session: Session) -> None:
    session.repo.write(".gitignore", "out/\n")
    session.writes("agent's\n", "out/made.txt")
    with (session.repo.root / "out/made.txt").open("a") as file:
        file.write("a person's\n")
    (session.repo.root / ".gitignore").unlink()
    session.writes(MINE)
    assert "out/made.txt" in session.commits().left_out
    assert session.repo.committed() == ["a.py"]


def test_lines_that_both_changed_in_turn_are_committed_by_nobody(session: Session) -> None:
    session.writes(MINE)
    now = edit(session, "agent's 5\n", "person's 5\n")
    session.writes(now.replace("person's 5\n", "person's 5, bettered\n"))
    head, index = session.repo.head(), session.repo.index()
    assert "changed lines that you changed as well" in session.refused()
    assert (session.repo.head(), session.repo.index()) == (head, index)


@pytest.mark.parametrize("back", ["the line", "the file"])
def test_what_a_person_took_back_is_not_committed(session: Session, back: str) -> None:
    session.writes(MINE.replace("line 15\n", "agent's 15\n") if back == "the line" else MINE)
    edit(session, "agent's 5\n", "line 5\n")
    if back == "the file":
        assert "nothing to commit" in session.refused()
    else:
        session.commits()
        assert session.committed == LINES.replace("line 15\n", "agent's 15\n")


def test_a_file_that_a_person_removed_is_not_brought_back(session: Session) -> None:
    session.writes(MINE)
    session.writes("b, bettered\n", "b.py")
    (session.repo.root / "a.py").unlink()
    assert [file.path for file in session.commits().files] == ["b.py"]
    assert session.committed == LINES


def test_what_the_person_committed_does_not_stand_in_the_way(session: Session) -> None:
    session.writes(MINE)
    now = edit(session, "agent's 5\n", "person's 5\n")
    session.writes(now.replace("line 10\n", "agent's 10\n"))
    session.repo.git("commit", "-qam", "A person's, all of it")
    now = now.replace("line 10\n", "agent's 10\n").replace("line 15\n", "agent's 15\n")
    session.writes(now)
    assert not session.commits().notes
    assert session.committed == now


def test_a_persons_mode_stays_theirs(session: Session) -> None:
    session.writes(MINE)
    (session.repo.root / "a.py").chmod(0o755)
    session.commits()
    assert session.repo.git("ls-tree", "HEAD", "a.py").startswith("100644 ")


def test_a_file_that_the_session_removed_and_a_person_wrote_anew_is_removed_by_the_commit(
    session: Session,
) -> None:
    session.removes()
    session.repo.write("a.py", "a person's\n")
    assert session.commits().notes
    assert "a.py" not in session.repo.git("ls-tree", "--name-only", "HEAD").split()
    assert (session.repo.root / "a.py").read_text() == "a person's\n"


def test_an_undo_between_steps_is_the_sessions_and_what_came_before_it_is_not(session: Session) -> None:
    session.writes(MINE)
    edit(session, "line 15\n", "person's 15\n")
    before = session.snapshots.take()
    edit(session, "agent's 5\n", "line 5\n")  # what an undo does
    session.concurrent_changes.record_undo(before, session.snapshots.take())
    session.writes("b, bettered\n", "b.py")
    assert [file.path for file in session.commits().files] == ["b.py"]
    assert session.committed == LINES
