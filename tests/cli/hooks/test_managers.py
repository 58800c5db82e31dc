"""Repositories whose hooks another manager looks after: ours are called too, in any order, on any machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.cli import CHECKOUT, environment, run
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


HUSKY = """\
#!/usr/bin/env sh
[ "$HUSKY" = "2" ] && set -x
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n

[ ! -f "$s" ] && exit 0

sh -e "$s" "$@"
c=$?

[ $c != 0 ] && echo "husky - $n script failed (code $c)"
exit $c
"""
"""`.husky/_/h` of husky 9, which every launcher beside it reads: it goes by the launcher's own name."""

LEFTHOOK = '#!/bin/sh\n\ncall_lefthook()\n{\n  lefthook "$@"\n}\n\ncall_lefthook run "pre-commit" "$@"\n'
OVERCOMMIT = "#!/usr/bin/env ruby\n\n# Entrypoint for Overcommit hook integration. Installing Overcommit …\n"
SIMPLE = '#!/bin/sh\n\nif [ "$SKIP_SIMPLE_GIT_HOOKS" = "1" ]; then\n    exit 0\nfi\n'
BROKEN = "def f(:\n"
HOOKS_PAGE = CHECKOUT / "docs/hooks.md"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "TOTAL = 1\n")
    repo.commit_all("Begin")
    return repo


def use_husky(repo: Repo) -> None:
    """As `husky init` leaves a repository."""
    launchers = repo.root / ".husky" / "_"
    launchers.mkdir(parents=True)
    (launchers / ".gitignore").write_text("*")
    (launchers / "h").write_text(HUSKY)
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg"):
        (launchers / name).write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
        (launchers / name).chmod(0o755)
    repo.write(".husky/pre-commit", "echo husky ran >> ran\n")
    repo.git("config", "core.hooksPath", ".husky/_")


def state(repo: Repo) -> dict[str, bytes | str]:
    """Every file of the repository, git's own included, and every link."""
    paths = [path for path in repo.root.rglob("*") if path.is_file() or path.is_symlink()]
    return {
        str(path.relative_to(repo.root)): os.readlink(path) if path.is_symlink() else path.read_bytes()  # noqa: PTH115
        for path in paths
    }


def refusal(repo: Repo, *arguments: str) -> str:
    """What `hook install` says, which changes nothing."""
    before = state(repo)
    done = run("hook", "install", *arguments, cwd=repo.root)
    assert (done.code, done.out) == (6, ""), done.err
    assert len(done.err.splitlines()) == 2
    assert state(repo) == before
    return done.err


SYSTEM = os.pathsep.join(
    dict.fromkeys((str(Path(shutil.which("git") or "/usr/bin/git").parent), "/usr/bin", "/bin"))
)
"""PATH of a machine without Patchwright."""


def git(repo: Repo, *arguments: str, there: bool = True) -> tuple[int, str]:
    """Exit code and errors of git; there: whether PATH has Patchwright."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}" if there else SYSTEM
    done = subprocess.run(
        ["git", *arguments],
        cwd=repo.root,
        env=environment({"PATH": path}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def commit(repo: Repo, *, there: bool = True) -> tuple[int, str]:
    return git(repo, "commit", "-qm", "Change", there=there)


def stage_broken(repo: Repo) -> None:
    repo.write("bad.py", BROKEN)
    repo.git("add", "bad.py")


def install(repo: Repo, *arguments: str) -> str:
    done = run("hook", "install", *arguments, cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def uninstall(repo: Repo) -> str:
    done = run("hook", "uninstall", cwd=repo.root)
    assert done.code == 0, done.err
    return done.out


def status(repo: Repo, name: str = "pre-commit") -> str:
    lines = run("hook", "status", cwd=repo.root).out.splitlines()
    return next(line[20:] for line in lines if line.startswith(f"{name} "))


def pre_commit(repo: Repo, *arguments: str) -> None:
    """Run the framework itself."""
    command = [sys.executable, "-m", "pre_commit", *arguments]
    subprocess.run(command, cwd=repo.root, env=environment(), capture_output=True, check=True)


def own_hooks(repo: Repo) -> dict[str, str]:
    """The hooks in git's folder, by name; examples left out."""
    files = (repo.root / ".git/hooks").glob("*")
    return {path.name: path.read_text() for path in files if path.suffix != ".sample"}


