"""Git commands of the model outside the sandbox: nothing runs for which neither the user nor trust speaks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

LOCAL = ("-c", "protocol.file.allow=always", "-c", "core.hooksPath=/dev/null")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.txt", "one\n")
    made.commit_all("start")
    made.git("branch", "side")
    needs_confinement(made.root)
    return made


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark beside itself."""
    file = tmp_path / "trap.sh"
    file.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    file.chmod(0o755)
    return file


def run_lines(repo: Repo, *lines: str) -> list[str]:
    turns = [{"calls": [call("shell", command=line)]} for line in lines]
    model = script(repo.root.parent, [*turns, {"text": "There you are."}])
    options = ("--model", model, "--mode", "full", "--output", "stream-json", "--no-commit")
    result = run("run", "show me", *options, cwd=repo.root)
    return [each["text"] for each in result.events if each["kind"] == "observation"]


def commit_on_side(repo: Repo, path: str, content: str) -> None:
    repo.git(*LOCAL, "switch", "-q", "side")
    repo.write(path, content).chmod(0o755)
    repo.git("add", "-A")
    repo.git(*LOCAL, "commit", "-q", "-m", "side")
    repo.git(*LOCAL, "switch", "-q", "main")


def bring_hooks_by_a_pull(repo: Repo, trap: Path) -> None:
    repo.git("config", "core.hooksPath", ".hooks")
    repo.git("config", "pull.rebase", "false")
    for name in ("post-merge", "commit-msg", "post-checkout"):
        commit_on_side(repo, f".hooks/{name}", trap.read_text())
    repo.git("clone", "-q", "--bare", ".", str(repo.root.parent / "there"))
    repo.git("remote", "add", "origin", str(repo.root.parent / "there"))
    repo.write("b.txt", "b\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "more")


def include_a_file_of_a_branch(repo: Repo, trap: Path) -> None:
    repo.git("config", "include.path", "../more.inc")
    commit_on_side(repo, "more.inc", f'[core]\nsshCommand={trap}\n[remote "x"]\nurl=ssh://nowhere/x\n')


def include_for_a_branch(repo: Repo, trap: Path) -> None:
    (repo.root / ".git/more.inc").write_text(
        f'[core]\nsshCommand={trap}\n[remote "x"]\nurl=ssh://nowhere/x\n'
    )
    repo.git("config", "includeIf.onbranch:side.path", "more.inc")


def set_a_program_in_a_submodule(repo: Repo, trap: Path) -> None:
    base = repo.root.parent
    inner = Repo(base / "inner")
    inner.commit_all()
    upper = Repo(base / "upper")
    upper.git(*LOCAL, "submodule", "add", "-q", str(inner.root), "sub")
    upper.commit_all()
    repo.git("remote", "add", "origin", str(upper.root))
    repo.git("fetch", "-q", "origin")
    repo.git("reset", "-q", "--hard", "origin/main")
    repo.git(*LOCAL, "submodule", "update", "-q", "--init")
    inner.commit_all("second")
    upper.git(*LOCAL, "submodule", "update", "-q", "--remote")
    upper.commit_all("bump")
    repo.git("-C", "sub", "config", "remote.origin.uploadpack", str(trap))
    repo.git("-C", "sub", "config", "protocol.file.allow", "always")


def plan_a_line(repo: Repo, trap: Path) -> None:
    repo.hook("commit-msg", "true")
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    commit_on_side(repo, "a.txt", "side\n")
    repo.write("a.txt", "two\n")
    repo.git(*LOCAL, "commit", "-q", "-a", "-m", "two")
    repo.git("rebase", "-x", str(trap), "side", check=False)
    repo.write("a.txt", "both\n")


def push_to_hooks(repo: Repo, trap: Path) -> None:
    repo.git("init", "-q", "--bare", "mirror")
    repo.write("mirror/hooks/post-receive", trap.read_text()).chmod(0o755)
    repo.git("remote", "add", "origin", "./mirror")


def borrow_with_a_program(repo: Repo, trap: Path) -> None:
    there = Repo(repo.root.parent / "there")
    there.commit_all()
    other = repo.root / ".git/alt"
    for name in ("objects", "refs"):
        (other / name).mkdir(parents=True)
    (other / "HEAD").write_text("ref: refs/heads/main\n")
    (repo.root / ".git/objects/info").mkdir(exist_ok=True)
    (repo.root / ".git/objects/info/alternates").write_text("../alt/objects\n")
    repo.git("remote", "add", "origin", str(there.root))
    repo.git("config", "core.alternateRefsCommand", str(trap))


ATTACKS: dict[str, tuple[Callable[[Repo, Path], None], str]] = {
    "hooks that a pull brings": (bring_hooks_by_a_pull, "git pull --no-edit origin side"),
    "a file of a branch that is included": (include_a_file_of_a_branch, "git switch side && git fetch x"),
    "settings for a branch": (include_for_a_branch, "git switch side && git fetch x"),
    "a submodule's program": (set_a_program_in_a_submodule, "git fetch origin"),
    "a submodule's program, by option": (set_a_program_in_a_submodule, "git fetch --recurse origin"),
    "a line that a rebase planned": (plan_a_line, "git add a.txt && git rebase --continue"),
    "hooks of a repository that is pushed to": (push_to_hooks, "git push origin main"),
    "the same by its path": (push_to_hooks, "git push ./mirror main"),
    "the same by its address": (push_to_hooks, "git push --repo=mirror"),
    "a program for borrowed objects": (borrow_with_a_program, "git fetch origin"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_runs_that_nobody_spoke_for(repo: Repo, trap: Path, name: str) -> None:
    prepare, line = ATTACKS[name]
    prepare(repo, trap)
    mark = trap.with_name("ran")
    mark.unlink(missing_ok=True)
    [text] = run_lines(repo, line)
    assert not mark.exists(), text


def test_git_finds_no_program_where_commands_can_write(
    repo: Repo, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repo.root / ".venv/bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    (repo.root / ".git/info/exclude").write_text(".venv\n")
    (folder / "ssh").write_text(trap.read_text())
    (folder / "ssh").chmod(0o755)
    (folder / "checker").write_text(f"#!/bin/sh\ntouch {trap.with_name('checked')}\n")
    (folder / "checker").chmod(0o755)
    commit_on_side(repo, "b.txt", "b\n")
    repo.hook("commit-msg", "checker")
    repo.git("remote", "add", "origin", "ssh://nowhere.invalid/x")
    assert run("trust", cwd=repo.root, stdin="y\n").code == 0
    texts = run_lines(repo, "git merge --no-ff --no-edit side", "git fetch origin")
    assert trap.with_name("checked").exists(), texts
    assert not trap.with_name("ran").exists(), texts


@pytest.mark.parametrize(
    "line",
    [
        "git mv a.txt .git/hooks/pre-commit",
        "git mv -f a.txt sub/../.GIT/config",
        "git mv a.txt .envrc",
        "git mv kept/tasks.json .vscode/",
        "git mv a.txt link/pre-commit",
        "git mv named/.envrc sub",
    ],
)
def test_no_file_is_moved_to_where_programs_obey_it(repo: Repo, line: str) -> None:
    for path in ("kept/tasks.json", ".vscode/settings.json", "sub/x", "named/.envrc"):
        repo.write(path, "{}\n")
    (repo.root / "link").symlink_to(".git/hooks")
    repo.commit_all()
    before = {str(path) for path in repo.root.rglob("*")}
    [text] = run_lines(repo, line)
    assert "which git, editors, shells, hooks or services act on" in text
    assert {str(path) for path in repo.root.rglob("*") if "objects" not in str(path)} <= before


def test_a_file_elsewhere_is_not_written_by_the_network(repo: Repo) -> None:
    repo.git("config", "http.cookieFile", str(repo.root.parent / "profile"))
    repo.git("remote", "add", "origin", "http://127.0.0.1:1/x")
    [text] = run_lines(repo, "git fetch origin")
    assert "name programs or servers (http.cookiefile)" in text
