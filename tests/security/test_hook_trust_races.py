"""Hooks that were trusted, and are others by the time at which git would run them: none of the others runs.

Real commits of a session; what changes the hooks is another process, or an earlier hook of the same commit.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.policy.trust import TrustStore
from tests.security.test_git import defined, make, strange
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits.create_commit import create_commit

pytestmark = pytest.mark.slow

EVIL = "#!/bin/sh\necho evil >> .git/ran\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.commit_all("first")
    return made


def ran(repo: Repo) -> list[str]:
    path = repo.root / ".git/ran"
    return path.read_text().split() if path.exists() else []


def write_evil(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EVIL)
    path.chmod(0o755)


def swap_folder(repo: Repo) -> None:
    """The folder of hooks becomes a link to another."""
    folder = repo.root / ".git/hooks"
    folder.rename(repo.root / ".git/hooks.old")
    write_evil(repo.root.parent / "evil/pre-commit")
    folder.symlink_to(repo.root.parent / "evil")


def swap_hook(repo: Repo) -> None:
    path = repo.root / ".git/hooks/pre-commit"
    path.unlink()
    write_evil(repo.root.parent / "evil-hook")
    path.symlink_to(repo.root.parent / "evil-hook")


def name_folder(repo: Repo) -> None:
    write_evil(repo.root.parent / "evil/pre-commit")
    repo.git("config", "core.hooksPath", str(repo.root.parent / "evil"))


def include_settings(repo: Repo) -> None:
    write_evil(repo.root.parent / "evil/pre-commit")
    (repo.root / ".git/more").write_text(f"[core]\n\thooksPath = {repo.root.parent}/evil\n")
    repo.git("config", "include.path", "more")


def add_filter(repo: Repo) -> None:
    repo.write(".gitattributes", "* filter=x\n")
    repo.git("config", "filter.x.clean", "echo evil >> .git/ran; cat")


CHANGES: dict[str, Callable[[Repo], object]] = {
    "written over": lambda repo: write_evil(repo.root / ".git/hooks/pre-commit"),
    "one more line": lambda repo: repo.hook("pre-commit", "echo hook >> .git/ran\necho evil >> .git/ran"),
    "another hook": lambda repo: write_evil(repo.root / ".git/hooks/commit-msg"),
    "a hook that is seldom run": lambda repo: write_evil(repo.root / ".git/hooks/reference-transaction"),
    "the folder becomes a link": swap_folder,
    "the hook becomes a link": swap_hook,
    "another folder is named": name_folder,
    "another folder is named in an included file": include_settings,
    "a filter is added": add_filter,
    "hard link to another": lambda repo: (
        write_evil(repo.root.parent / "e"),
        (repo.root / ".git/hooks/pre-commit").unlink(),
        os.link(repo.root.parent / "e", repo.root / ".git/hooks/pre-commit"),
    ),
    "a manager's settings": lambda repo: repo.write(
        "lefthook.yml", "pre-commit:\n commands:\n  x:\n   run: echo\n"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_between_two_commits_does_not_run(change: str, repo: Repo, tmp_path: Path) -> None:
    at = trusted(repo, tmp_path)
    CHANGES[change](repo)
    agent_writes(at, "a.py", "two\n")
    with pytest.raises(ToolFailure, match="changed after the user trusted it"):
        make(at)
    assert ran(repo) == ["hook"]  # that of the first commit


def trusted(repo: Repo, tmp_path: Path) -> Workspace:
    """A workspace with a trusted hook, which ran in a first commit."""
    repo.hook("pre-commit", "echo hook >> .git/ran")
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    assert make(at).untrusted == ""
    assert ran(repo) == ["hook"]
    return at


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_while_a_commit_is_prepared_does_not_run(
    change: str, repo: Repo, tmp_path: Path
) -> None:
    """The trust was compared; then another thread changes the hooks, before git starts."""
    at = trusted(repo, tmp_path)
    broker = Broker(repo.root, at.trusts)
    assert broker.untrusted_definitions == ()  # compared, and remembered
    CHANGES[change](repo)
    index = tmp_path / "index"
    shutil.copy(repo.root / ".git/index", index)
    with pytest.raises(ToolFailure, match="changed while the commit was prepared"):
        create_commit(broker, broker, repo.head(), "x", index, "A <a@example.org> 0 +0000")
    assert ran(repo) == ["hook"]


WAIT = 'touch "$0.started"; while [ ! -e "$0.go" ]; do sleep 0.05; done'
"""A hook that runs until it is let go on."""


@pytest.mark.parametrize("name", ["commit-msg", "post-commit", "prepare-commit-msg"])
@pytest.mark.parametrize("how", ["written", "renamed", "linked"])
def test_a_hook_that_is_rewritten_while_another_one_runs_does_not_run(
    name: str, how: str, repo: Repo, tmp_path: Path
) -> None:
    hook = repo.root / ".git/hooks/pre-commit"
    repo.hook("pre-commit", WAIT)
    repo.hook(name, "echo hook >> .git/ran")
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")

    def rewrite() -> None:
        deadline = time.monotonic() + 60
        while not Path(f"{hook}.started").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        write_evil(tmp_path / "evil")
        target = repo.root / ".git/hooks" / name
        if how == "written":
            write_evil(target)
        elif how == "renamed":
            (tmp_path / "evil").rename(target)
        else:
            target.unlink()
            target.symlink_to(tmp_path / "evil")
        Path(f"{hook}.go").touch()

    thread = threading.Thread(target=rewrite)
    thread.start()
    before = repo.head()
    try:
        if name == "post-commit":  # nothing can refuse the commit any more
            assert "changed after it was trusted" in make(at).output
        else:
            with pytest.raises(ToolFailure, match="changed after it was trusted"):
                make(at)
            assert repo.head() == before
    finally:
        thread.join()
    assert ran(repo) == []


def test_a_hook_is_not_rewritten_by_the_one_before_it(repo: Repo, tmp_path: Path) -> None:
    repo.hook("pre-commit", "printf '#!/bin/sh\\necho evil >> .git/ran\\n' > .git/hooks/commit-msg")
    repo.hook("commit-msg", "echo hook >> .git/ran")
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    with pytest.raises(ToolFailure, match="changed after it was trusted"):
        make(at)
    assert ran(repo) == []


def test_a_hook_that_was_missing_is_not_run_when_it_appears_amid_the_commit(
    repo: Repo, tmp_path: Path
) -> None:
    repo.hook("pre-commit", "printf '#!/bin/sh\\necho evil >> .git/ran\\n' > .git/hooks/post-commit\n"
              "chmod +x .git/hooks/post-commit")  # fmt: skip
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    make(at)
    assert (repo.root / ".git/hooks/post-commit").exists()
    assert ran(repo) == []


def test_a_copy_of_the_repository_is_not_trusted(repo: Repo, tmp_path: Path) -> None:
    """Another clone, a moved repository and a folder in its place have the same hooks, and not the user's word."""
    repo.hook("pre-commit", "echo hook >> .git/ran")
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    copy = Repo(tmp_path / "copy", init=False)
    shutil.copytree(repo.root, copy.root, dirs_exist_ok=True, symlinks=True)
    link = tmp_path / "link"
    link.symlink_to(copy.root)
    for root in (copy.root, link):
        there = Repo(root, init=False)
        at = there.workspace()
        at.trusts = store.create_check(root)
        agent_writes(at, "a.py", f"{root.name}\n")
        assert make(at).untrusted
        assert ran(there) == []
    repo.root.rename(tmp_path / "moved")
    copy.root.rename(
        repo.root
    )  # another repository where the trusted one was: with its hooks, it is trusted …
    (repo.root / ".git/hooks/pre-commit").write_text(EVIL)  # … and with others it is not
    at = repo.workspace()
    at.trusts = store.create_check(repo.root)
    agent_writes(at, "a.py", "moved\n")
    with pytest.raises(ToolFailure, match="changed after the user trusted it"):
        make(at)
    assert ran(repo) == []