def test_husky_calls_ours_on_every_machine_and_its_script_comes_back_exactly(
    repo: Repo, tmp_path: Path
) -> None:
    use_husky(repo)
    script, message = repo.root / ".husky/pre-commit", repo.root / ".husky/commit-msg"
    before = script.read_bytes()
    launchers = {path: path.read_bytes() for path in (repo.root / ".husky/_").iterdir()}
    assert "installed pre-commit in .husky/pre-commit\n" in install(repo)
    install(repo, "pre-commit")
    assert {path: path.read_bytes() for path in (repo.root / ".husky/_").iterdir()} == launchers
    written = script.read_text() + message.read_text()
    assert [word for word in (sys.prefix, str(repo.root), str(tmp_path)) if word in written] == []
    assert (status(repo), status(repo, "pre-push")) == ("installed in .husky/pre-commit", "-")
    stage_broken(repo)
    code, said = commit(repo)
    assert (code, "bad.py:1: syntax" in said, (repo.root / "ran").exists()) == (1, True, False), said
    assert "removed pre-commit from .husky/pre-commit\n" in uninstall(repo)
    assert (script.read_bytes(), message.exists()) == (before, False)
    code, said = commit(repo)
    assert (code, repo.read("ran")) == (0, "husky ran\n"), said


@pytest.mark.parametrize("linked", [False, True])
def test_a_colleague_without_the_program_is_told_and_refused_where_that_is_set(
    linked: bool, repo: Repo, tmp_path: Path
) -> None:
    script = repo.write(".githooks/pre-commit", "#!/usr/bin/env bash\n\necho theirs >> ran\nexit 0")
    script.chmod(0o755)
    before = script.read_bytes()
    if linked:
        hooks = repo.root / ".git/hooks"
        shutil.rmtree(hooks, ignore_errors=True)
        hooks.symlink_to("../.githooks")
    else:
        repo.git("config", "core.hooksPath", ".githooks")
    install(repo, "pre-commit")
    [documented] = re.findall(r"^```text\n(.*?)^```", HOOKS_PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert script.read_text().partition("\n")[2].startswith(documented)
    repo.git("add", ".githooks")
    assert commit(repo)[0] == 0
    assert (repo.read("ran"), script.stat().st_mode & 0o777) == ("theirs\n", 0o755)
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "colleague"))
    colleague = Repo(tmp_path / "colleague", init=False)
    colleague.git("config", "core.hooksPath", ".githooks")
    assert str(tmp_path) not in colleague.read(".githooks/pre-commit")
    stage_broken(colleague)
    code, said = commit(colleague)
    assert (code, "bad.py:1: syntax" in said) == (1, True), said
    colleague.git("config", "patchwright.missing", "fail")
    code, said = commit(colleague, there=False)
    assert (code, "patchwright: pre-commit: nothing was checked" in said) == (1, True), said
    colleague.git("config", "--unset", "patchwright.missing")
    code, said = commit(colleague, there=False)
    assert (code, "patchwright: pre-commit: nothing was checked" in said) == (0, True), said
    install(repo, "pre-commit", "commit-msg", "--missing", "fail")
    code, said = git(repo, "commit", "-q", "--allow-empty", "-m", "Empty", there=False)
    assert (code, "patchwright.missing" in said) == (1, True), said
    repo.git("config", "patchwright.missing", "pass")
    assert git(repo, "commit", "-q", "--allow-empty", "-m", "Empty", there=False)[0] == 0
    uninstall(repo)
    assert script.read_bytes() == before
    assert not (script.parent / "commit-msg").exists()


def test_the_hooks_of_one_machine_fall_back_to_path_and_then_to_the_setting(repo: Repo) -> None:
    install(repo, "pre-commit")
    path = repo.root / ".git/hooks/pre-commit"
    path.write_text(path.read_text().replace(f"{Path(sys.executable).parent}/", "/gone/"))
    stage_broken(repo)
    code, said = commit(repo)
    assert (code, "bad.py:1: syntax" in said) == (1, True), said
    repo.git("config", "patchwright.missing", "fail")
    code, said = commit(repo, there=False)
    assert (code, "nothing was checked" in said) == (1, True), said
    repo.git("config", "patchwright.missing", "pass")
    assert commit(repo, there=False)[0] == 0


def test_a_shared_hook_before_a_push_leaves_its_input_to_the_lines_that_follow(
    repo: Repo, tmp_path: Path
) -> None:
    script = repo.write(".githooks/pre-push", "#!/bin/sh\ncat > refs\n")
    script.chmod(0o755)
    repo.git("config", "core.hooksPath", ".githooks")
    repo.git("init", "-q", "--bare", str(tmp_path / "origin"))
    install(repo, "pre-push")
    for _ in range(2):
        code, said = git(repo, "push", "-q", str(tmp_path / "origin"), "HEAD:main")
        assert code == 0, said
        refs = repo.read("refs")
    assert refs == ""  # nothing was pushed the second time
    repo.git("commit", "-q", "--allow-empty", "-m", "Next")
    assert git(repo, "push", "-q", str(tmp_path / "origin"), "HEAD:main")[0] == 0
    assert repo.read("refs").split()[2:] == ["refs/heads/main", repo.git("rev-parse", "HEAD~1").strip()]


