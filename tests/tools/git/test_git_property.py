"""Commits of a session's changes, amid random uncommitted work of the user's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.repo import Repo, agent_removes, agent_writes, remember_original
from tests.support.stress import count_cases
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.commits.session_commit import CommitResult, commit_session

EXAMPLES = count_cases(25)

NAMES = ("plain.py", "with space.py", "pkg/ünï.py", "pkg/new\nline.py", "dos.txt", "fresh.py")
# Far enough apart that changes of different lines always merge.
PLACES = (1, 6, 11, 16, 21)
LENGTH = 24

Verb = Literal["edit", "remove", "chmod", "create"]


@dataclass(frozen=True)
class Edit:
    """One change of one file; a user's may be staged."""

    name: str
    verb: Verb
    place: int
    stage: bool

    def text(self, who: str, before: str) -> str:
        lines = before.splitlines(keepends=True)
        if self.place >= len(lines):
            return before + f"{who} at the end\n"
        end = "\r\n" if lines[self.place].endswith("\r\n") else "\n"
        lines[self.place] = f"{who} {self.place}{end}"
        return "".join(lines)


EDITS = st.lists(
    st.builds(
        Edit,
        name=st.sampled_from(NAMES),
        verb=st.sampled_from(("edit", "edit", "edit", "remove", "chmod", "create")),
        place=st.sampled_from(PLACES),
        stage=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def user_does(repo: Repo, edit: Edit) -> None:
    path = repo.root / edit.name
    if edit.verb == "create" and not path.exists():
        repo.write(edit.name, "user's own\n")
    elif not path.exists():
        return
    elif edit.verb == "edit":
        repo.write(edit.name, edit.text("user", repo.read(edit.name)))
    elif edit.verb == "chmod":
        path.chmod(0o755)
    elif edit.verb == "remove":
        path.unlink()
    if edit.stage:
        repo.git("add", "-A", "--", edit.name, check=path.exists())  # made and removed: nothing to add


def agent_does(repo: Repo, at: Workspace, edit: Edit) -> None:
    path = repo.root / edit.name
    if edit.verb == "create" and not path.exists():
        agent_writes(at, edit.name, "agent's own\n")
    elif not path.exists():
        return
    elif edit.verb == "edit":
        agent_writes(at, edit.name, edit.text("agent", repo.read(edit.name)))
    elif edit.verb == "chmod":
        remember_original(at, edit.name)
        path.chmod(0o755)
    elif edit.verb == "remove":
        agent_removes(at, edit.name)


def image(root: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): (path.stat().st_mode, path.read_bytes()) for path in files}


def start(folder: Path) -> Repo:
    repo = Repo(folder / "repo")
    repo.write(".gitattributes", "*.txt text eol=crlf\n")
    for name in NAMES[:-1]:
        end = "\r\n" if name.endswith(".txt") else "\n"
        repo.write(name, "".join(f"line {number}{end}" for number in range(LENGTH)))
    repo.commit_all()
    repo.write("plain.py", repo.read("plain.py") + "stashed\n")
    repo.git("stash", "-q")
    return repo


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES)
@given(user=EDITS, agent=EDITS)
def test_a_commit_is_the_agents_alone_and_the_users_work_stays_as_it_was(
    user: list[Edit], agent: list[Edit]
) -> None:
    with TemporaryDirectory() as folder:
        repo = start(Path(folder))
        for edit in user:
            user_does(repo, edit)
        at = repo.workspace()
        for edit in agent:
            agent_does(repo, at, edit)
        changed, work, index = dict(at.changes.originals), image(repo.root), repo.index()
        head, stash = repo.head(), repo.git("stash", "list")
        cached = {name: repo.git("show", f":{name}", check=False) for name in NAMES}
        try:
            made = asyncio.run(commit_session(at, "Change things"))
        except ToolFailure as failure:
            event(str(failure).partition(":\n")[0])
            assert (repo.head(), repo.index()) == (head, index)
        else:
            event(f"committed; files with changes of both: {both(user, agent)}")
            check_commit(repo, made, changed, index, cached)
        assert image(repo.root) == work
        assert repo.git("stash", "list") == stash
        assert repo.git("fsck", "--no-dangling", "--no-progress") == ""


def both(user: list[Edit], agent: list[Edit]) -> int:
    return len({edit.name for edit in user} & {edit.name for edit in agent})


def check_commit(
    repo: Repo,
    made: CommitResult,
    changed: dict[str, bytes | None],
    index: dict[str, str],
    cached: dict[str, str],
) -> None:
    committed = set(repo.committed())
    assert committed <= changed.keys()
    after = repo.index()
    for name in after.keys() | index.keys():
        if name not in committed:
            assert after.get(name) == index.get(name), name
    for name in committed:
        before, now = (
            repo.git("show", f"HEAD~:{name}", check=False),
            repo.git("show", f":{name}", check=False),
        )
        there = (repo.root / name).exists()
        text = repo.show(name) if there else ""
        assert "user" not in text, name
        assert "\r" not in text
        if there:
            # Exactly the agent's lines of the present file are new in the commit.
            mine = [line for line in repo.read(name).splitlines() if line.startswith("agent")]
            new = [line for line in text.splitlines() if line not in before.splitlines()]
            assert sorted(new) == sorted(mine), name
        # What was staged by the user is staged still.
        if not any(name in note for note in made.notes):
            staged = [line for line in cached[name].splitlines() if line.startswith("user")]
            kept = [line for line in now.splitlines() if line.startswith("user")]
            lost = [line for line in staged if line not in kept]
            assert not lost or not there, name