def test_a_linked_work_tree_of_a_trusted_repository_runs_no_changed_hook(repo: Repo, tmp_path: Path) -> None:
    repo.hook("pre-commit", 'echo hook >> "$(git rev-parse --git-common-dir)/ran"')
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked", init=False)
    write_evil(repo.root / ".git/hooks/commit-msg")
    at = linked.workspace()
    at.trusts = store.create_check(linked.root)
    agent_writes(at, "a.py", "linked\n")
    assert make(at).untrusted
    assert ran(repo) == []


@pytest.mark.parametrize(
    "shape", ["husky", "githooks", "no interpreter", "relative siblings", "a launcher's setting"]
)
def test_honest_hooks_of_every_shape_run_through_the_check(shape: str, repo: Repo, tmp_path: Path) -> None:
    """The twin: what the check starts sees its own name, its folder, its arguments and git's settings as ever."""
    hooks = repo.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    hook = hooks / "commit-msg"
    if shape == "husky":
        repo.git("config", "core.hooksPath", ".husky/_")
        repo.write(".husky/commit-msg", "echo ran > .git/ran\n")
        hook = repo.write(
            ".husky/_/commit-msg", '#!/bin/sh\nsh "$(dirname "$(dirname "$0")")/$(basename "$0")"\n'
        )
    elif shape == "githooks":
        repo.git("config", "core.hooksPath", ".githooks")
        hook = repo.write(
            ".githooks/commit-msg",
            '#!/bin/sh\n[ -s "$1" ] && cd "$(dirname "$0")/.." && echo ran > .git/ran\n',
        )
    elif shape == "no interpreter":
        hook.write_text('[ -s "$1" ] && echo ran > .git/ran\n')
    elif shape == "relative siblings":
        hook.write_text('#!/bin/sh\n. "$(dirname "$0")/common"\n')
        (hooks / "common").write_text("echo ran > .git/ran\n")
    else:
        hook.write_text(
            '#!/bin/sh\n[ -z "$(git config core.hooksPath)$GIT_CONFIG_COUNT" ] && echo ran > .git/ran\n'
        )
    hook.chmod(0o755)
    at, store = strange(repo, tmp_path)
    store.grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    assert make(at).untrusted == ""
    assert ran(repo) == ["ran"]


def test_the_store_of_trust_itself_is_not_read_through_what_a_repository_names(
    repo: Repo, tmp_path: Path
) -> None:
    """A store within the repository, and a link in place of the user's one that is then replaced by a grant."""
    at, _ = strange(repo, tmp_path)
    repo.hook("pre-commit", "echo hook >> .git/ran")
    TrustStore(repo.root / ".patchwright").grant(repo.root, defined(at))
    agent_writes(at, "a.py", "one\n")
    assert make(at).untrusted
    config = tmp_path / "config"
    config.mkdir(exist_ok=True)
    victim = tmp_path / "victim"
    victim.write_text("{}")
    (config / "trust.json").symlink_to(victim)
    TrustStore(config).grant(repo.root, defined(at))
    assert victim.read_text() == "{}"
    assert not (config / "trust.json").is_symlink()