@pytest.mark.parametrize("first", ["ours", "pre-commit"])
def test_pre_commit_and_ours_call_each_other_in_any_order_and_leave_nothing(first: str, repo: Repo) -> None:
    repo.write(".pre-commit-config.yaml", "repos: []\n")
    repo.git("add", ".pre-commit-config.yaml")
    theirs = repo.hook("pre-commit", "echo theirs ran >> ran").read_text()
    if first == "ours":
        install(repo, "pre-commit")
        pre_commit(repo, "install")
    else:
        pre_commit(repo, "install")
        assert "runs after pre-commit.before-patchwright" in install(repo, "pre-commit")
        install(repo, "pre-commit")
    assert status(repo) == "installed, called by pre-commit"
    stage_broken(repo)
    code, said = commit(repo)
    assert (code, "bad.py:1: syntax" in said, repo.read("ran")) == (1, True, "theirs ran\n"), said
    if first == "ours":
        uninstall(repo)
        assert own_hooks(repo).keys() == {"pre-commit", "pre-commit.legacy"}
        assert own_hooks(repo)["pre-commit.legacy"] == theirs
        assert commit(repo)[0] == 0
        pre_commit(repo, "uninstall")
    else:
        pre_commit(repo, "uninstall")
        assert (status(repo), commit(repo)[0]) == ("installed, after the one that was there", 1)
        uninstall(repo)
    assert own_hooks(repo) == {"pre-commit": theirs}


def test_nothing_of_ours_stays_as_a_legacy_hook(repo: Repo) -> None:
    install(repo)
    pre_commit(repo, "install", "-t", "pre-commit", "-t", "commit-msg")
    uninstall(repo)
    assert own_hooks(repo).keys() == {"pre-commit", "commit-msg"}
    pre_commit(repo, "uninstall", "-t", "pre-commit", "-t", "commit-msg")
    assert own_hooks(repo) == {}


def test_lefthook_calls_ours_by_its_local_configuration(repo: Repo) -> None:
    install(repo, "pre-commit")
    hooks = repo.root / ".git/hooks"
    (hooks / "pre-commit").rename(hooks / "pre-commit.old")  # as `lefthook install` does
    hook(LEFTHOOK)(repo)
    (hooks / "commit-msg").rename(hooks / "pre-commit")
    repo.write("lefthook.yml", "pre-commit:\n  commands:\n    theirs: {run: echo theirs}\n")
    assert status(repo).startswith("set aside by another program, not run")
    assert "lefthook install" not in install(repo, "pre-commit")
    assert "commit-msg is called once `lefthook install` has" in install(repo, "commit-msg", "pre-commit")
    assert status(repo, "commit-msg").startswith("installed in lefthook-local.yml, called once")
    assert status(repo) == "installed in lefthook-local.yml"
    local = yaml.safe_load(repo.read("lefthook-local.yml"))
    assert local.keys() == {"pre-commit", "commit-msg"}
    called = local["pre-commit"]["commands"]["patchwright"]["run"].replace("{0}", "")
    repo.write("call", called)
    stage_broken(repo)
    code, said = git(repo, "-c", "alias.call=!sh ./call", "call")
    assert (code, "bad.py:1: syntax" in said) == (1, True), said
    assert git(repo, "-c", "alias.call=!sh ./call", "call", there=False)[0] == 0
    assert (
        git(repo, "-c", "patchwright.missing=fail", "-c", "alias.call=!sh ./call", "call", there=False)[0]
        == 1
    )
    uninstall(repo)
    assert not (repo.root / "lefthook-local.yml").exists()
    assert own_hooks(repo) == {"pre-commit": LEFTHOOK}


def test_what_git_no_longer_runs_is_removed_as_well(repo: Repo) -> None:
    install(repo, "pre-commit")
    use_husky(repo)
    assert status(repo).startswith("set aside by another program, not run")
    uninstall(repo)
    assert own_hooks(repo) == {}
    repo.git("config", "--unset", "core.hooksPath")
    assert "pre-commit is called once `npx husky` has" in install(repo, "pre-commit")
    assert status(repo).startswith("installed in .husky/pre-commit, called once")
    repo.git("config", "core.hooksPath", ".githooks")  # the folder of husky is left behind
    assert install(repo, "commit-msg") == "installed commit-msg in .githooks/commit-msg\n"
    uninstall(repo)
    assert repo.read(".husky/pre-commit") == "echo husky ran >> ran\n"
    assert not (repo.root / ".githooks/commit-msg").exists()


