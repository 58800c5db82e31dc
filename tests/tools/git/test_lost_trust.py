"""Hooks in which the user's trust is lost: they guard a commit all the same, confined, or none is made."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox
from sandbox.policy.trust import TrustStore
from tests.support.cli import Result, call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits.session_commit import CommitResult, commit_session

pytestmark = pytest.mark.slow

HOOKS = {
    "sed": "sed '/return/!d;s/.*/echo &/e' a.py | grep -q 'return 3' && exit 1; echo seen; exit 0",
    "env and xargs": "echo a.py | env X=1 xargs -I% sh -c 'grep -q \"return 3\" %' && exit 1; echo seen; exit 0",
    "a wrapper": "sh ./check.sh a.py && echo seen",
    "the index": "git show :a.py | xargs -n 2 | grep -q 'return 3' && exit 1; sh -c 'cat a.py' > seen.txt; echo seen",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "def f():\n    return 1\n")
    made.write("check.sh", 'grep -q "return 3" "$1" && { echo no threes; exit 1; }; exit 0\n')
    made.commit_all("first")
    needs_confinement(made.root)
    return made


def trust(repo: Repo) -> Workspace:
    """A workspace with a sandbox, whose definitions are trusted as they are now."""
    at = repo.workspace()
    at.sandbox = choose_sandbox(repo.root, spill=repo.root.parent / "spill")
    store = TrustStore(repo.root.parent / "config")
    at.trusts = store.create_check(repo.root)
    store.grant(repo.root, Broker(repo.root).program_definitions)
    return at


def make(at: Workspace, message: str = "Fix it") -> CommitResult:
    return asyncio.run(commit_session(at, message))


def refusal(at: Workspace) -> str:
    with pytest.raises(ToolFailure) as failure:
        make(at)
    return str(failure.value)


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_that_names_what_the_session_changed_still_guards_the_commit(repo: Repo, name: str) -> None:
    repo.hook("pre-commit", HOOKS[name])
    at = trust(repo)
    agent_writes(at, "a.py", "def f():\n    return 2\n")
    made = make(at)
    assert made.untrusted.startswith("ran in the sandbox only, since what they run changed")
    assert "seen" in made.output
    agent_writes(at, "a.py", "def f():\n    return 3\n")
    assert "a hook of this repository (pre-commit) refused the commit" in refusal(at)
    assert repo.head() == made.sha


def test_a_hook_without_an_interpreter_and_one_for_messages_guard_it_as_well(repo: Repo) -> None:
    repo.hook("pre-commit", "exit 0").write_text("sh ./check.sh a.py\n")
    repo.hook(
        "commit-msg",
        "sh ./check.sh a.py; head -n 1 \"$1\" | grep -q '^[A-Z]' || exit 1; echo 'Change-Id: I1' >> \"$1\"",
    )
    at = trust(repo)
    agent_writes(at, "a.py", "def f():\n    return 2\n")
    with pytest.raises(ToolFailure, match="commit-msg"):
        make(at, "lower case")
    made = make(at)
    assert repo.git("log", "-1", "--format=%B", made.sha).strip().endswith("Change-Id: I1")


def test_it_reaches_nothing_beyond_the_workspace_and_changes_nothing_of_the_commit(repo: Repo) -> None:
    outside = repo.root.parent / "outside"
    repo.write("check.sh", "exit 0\n")
    repo.hook("pre-commit", "sh ./check.sh")
    at = trust(repo)
    agent_writes(at, "a.py", "def f():\n    return 2\n")
    repo.write("check.sh", f"touch {outside} .git/owned; git add other.txt; exit 0\n")
    repo.write("other.txt", "the user's\n")
    assert "changes what is committed" in refusal(at)
    assert not outside.exists()
    assert not (repo.root / ".git/owned").exists()
    assert "other.txt" not in repo.git("ls-files")


@pytest.mark.parametrize("where", ["no sandbox", "a part of the repository", "a hook that git has to start"])
def test_without_a_confined_run_nothing_is_committed(repo: Repo, where: str) -> None:
    repo.hook("pre-commit", "sh ./check.sh a.py")
    if where.startswith("a hook"):
        repo.hook("reference-transaction", "sh ./check.sh a.py")
    at = trust(repo)
    if where == "no sandbox":
        at.sandbox = repo.workspace().sandbox
    if where.startswith("a part"):
        repo.write("part/b.py", "b\n")
        part = repo.workspace("part")
        part.trusts, part.sandbox = at.trusts, at.sandbox
        at = part
    repo.write("check.sh", "exit 0\n")
    agent_writes(at, "b.py", "b = 1\n")
    head = repo.head()
    text = refusal(at)
    assert "patchwright trust" in text
    assert "\n" not in text
    assert repo.head() == head


def test_what_was_never_trusted_is_reported_as_before(repo: Repo) -> None:
    repo.hook("pre-commit", "exit 1")
    at = trust(repo)
    at.trusts = TrustStore(repo.root.parent / "none").create_check(repo.root)
    agent_writes(at, "a.py", "def f():\n    return 2\n")
    assert "not run, since this repository is not trusted" in make(at).untrusted


def test_an_interrupt_ends_a_confined_hook(repo: Repo) -> None:
    repo.hook("pre-commit", "sh ./check.sh")
    at = trust(repo)
    repo.write("check.sh", "touch started; sleep 60\n")
    agent_writes(at, "a.py", "def f():\n    return 2\n")
    head = repo.head()

    async def interrupt() -> float:
        task = asyncio.create_task(commit_session(at, "Never made"))
        deadline = time.monotonic() + 20
        while not (repo.root / "started").exists() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - began

    assert asyncio.run(interrupt()) < 10
    assert repo.head() == head


def run_session(repo: Repo, *edits: tuple[str, str, str]) -> Result:
    turns: list[dict[str, object]] = [
        {"calls": [call("edit", path=path, old=old, new=new)]} for path, old, new in edits
    ]
    model = script(repo.root.parent, [*turns, *({"text": "Done."} for _ in range(3))])
    return run("run", "make f return another number", "--model", model, "--tests", "true", cwd=repo.root)


CHANGES: dict[str, Callable[[Repo], Result]] = {
    "what the hook reads": lambda repo: run_session(repo, ("a.py", "return 1", "return 3")),
    "the check itself": lambda repo: run_session(
        repo, ("check.sh", "exit 1", "exit 4"), ("a.py", "return 1", "return 3")
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_session_whose_commit_the_gate_refuses_has_not_achieved_it(repo: Repo, name: str) -> None:
    repo.hook("pre-commit", "sh ./check.sh a.py")
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    head = repo.head()
    result = CHANGES[name](repo)
    assert (result.code, repo.head()) == (13, head), result.err
    assert "pre-commit" in result.err.strip().splitlines()[-1] or "hook" in result.err
    assert "return 3" in repo.read("a.py")


def test_a_session_whose_commit_passes_the_confined_gate_is_done_and_says_how_it_ran(repo: Repo) -> None:
    repo.hook("pre-commit", "sh ./check.sh a.py")
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    head = repo.head()
    result = run_session(repo, ("a.py", "return 1", "return 2"))
    assert result.code == 0, result.err
    assert repo.head() != head
    assert "ran in the sandbox only" in result.err
