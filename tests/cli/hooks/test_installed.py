"""The hooks in real repositories, called by git itself."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.backends.selection import choose_sandbox
from tests.support.cli import environment, run
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
"""Seconds, for many processes one after the other on a machine that may be busy."""

KEY = "AKIA" + "QYLPMN5HHHFPZAM2"
BROKEN = "def f(:\n"
MERGED = "<<<<<<< ours\na = 1\n=======\na = 2\n>>>>>>> theirs\n"


def git(repo: Repo, *arguments: str, stdin: str = "", env: Mapping[str, str] = {}) -> tuple[int, str]:
    """Exit code and all that was said."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=repo.root,
        env=environment({"GIT_EDITOR": "true", **env}),
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "a shop")
    repo.write("cart.py", "def total(items):\n    return sum(items)\n")
    repo.commit_all("Begin")
    return repo


def install(repo: Repo, *names: str) -> str:
    done = run("hook", "install", *names, cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def test_what_is_staged_is_checked_and_not_what_lies_in_the_work_tree(repo: Repo) -> None:
    install(repo, "pre-commit")
    repo.write("new.py", BROKEN)
    repo.git("add", "new.py")
    repo.write("new.py", "x = 1\n")
    code, said = git(repo, "commit", "-m", "Add new")
    assert (code, "new.py:1: syntax:" in said) == (1, True), said
    repo.git("add", "new.py")
    repo.write("new.py", BROKEN)
    code, said = git(repo, "commit", "-m", "Add new")
    assert (code, repo.committed()) == (0, ["new.py"]), said
    assert repo.show("new.py") == "x = 1\n"
    assert repo.read("new.py") == BROKEN


def test_the_compiler_of_the_project_decides_what_is_a_syntax_error(repo: Repo, tmp_path: Path) -> None:
    install(repo, "pre-commit")
    if choose_sandbox(repo.root, cache=tmp_path / "cache").name == "unconfined":
        pytest.skip("commands cannot be confined here")
    repo.write("run.sh", "if true; echo a; fi\n")
    repo.git("add", "run.sh")
    for said in (git(repo, "commit", "-m", "Add run")[1], run("review", "--staged", cwd=repo.root).out):
        assert "run.sh:1:" in said
        assert "syntax: syntax error near unexpected token `fi'" in said
    assert repo.git("log", "--format=%s").strip() == "Begin"
    repo.write("run.sh", "cat <<A <<B\n(\nA\n$(\nB\n")
    repo.write("cart.toml", "a = {\n  b = 1,\n}\n")
    repo.git("add", "-A")
    done = run("review", "--staged", cwd=repo.root)
    assert (done.code, "checks: nothing found" in done.out) == (0, True), done.out
    assert git(repo, "commit", "-m", "Add run")[0] == 0


def test_a_hostile_linter_of_the_project_runs_confined(repo: Repo, tmp_path: Path) -> None:
    install(repo, "pre-commit")
    if choose_sandbox(repo.root, cache=tmp_path / "cache").name == "unconfined":
        pytest.skip("commands cannot be confined here")
    places = [
        repo.root / "evil",
        repo.root / ".git/hooks/post-commit",
        repo.root / ".git/evil",
        tmp_path / "evil",
    ]
    repo.write("ruff.toml", "")
    ruff = repo.write(
        ".venv/bin/ruff",
        f'#!/bin/sh\nfor place in {shlex.join(map(str, places))}; do echo evil >"$place"; done 2>/dev/null\n'
        f"rm -f {shlex.quote(str(repo.root / 'cart.py'))} 2>/dev/null\n"
        "echo 'new.py:1:1: E1 it ran'\n",
    )
    ruff.chmod(0o755)
    repo.write("new.py", "x = 1\n")
    repo.git("add", "new.py", "ruff.toml")
    code, said = git(repo, "commit", "-m", "Add new")
    assert (code, "new.py:1: linters: ruff: E1 it ran" in said) == (1, True), said
    assert [each for each in places if each.exists()] == []
    assert repo.read("cart.py")
    subprocess.run([ruff], check=True)
    assert [each for each in places if not each.exists()] == [], (
        "the script does harm where nothing confines it"
    )


def test_it_holds_under_commit_a_and_p_and_amend_and_leaves_the_index_as_git_does(repo: Repo) -> None:
    install(repo, "pre-commit")
    repo.write("cart.py", MERGED)
    code, said = git(repo, "commit", "-am", "Change")
    assert (code, said.count("conflict marker")) == (1, 2), said
    assert git(repo, "diff", "--cached", "--name-only") == (0, "")
    code, said = git(repo, "commit", "--amend", "-a", "--no-edit")
    assert code == 1, said
    repo.write(
        "cart.py", "def total(items):\n    return sum(items)\n\n\ndef count(items):\n    return len(items)\n"
    )
    repo.write("other.py", BROKEN)
    code, said = git(repo, "commit", "-p", "-m", "Add count", stdin="y\n")
    assert (code, repo.committed()) == (0, ["cart.py"]), said
    code, said = git(repo, "commit", "--amend", "-m", "Add a count")
    assert (code, repo.git("status", "--porcelain")) == (0, "?? other.py\n"), said
    code, said = git(repo, "commit", "--no-verify", "--allow-empty", "-qm", "Nothing")
    assert code == 0, said


def test_it_holds_in_merges_rebases_cherry_picks_and_worktrees(repo: Repo, tmp_path: Path) -> None:
    install(repo)
    repo.git("switch", "-qc", "side")
    repo.write("side.py", "SIDE = 1\n")
    repo.write("cart.py", "# side\n")
    assert git(repo, "add", "-A")[0] == git(repo, "commit", "-qm", "Side")[0] == 0
    repo.git("switch", "-q", "main")
    repo.write("cart.py", "# main\n")
    assert git(repo, "commit", "-qam", "Main")[0] == 0
    assert git(repo, "merge", "side")[0] == 1
    code, said = git(repo, "commit", "-qam", "Merge, badly")
    assert (code, "conflict marker" in said) == (1, True), said
    repo.write("cart.py", "# both\n")
    code, said = git(repo, "commit", "-qam", "Merge")
    assert code == 0, said
    repo.git("switch", "-qc", "third", "main~1")
    repo.write("third.py", "THIRD = 1\n")
    repo.git("add", "-A")
    assert git(repo, "commit", "-qm", "Third")[0] == 0
    assert git(repo, "rebase", "-q", "main")[0] == 0
    repo.git("switch", "-q", "main")
    assert git(repo, "cherry-pick", "third")[0] == 0
    assert repo.read("third.py") == "THIRD = 1\n"
    repo.git("worktree", "add", "-q", str(tmp_path / "beside"))
    beside = Repo(tmp_path / "beside", init=False)
    beside.write("bad.py", BROKEN)
    beside.git("add", "bad.py")
    code, said = git(beside, "commit", "-m", "Bad")
    assert (code, "bad.py:1: syntax" in said) == (1, True), said


def test_after_a_merge_and_a_pull_it_is_told_what_has_to_be_installed(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", init=False)
    install(clone, "post-merge")
    install(repo, "post-merge")
    repo.git("switch", "-qc", "side")
    repo.write("package-lock.json", "{}\n")
    repo.write("shop/migrations/0002_add.py", "x = 1\n")
    repo.commit_all("Side")
    repo.git("switch", "-q", "main")
    code, said = git(repo, "merge", "-q", "side")
    assert (code, "npm dependencies: package-lock.json" in said) == (0, True), said
    assert "database migrations: shop/migrations/0002_add.py" in said
    code, said = git(clone, "pull", "-q", "--ff-only")
    assert (code, "npm dependencies: package-lock.json" in said) == (0, True), said
    repo.write("cart.py", "TOTAL = 1\n")
    repo.commit_all("Nothing to install")
    code, said = git(clone, "pull", "-q", "--ff-only")
    assert (code, said) == (0, ""), said


def test_a_message_is_prepared_and_one_that_was_given_is_never_overwritten(repo: Repo) -> None:
    install(repo, "prepare-commit-msg")
    repo.write(
        "cart.py", "def total(items):\n    return sum(items)\n\n\ndef count(items):\n    return len(items)\n"
    )
    assert git(repo, "commit", "-qa")[0] == 0
    assert repo.git("log", "-1", "--format=%B") == "Add count\n\n"
    repo.write("cart.py", "")
    assert git(repo, "commit", "-qam", "My own words")[0] == 0
    assert repo.git("log", "-1", "--format=%B") == "My own words\n\n"
    repo.write("template", "Template\n\n# comment\n")
    repo.write("cart.py", "x = 1\n")
    git(
        repo,
        "-c",
        "commit.template=template",
        "commit",
        "-qa",
        env={"GIT_EDITOR": "sh -c 'cp \"$1\" seen' -"},
    )
    assert repo.read("seen").startswith("Template\n")
    assert git(repo, "commit", "--amend", "-q", "--verbose")[0] == 0
    assert repo.git("log", "-1", "--format=%B").startswith("My own words")


def test_the_message_keeps_the_style_of_the_log(repo: Repo) -> None:
    repo.git("commit", "-q", "--amend", "-m", "feat(cart): begin")
    for number in range(12):
        repo.git("commit", "-q", "--allow-empty", "-m", f"fix(cart): mend {number}")
    install(repo, "commit-msg", "prepare-commit-msg")
    code, said = git(repo, "commit", "--allow-empty", "-m", "Whatever comes")
    assert (code, "commits here begin with a type, such as fix" in said) == (1, True), said
    assert git(repo, "commit", "--allow-empty", "-qm", "fix(cart): say so")[0] == 0
    repo.write(
        "cart.py", "def total(items):\n    return sum(items)\n\n\ndef count(items):\n    return len(items)\n"
    )
    assert git(repo, "commit", "-qa")[0] == 0
    assert repo.git("log", "-1", "--format=%s") == "feat(cart): add count\n"
    code, said = git(repo, "commit", "--allow-empty", "-m", f"fix(cart): {KEY}")
    assert (code, "looks like a secret" in said, KEY in said) == (1, True, False), said


def test_a_hook_that_was_there_runs_first_and_comes_back_exactly(repo: Repo) -> None:
    before = repo.hook("pre-commit", "echo theirs ran >> ran; test ! -e refuse")
    before.chmod(0o750)
    content, mode = before.read_bytes(), before.stat().st_mode
    assert "runs after pre-commit.before-patchwright" in install(repo, "pre-commit", "commit-msg")
    install(repo, "pre-commit")
    assert run("hook", "status", cwd=repo.root).out.splitlines()[0] == (
        "pre-commit          installed, after the one that was there"
    )
    repo.write("bad.py", BROKEN)
    repo.write("refuse", "")
    repo.git("add", "bad.py")
    code, said = git(repo, "commit", "-m", "Bad")
    assert (code, "syntax" in said) == (1, False), "theirs had refused it already"
    (repo.root / "refuse").unlink()
    code, said = git(repo, "commit", "-m", "Bad")
    assert (code, "syntax" in said) == (1, True), said
    assert repo.read("ran") == "theirs ran\n" * 2
    assert run("hook", "uninstall", cwd=repo.root).code == 0
    assert (before.read_bytes(), before.stat().st_mode) == (content, mode)
    left = [path.name for path in (repo.root / ".git/hooks").iterdir() if not path.name.endswith(".sample")]
    assert left == ["pre-commit"]


def test_the_folder_of_hooks_that_git_is_told_of_is_respected(repo: Repo, isolated: Path) -> None:
    repo.git("config", "core.hooksPath", ".git/my hooks")
    install(repo, "pre-commit")
    assert (repo.root / ".git/my hooks/pre-commit").is_file()
    repo.git("config", "--unset", "core.hooksPath")
    with (isolated / "gitconfig").open("a") as file:
        file.write(f"[core]\n\thooksPath = {isolated}/hooks\n")
    refused = run("hook", "install", cwd=repo.root)
    assert (refused.code, "hooks of all your repositories" in refused.err) == (6, True), refused.err
    assert not (isolated / "hooks").exists()


def test_mistakes_are_told_in_a_line(repo: Repo, tmp_path: Path) -> None:
    wrong = run("hook", "install", "pre-comit", cwd=repo.root)
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, "patchwright: no hook 'pre-comit'")
    assert run("hook", "run", "nonsense", cwd=repo.root).code == 2
    outside = run("hook", "install", cwd=tmp_path)
    assert (outside.code, "not in a git repository" in outside.err) == (9, True), outside.err
    assert "Traceback" not in run("hook", "run", "pre-commit", cwd=tmp_path).err


def test_hooks_that_cannot_be_put_are_told_and_leave_all_as_it_was(repo: Repo, tmp_path: Path) -> None:
    hooks = repo.root / ".git/hooks"

    def refused(folder: Path = repo.root) -> tuple[int, str]:
        before = _hooks(hooks)
        done = run("hook", "install", "pre-commit", "commit-msg", cwd=folder)
        assert _hooks(hooks) == before
        assert len(done.err.splitlines()) == 2, done.err
        return done.code, done.err

    (hooks / "commit-msg").mkdir(parents=True)
    code, said = refused()
    assert (code, "is a folder, and git runs files" in said) == (6, True), said
    (hooks / "commit-msg").rmdir()
    hooks.rename(tmp_path / "aside")
    hooks.write_text("not a folder")
    code, said = refused()
    assert (code, "which is not a folder" in said) == (6, True), said
    hooks.unlink()
    (tmp_path / "aside").rename(hooks)
    hooks.rename(tmp_path / "aside")
    hooks.symlink_to("/sys/class")  # not even root may write there
    code, said = refused()
    assert (code, f"cannot change '{hooks}/pre-commit': " in said) == (12, True), said
    hooks.unlink()
    (tmp_path / "aside").rename(hooks)
    repo.git("init", "-q", "--bare", str(tmp_path / "bare"))
    for folder in (tmp_path / "bare", repo.root / ".git"):
        code, said = refused(folder)
        assert (code, "without files to work on" in said) == (9, True), said


def test_a_link_that_leads_nowhere_comes_back_as_it_was(repo: Repo) -> None:
    link = repo.root / ".git/hooks/pre-commit"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to("../gone")
    install(repo, "pre-commit")
    repo.write("cart.py", "x = 1\n")
    assert git(repo, "commit", "-qam", "Change")[0] == 0
    assert run("hook", "uninstall", cwd=repo.root).code == 0
    assert os.readlink(link) == "../gone"  # noqa: PTH115


def _hooks(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        return {}
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_hook_does_not_run_inside_itself_and_checks_can_be_left_out(repo: Repo) -> None:
    repo.write("bad.py", BROKEN)
    repo.git("add", "bad.py")
    assert run("hook", "run", "pre-commit", cwd=repo.root).code == 1
    assert run("hook", "run", "pre-commit", cwd=repo.root, env={"PATCHWRIGHT_SKIP": "syntax"}).code == 0
    assert (
        run("hook", "run", "pre-commit", cwd=repo.root, env={"PATCHWRIGHT_IN_HOOK": "pre-commit"}).code == 0
    )


def test_what_every_commit_waits_for_is_not_imported_without_need(repo: Repo) -> None:
    for number in range(10):
        repo.write(f"module{number}.py", f"def f{number}(x):\n    return x + {number}\n")
    repo.git("add", "-A")
    nothing = _imported(repo, "HEAD")
    some = _imported(repo)
    heavy = {
        "typer",
        "click",
        "pydantic",
        "git",
        "asyncio",
        "litellm",
        "httpx",
        "yaml",
        "tree_sitter",
        "rich",
    }
    assert some & heavy == set()
    assert nothing & (heavy | {"tools.code.syntax", "sandbox.secrets.redaction"}) == set()


def _imported(repo: Repo, reset: str = "") -> set[str]:
    if reset:
        repo.git("stash", "-q", "--include-untracked")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "patchwright", "hook", "run", "pre-commit"],
        cwd=repo.root,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if reset:
        repo.git("stash", "pop", "-q", "--index")
    assert done.returncode == 0, done.stderr[-2000:]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def test_a_models_opinion_is_printed_where_it_was_asked_for_and_decides_nothing(repo: Repo) -> None:
    assert run("hook", "install", "pre-commit", "--review", "openai/test", cwd=repo.root).code == 0
    repo.write("new.py", "x = 1\n")
    repo.git("add", "new.py")
    with Loopback([{"text": "new.py:1: wrong"}]) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}
        code, said = git(repo, "commit", "-qm", "Add new", env=env)
        assert (code, "openai/test says:\nnew.py:1: wrong" in said) == (0, True), said
        assert "new.py" in server.requests[0].raw.decode()


def test_a_hook_ends_in_time_with_all_that_it_started(repo: Repo) -> None:
    repo.write("ruff.toml", "")
    repo.write(
        ".venv/bin/ruff", f"#!/bin/sh\necho $$ > {shlex.quote(str(repo.root))}/started\nexec sleep 600\n"
    )
    (repo.root / ".venv/bin/ruff").chmod(0o755)
    repo.write("new.py", "x = 1\n")
    repo.git("add", "new.py")
    late = run("hook", "run", "pre-commit", cwd=repo.root, env={"PATCHWRIGHT_HOOK_TIMEOUT": "3"})
    assert (late.code, "took more than 3 seconds" in late.err) == (4, True), late.err
    started = repo.root / "started"
    number = started.read_text().strip() if started.is_file() else ""
    if number:  # else its time was over before it came to that
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)
