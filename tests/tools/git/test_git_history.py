"""The history as a model asks for it: only read, whatever the repository configures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox.policy.trust import trust_nothing
from tests.support.repo import Repo
from tools.builtin_tools import load_accepted_tools
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool
from tools.git.history_tools import git_blame, git_log, git_show

pytestmark = pytest.mark.slow  # a repository of several commits


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "one\ntwo\n")
    made.commit_all("Begin")
    made.write("a.py", "one\nsecond = rate(2)\n")
    made.write("d/b c.py", "b\n")
    made.commit_all("Name the second")
    made.write("a.py", "one\nsecond = rate(3)\n")
    made.commit_all("Raise the rate")
    return made


def call(tool: Tool, repo: Repo, **arguments: Any) -> Observation:
    at = repo.workspace()
    at.trusts = trust_nothing
    return asyncio.run(tool.run(**arguments, at=at))


def subjects(found: Observation) -> list[str]:
    return [line.partition(": ")[2] for line in found.text.splitlines()]


def test_the_log_is_told_by_path_text_pattern_and_range(repo: Repo) -> None:
    assert subjects(call(git_log, repo)) == ["Raise the rate", "Name the second", "Begin"]
    assert subjects(call(git_log, repo, path="d")) == ["Name the second"]
    assert subjects(call(git_log, repo, path="d/b c.py", count=1)) == ["Name the second"]
    assert subjects(call(git_log, repo, added_or_removed="rate(")) == ["Name the second"], (
        "as often as before"
    )
    assert subjects(call(git_log, repo, pattern=r"rate\([0-9]")) == ["Raise the rate", "Name the second"]
    assert subjects(call(git_log, repo, revision="HEAD~2..HEAD~1")) == ["Name the second"]
    assert call(git_log, repo, added_or_removed="nowhere").text == "no such commit"


def test_a_commit_and_a_file_as_it_was_are_shown(repo: Repo) -> None:
    shown = call(git_show, repo, revision="HEAD~1").text
    assert "Name the second" in shown
    assert "+second = rate(2)" in shown
    assert "d/b c.py" in shown
    assert "d/b c.py" not in call(git_show, repo, revision="HEAD~1", path="a.py").text
    assert call(git_show, repo, revision="HEAD~2:a.py").text == "one\ntwo"


def test_each_line_has_the_commit_it_comes_from(repo: Repo) -> None:
    commits = [repo.git("rev-parse", "--short=7", name).strip() for name in ("HEAD~2", "HEAD")]
    lines = call(git_blame, repo, path="a.py").text.splitlines()
    assert [line.lstrip("^")[:7] for line in lines] == commits
    (line,) = call(git_blame, repo, path="a.py", first=2, last=2, revision="HEAD~1").text.splitlines()
    assert "rate(2)" in line


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (git_log, {"revision": "--output=owned"}, "names no commit"),
        (git_show, {"revision": "--ext-diff"}, "names no commit"),
        (git_blame, {"path": "../outside"}, "outside"),
        (git_log, {"added_or_removed": "a", "pattern": "b"}, "not both"),
        (git_log, {"revision": "nope"}, "nope"),
        (git_log, {"count": 0}, "count must be"),
        (git_blame, {"path": "a.py", "first": 9}, "only 2 lines"),
    ],
)
def test_what_cannot_be_read_is_told_and_nothing_is_written(
    repo: Repo, tool: Tool, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ToolFailure) as failure:
        call(tool, repo, **arguments)
    assert words in str(failure.value)
    assert not (repo.root / "owned").exists()


def test_nothing_of_the_repository_is_started(repo: Repo, tmp_path: Path) -> None:
    trap = f"echo $0 $* >> '{tmp_path}/ran'; cat"
    for name in ("diff.trap.textconv", "diff.trap.command", "core.pager", "diff.external", "gpg.program"):
        repo.git("config", name, trap)
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "filter.trap.clean", trap)
    repo.write(".gitattributes", "*.py diff=trap filter=trap\n")
    (tmp_path / "ran").unlink(missing_ok=True)
    call(git_log, repo, pattern="rate")
    call(git_log, repo, added_or_removed="rate")
    call(git_show, repo)
    call(git_show, repo, revision="HEAD:a.py")
    call(git_blame, repo, path="a.py")
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_models_that_know_such_tools_are_understood_also_where_nothing_may_be_written() -> None:
    there = {tool.name: tool.reads_only for tool in load_accepted_tools() if tool.name.startswith("git_")}
    assert {name for name, reads in there.items() if reads} == {"git_log", "git_show", "git_blame"}
