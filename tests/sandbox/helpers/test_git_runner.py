"""git is started with nothing of the caller's state, and ends with all that it started."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from sandbox.helpers.git_runner import GitRunner, GitTimeout, strip_git_variables


@pytest.fixture
def runner(tmp_path: Path) -> GitRunner:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return GitRunner(tmp_path, strip_git_variables(), workspace=tmp_path)


@pytest.mark.slow
def test_a_command_that_takes_long_is_stopped_with_all_that_it_started(
    runner: GitRunner, tmp_path: Path
) -> None:
    (tmp_path / ".gitattributes").write_text("x filter=slow\n")
    runner.execute(
        "config", "filter.slow.clean", f"touch '{tmp_path}/began'; sleep 3; touch '{tmp_path}/late'"
    )
    runner = GitRunner(tmp_path, strip_git_variables(), workspace=tmp_path, own_filters=True)
    with pytest.raises(GitTimeout, match=r"git did not end within 0\.1 seconds"):
        runner.run("hash-object", "--path=x", "--stdin", stdin=b"text", timeout=0.1)
    time.sleep(3)
    assert (tmp_path / "began").exists()
    assert not (tmp_path / "late").exists()


def test_variables_that_lead_elsewhere_are_dropped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, str(tmp_path))
    kept = {name for name in strip_git_variables() if name.startswith("GIT_")}
    assert {"GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL"} <= kept
    assert not kept & {"GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_TRACE"}


def test_neither_editor_nor_pager_nor_hook_runs(runner: GitRunner, tmp_path: Path) -> None:
    for name in ("core.editor", "core.pager", "core.fsmonitor"):
        runner.execute("config", name, f"touch '{tmp_path}/ran'; false")
    hook = tmp_path / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = runner.run(*identity, "commit", "--allow-empty", "-m", "One", "--edit")
    assert done.returncode == 0, done.stderr
    assert runner.run("log", "--format=%s").stdout == b"One\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("own_filters", [False, True])
def test_a_filter_of_the_users_runs_and_one_of_the_repositorys_if_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_filters: bool
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "shop")], check=True)
    root = tmp_path / "shop"
    settings = tmp_path / "gitconfig"
    settings.write_text('[filter "up"]\n\tclean = tr a-z A-Z\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for name, value in (
        ("filter.own=x.clean", f"touch '{tmp_path}/ran'; cat"),
        ("filter.own=x.required", "true"),
    ):
        subprocess.run(["git", "config", name, value], cwd=root, check=True)
    (root / ".gitattributes").write_text("a filter=up\nb filter=own=x\n")
    for name in ("a", "b"):
        (root / name).write_text("text\n")
    runner = GitRunner(root, strip_git_variables(), workspace=root, own_filters=own_filters)
    assert runner.run("add", "a", "b").returncode == 0
    assert runner.run("cat-file", "blob", ":a").stdout == b"TEXT\n"
    assert runner.run("cat-file", "blob", ":b").stdout == b"text\n"
    assert (tmp_path / "ran").exists() == own_filters
