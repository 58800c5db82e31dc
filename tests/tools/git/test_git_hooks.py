"""The repository's hooks run at a commit, speak when they refuse, and never run what the session changed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.git.repository_programs import (
    find_hooks_folder,
    list_active_hooks,
    list_definitions,
    read_settings,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.write("b.py", "b\n")
    made.commit_all("first")
    return made


def make(at: Workspace, message: str = "Fix it") -> CommitResult:
    return asyncio.run(commit_session(at, message))


def refusal(at: Workspace, message: str = "Fix it") -> str:
    with pytest.raises(ToolFailure) as failure:
        make(at, message)
    return str(failure.value)


def test_hooks_run_and_a_refusing_one_speaks(repo: Repo) -> None:
    repo.hook("pre-commit", "echo found a tab in a.py; exit 3")
    at = repo.workspace()
    agent_writes(at, "a.py", "\tagent\n")
    repo.write("b.py", "user\n")
    repo.git("add", "b.py")
    head, index = repo.head(), repo.index()
    text = refusal(at)
    assert "a hook of this repository (pre-commit) refused" in text
    assert "found a tab in a.py" in text
    assert (repo.head(), repo.index(), repo.read("a.py")) == (head, index, "\tagent\n")
    assert list(at.changes.originals) == ["a.py"]


def test_a_hook_sees_exactly_what_will_be_committed_and_may_add_to_it(repo: Repo) -> None:
    repo.hook(
        "pre-commit", "git diff --cached --name-only > .git/seen; echo by hook > gen.txt; git add gen.txt"
    )
    repo.hook("commit-msg", "echo 'Change-Id: I1' >> \"$1\"")
    repo.write("b.py", "user\n")
    repo.git("add", "b.py")
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert repo.read(".git/seen") == "a.py\n"
    assert sorted(file.path for file in made.files) == ["a.py", "gen.txt"]
    assert repo.git("status", "--porcelain") == "M  b.py\n"
    assert repo.git("log", "-1", "--format=%B").strip().endswith("Change-Id: I1")


@pytest.mark.parametrize(
    "written", ["hooks", "./hooks", "{root}/hooks", "~/{name}/hooks", "%(prefix)/../{rest}/hooks"]
)
def test_settings_that_were_read_already_name_the_folder_that_git_names(
    repo: Repo, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repo.root.parent))
    repo.hook("pre-commit", "exit 0", folder="hooks")
    root = repo.root
    named = written.format(root=root, name=root.name, rest=str(root).lstrip("/"))
    repo.git("config", "core.hooksPath", named)
    broker = Broker(repo.root)
    told_by_git = repo.git("config", "--type=path", "--get", "core.hooksPath").strip()
    assert find_hooks_folder(broker) == find_hooks_folder(broker, read_settings(broker)) == root / told_by_git
    assert [each.name for each in list_active_hooks(broker, read_settings(broker))] == (
        ["pre-commit"] if (root / told_by_git).is_dir() else []
    )


@pytest.mark.parametrize(
    ("line", "signs"),
    [
        ("", False),
        ("gpgsign", True),
        ("gpgsign = yes", True),
        ("gpgsign = 0", False),
        ("gpgsign = true", True),
    ],
)
def test_whether_commits_are_signed_is_read_as_git_reads_it(repo: Repo, line: str, signs: bool) -> None:
    with (repo.root / ".git/config").open("a") as file:
        file.write(f"[commit]\n\tgpgsign = false\n\t{line}\n")
    assert Broker(repo.root).signs_commits() is signs


@pytest.mark.parametrize("place", [".githooks", ".husky/_"])
def test_a_hook_in_the_work_tree_runs_unless_this_session_changed_it(repo: Repo, place: str) -> None:
    repo.hook("pre-commit", "echo ran >> .git/ran", folder=place)
    repo.commit_all()
    repo.git("config", "core.hooksPath", place)
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    make(at)
    assert repo.read(".git/ran") == "ran\n"
    script = f"{place.removesuffix('/_')}/pre-commit"
    agent_writes(at, script, "#!/bin/sh\ntouch .git/owned\n")
    text = refusal(at)
    assert script in text
    assert not (repo.root / ".git/owned").exists()


def test_a_script_behind_a_linked_hook_is_not_run_once_changed(repo: Repo) -> None:
    repo.hook("check.sh", "exit 0", folder="scripts")
    repo.commit_all()
    (repo.root / ".git/hooks/pre-commit").symlink_to("../../scripts/check.sh")
    at = repo.workspace()
    agent_writes(at, "scripts/check.sh", "#!/bin/sh\ntouch .git/owned\n")
    assert "scripts/check.sh" in refusal(at)
    assert not (repo.root / ".git/owned").exists()


def test_the_configuration_of_a_hook_manager_counts_as_a_hook(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, ".pre-commit-config.yaml", "repos: []\n")
    repo.hook("pre-commit", "exit 0")
    assert ".pre-commit-config.yaml" in refusal(at)
    (repo.root / ".git/hooks/pre-commit").unlink()
    make(at)
    assert repo.committed() == [".pre-commit-config.yaml"]


def test_the_notice_of_untrusted_hooks_names_none_of_git_s_samples(repo: Repo) -> None:
    (repo.root / ".git/hooks/pre-push.sample").write_text("#!/bin/sh\n")
    (repo.root / ".git/hooks/helper.sh").write_text("true\n")
    repo.hook("pre-commit", "exit 0")
    broker = Broker(repo.root)
    names = [each.name for each in list_definitions(broker, read_settings(broker))]
    assert names == ["pre-commit", ".git/hooks/helper.sh"]


def test_an_interrupted_hook_is_stopped_and_nothing_is_lost(repo: Repo) -> None:
    repo.hook("pre-commit", "trap '' TERM; echo $$ > .git/pid; while :; do sleep 0.1; done")
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    head, index = repo.head(), repo.index()

    async def interrupted() -> None:
        task = asyncio.create_task(commit_session(at, "Never made"))
        deadline = time.monotonic() + 20
        while not (repo.root / ".git/pid").exists() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    assert (repo.head(), repo.index(), list(at.changes.originals)) == (head, index, ["a.py"])
    shown = ("ps", "-o", "stat=", "-p", repo.read(".git/pid").strip())
    assert subprocess.run(shown, capture_output=True, check=False).stdout.strip()[:1] in (b"", b"Z")
    assert not (repo.root / ".git/index.lock").exists()


def test_a_process_that_a_hook_leaves_behind_does_not_hold_the_commit_up(repo: Repo) -> None:
    repo.hook("post-commit", "sleep 50 & echo $! > .git/pid")
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    os.kill(int(repo.read(".git/pid")), signal.SIGKILL)  # which fails if it had been waited for
    assert made.sha == repo.head()