def test_the_hook_of_an_earlier_version_in_a_shared_folder_gives_way_to_lines(repo: Repo) -> None:
    install(repo, "pre-commit")
    earlier = own_hooks(repo)["pre-commit"]
    repo.git("config", "core.hooksPath", ".githooks")
    assert "installed commit-msg in .githooks/commit-msg" in install(repo, "commit-msg")  # makes the folder
    repo.write(".githooks/pre-commit", earlier).chmod(0o755)
    repo.write(".githooks/pre-commit.before-patchwright", "#!/bin/sh\necho theirs\n").chmod(0o755)
    install(repo, "pre-commit")
    assert own_hooks(repo) == {}
    lines = repo.read(".githooks/pre-commit")
    assert (lines.endswith("\necho theirs\n"), lines.count("hook run"), sys.prefix in lines) == (
        True,
        1,
        False,
    )
    uninstall(repo)
    assert repo.read(".githooks/pre-commit") == "#!/bin/sh\necho theirs\n"
    assert [path.name for path in (repo.root / ".githooks").iterdir()] == ["pre-commit"]


def file(name: str, text: str) -> Callable[[Repo], None]:
    def write(repo: Repo) -> None:
        repo.write(name, text)

    return write


def hook(text: str) -> Callable[[Repo], None]:
    def write(repo: Repo) -> None:
        path = repo.root / ".git/hooks/commit-msg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return write


@pytest.mark.parametrize(
    ("manager", "there", "said"),
    [
        (
            "lefthook",
            file("lefthook-local.yml", "pre-push:\n"),
            "{run: 'patchwright hook run pre-commit {0}'",
        ),
        ("lefthook", file(".lefthook-local.toml", ""), "pre-commit: {commands: {patchwright: "),
        ("overcommit", file(".overcommit.yml", ""), 'command: ["patchwright", "hook", "run", "pre-commit"]'),
        ("overcommit", hook(OVERCOMMIT), "PreCommit: {Patchwright: "),
        ("simple-git-hooks", hook(SIMPLE), '"pre-commit": "patchwright hook run pre-commit"'),
        ("simple-git-hooks", file("package.json", json.dumps({"simple-git-hooks": {}})), '"pre-commit": '),
    ],
)
def test_other_managers_are_named_with_what_to_write(
    manager: str, there: Callable[[Repo], None], said: str, repo: Repo
) -> None:
    there(repo)
    told = refusal(repo)
    assert f"{manager} manages this repository's hooks" in told
    assert said in told
    assert "(and so for prepare-commit-msg, commit-msg)" in told


def test_hooks_that_hold_no_lines_are_left_and_what_to_call_is_said(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "core.hooksPath", ".githooks")
    script = repo.write(".githooks/pre-push", "#!/usr/bin/env python3\n")
    script.chmod(0o755)
    said = refusal(repo, "commit-msg", "pre-push", "--fix", "offline")
    assert "git looks for hooks in '.githooks', which others may share" in said
    assert 'call ours from .githooks/commit-msg: patchwright hook run commit-msg "$@"' in said
    assert '.githooks/pre-push: patchwright hook run pre-push --fix=offline "$@"' in refusal(
        repo, "pre-push", "--fix", "offline"
    )
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    refusal(repo, "pre-push")  # git would not run it
    script.unlink()
    script.symlink_to(tmp_path / "elsewhere")
    refusal(repo, "pre-push")
    repo.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    assert "which others may share" in refusal(repo, "pre-push")
    wrong = run("hook", "install", "--missing", "maybe", cwd=repo.root)
    assert (wrong.code, "There are pass, fail." in wrong.err) == (2, True), wrong.err


def test_a_configuration_of_pre_commit_alone_writes_no_hooks(repo: Repo) -> None:
    repo.write(".pre-commit-config.yaml", "repos: []\n")
    assert run("hook", "install", "pre-commit", cwd=repo.root).code == 0


def test_what_was_installed_under_a_manager_is_taken_away(repo: Repo) -> None:
    assert run("hook", "install", "pre-commit", cwd=repo.root).code == 0
    launcher = repo.root / ".husky/_/pre-commit"
    use_husky(repo)
    theirs = launcher.read_bytes()
    launcher.rename(launcher.with_name("pre-commit.before-patchwright"))
    (repo.root / ".git/hooks/pre-commit").rename(launcher)
    done = run("hook", "uninstall", cwd=repo.root)
    assert (done.code, launcher.read_bytes()) == (0, theirs), done.err
    assert not launcher.with_name("pre-commit.before-patchwright").exists()
