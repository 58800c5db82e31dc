"""`patchwright commit`, `review` and `pr`, and the setting that says when the harness commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands.git.commit import commit_staged
from tests.support.cli import call, run, script
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = pytest.mark.timeout(300)
"""Seconds, for many processes one after the other on a machine that may be busy."""

CART = "def total(items):\n    return sum(items)\n"
COUNT = CART + "\n\ndef count(items):\n    return len(items)\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("kept.py", "x = 1\n")
    repo.commit_all("Begin")
    return repo


def body(repo: Repo) -> str:
    return repo.git("log", "-1", "--format=%B").strip()


@pytest.mark.slow
def test_what_is_staged_is_committed_and_nothing_else(repo: Repo) -> None:
    assert run("commit", cwd=repo.root).code == 3
    repo.write("cart.py", COUNT)
    repo.git("add", "cart.py")
    repo.write("kept.py", "x = 2\n")
    shown = run("commit", "--print", cwd=repo.root)
    assert (shown.code, shown.out) == (0, "Add count\n"), shown.err
    assert run("commit", cwd=repo.root).code == 0
    assert (body(repo), repo.committed()) == ("Add count", ["cart.py"])
    assert repo.git("status", "--porcelain") == " M kept.py\n"


@pytest.mark.slow
def test_what_was_staged_while_the_message_was_written_is_not_committed(repo: Repo) -> None:
    repo.write("cart.py", COUNT)
    repo.git("add", "cart.py")
    repo.write("kept.py", "x = 2\n")
    head = repo.head()

    def stage_more(*_: object) -> str:
        repo.git("add", "kept.py")
        return "Count the items of a cart"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cli.commands.git.model_text.ask_model", stage_more)
        assert commit_staged(repo.root, {}, show=False, edit=False) == 13
    assert repo.head() == head


@pytest.mark.slow
def test_a_message_of_ours_is_utf_8(repo: Repo) -> None:
    repo.git("config", "i18n.commitEncoding", "ISO-8859-1")
    repo.write("größe.py", "x = 1\n")
    repo.git("add", "-A")
    assert run("commit", cwd=repo.root).code == 0
    assert "\n\nAdd größe.py\n" in repo.git("cat-file", "commit", "HEAD")


@pytest.mark.slow
def test_a_model_writes_the_message_and_a_hook_may_refuse_it(repo: Repo) -> None:
    repo.write("cart.py", COUNT)
    repo.git("add", "cart.py")
    answer = [{"text": "```\nCount the items of a cart\n\nThe page needs it.\n```", "repeat": 3}]
    with Loopback(answer) as server:
        told = ("--model", "openai/test", "--api-base", server.url)
        repo.hook("commit-msg", "exit 1")
        assert run("commit", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"}).code == 13
        (repo.root / ".git/hooks/commit-msg").unlink()
        done = run("commit", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"})
        assert (done.code, body(repo)) == (0, "Count the items of a cart\n\nThe page needs it."), done.err
        assert "def count" in server.requests[-1].raw.decode()


@pytest.mark.slow
def test_a_review_runs_no_filter_of_a_repository_that_is_not_trusted(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "filter.crypt.clean", f"touch '{tmp_path}/ran'; tr a-z n-za-m")
    repo.git("config", "filter.crypt.required", "true")
    repo.write(".gitattributes", "vault* filter=crypt\n")
    repo.write("vault", "hidden\n")
    repo.commit_all("Add a vault")
    (tmp_path / "ran").unlink()
    repo.write("vault", "changed words\n")
    repo.write("vault [2]", "other words\n")
    repo.write("cart.py", COUNT)
    with Loopback([{"text": "cart.py:1: fine", "repeat": 2}]) as server:
        told = ("--model", "openai/test", "--api-base", server.url)
        done = run("review", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"})
        asked = server.requests[-1].raw.decode()
        assert (done.code, "def count" in asked, "words" in asked) == (0, True, False), done.err
        assert "not trusted: setting filter.crypt.clean" in done.err
        assert not (tmp_path / "ran").exists()
        assert run("trust", cwd=repo.root).code == 0
        done = run("review", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"})
        asked = server.requests[-1].raw.decode()
    assert (done.code, "punatrq" in asked, "words" in asked) == (0, True, False), done.err
    assert (tmp_path / "ran").exists()


@pytest.mark.slow
def test_changes_are_reviewed_without_touching_anything(repo: Repo) -> None:
    assert run("review", cwd=repo.root).code == 3
    repo.write("cart.py", COUNT + "breakpoint()\n")
    repo.write("new.py", "def f(:\n")
    before = (repo.index(), repo.git("count-objects", "-v"))
    found = run("review", cwd=repo.root)
    assert (
        found.code,
        "cart.py:7: error: leftovers" in found.out,
        "new.py:1: error: syntax" in found.out,
    ) == ((1, True, True)), found.out + found.err
    assert (repo.index(), repo.git("count-objects", "-v")) == before
    repo.git("add", "cart.py")
    as_json = json.loads(run("review", "--staged", "--json", cwd=repo.root).out)
    assert [each["path"] for each in as_json["findings"]] == ["cart.py"]
    assert as_json["summary"].startswith("Add count")
    assert run("review", "HEAD", cwd=repo.root).code == 0
    wrong = run("review", "nonsense", cwd=repo.root)
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, "patchwright: no commit 'nonsense' here")
    with Loopback([{"text": "cart.py:7: remove it"}]) as server:
        told = ("--model", "openai/test", "--api-base", server.url)
        opinion = run("review", "--staged", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"})
    assert (opinion.code, "cart.py:7: remove it" in opinion.out) == (1, True), opinion.err


@pytest.mark.slow
def test_a_review_runs_nothing_of_the_repository_and_tells_what_git_says(repo: Repo, tmp_path: Path) -> None:
    repo.write("ruff.toml", "")
    repo.write(".venv/bin/ruff", f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    (repo.root / ".venv/bin/ruff").chmod(0o755)
    repo.write("new.py", "x = 1\n")
    assert run("review", cwd=repo.root).code == 0
    assert not (tmp_path / "ran").exists()
    with Loopback([{"text": "nothing found"}]) as server:
        told = ("--model", "openai/test", "--api-base", server.url)
        first = run("review", "HEAD", *told, cwd=repo.root, env={"OPENAI_API_KEY": "k"})
        assert first.code == 0, first.err
        assert "+def total(items)" in server.requests[0].raw.decode(), "the first commit is all new"
    Repo(repo.root / "inner")  # git does not add a repository without a commit
    odd = run("review", cwd=repo.root)
    assert (odd.code, "inner" in odd.err, "Traceback" in odd.err) == (6, True, False), odd.err


@pytest.mark.slow
def test_a_pull_request_is_drafted_into_a_file(repo: Repo, tmp_path: Path) -> None:
    assert run("pr", cwd=repo.root).code == 3
    repo.git("switch", "-qc", "feature")
    repo.write("cart.py", COUNT)
    repo.commit_all(
        "Count items\n\nA total alone does not say how many there are.\n\nReviewed-by: Ann <a@b.c>"
    )
    repo.write("kept.py", "x = 2\n")
    repo.commit_all("Change x")
    done = run("pr", cwd=repo.root)
    place = repo.root / ".git/patchwright-pr.md"
    assert (done.code, Path(done.out.strip())) == (0, place), done.err
    assert place.read_text().startswith(
        "Add count\n\n## What changed and why\n\n- Count items\n  A total alone does not say how many there are.\n"
        "- Change x\n\n## Files\n"
    )
    other = tmp_path / "draft.md"
    assert run("pr", "--base", "HEAD~1", "--out", other, cwd=repo.root).code == 0
    assert other.read_text().startswith("Change x\n")


TESTED = [
    {"calls": [call("read", path="cart.py"), call("read", path="kept.py")]},
    {"calls": [call("write", path="cart.py", content=COUNT)]},
    {"calls": [call("run_tests")]},
    {"calls": [call("write", path="kept.py", content="x = 3\n")]},
    {"text": "Done."},
]
TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        import cart\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "commits", "branch"),
    [
        ("never", 0, "main"),
        ("turn", 1, "main"),
        ("step", 2, "main"),
        ("branch", 1, "patchwright/add-a-count"),
    ],
)
def test_the_harness_commits_when_the_setting_says(
    repo: Repo, tmp_path: Path, isolated: Path, when: str, commits: int, branch: str
) -> None:
    repo.write("test_it.py", TEST)
    start = repo.commit_all("Test")
    settings = isolated / "patchwright/config/settings.toml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text(f'commit = "{when}"\n')
    repo.write("mine.txt", "a person's\n")
    result = run("run", "add a count", "--model", script(tmp_path, TESTED), cwd=repo.root)
    assert result.code == 0, result.err
    assert repo.git("rev-list", "--count", f"{start}..HEAD").strip() == str(commits)
    assert repo.git("branch", "--show-current").strip() == branch
    assert repo.git("rev-parse", "main").strip() == (repo.head() if branch == "main" else start)
    assert "?? mine.txt" in repo.git("status", "--porcelain")
    if when == "step":
        assert repo.git("log", "-2", "--format=%s").splitlines()[1] == "Add count"


@pytest.mark.slow
def test_no_branch_is_made_in_the_middle_of_a_rebase(repo: Repo, tmp_path: Path, isolated: Path) -> None:
    repo.write("test_it.py", TEST)
    start = repo.commit_all("Test")
    settings = isolated / "patchwright/config/settings.toml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text('commit = "branch"\n')
    repo.git("-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-qi", "HEAD~1")
    result = run("run", "add a count", "--model", script(tmp_path, TESTED), cwd=repo.root)
    assert result.code == 13, result.err
    assert repo.git("branch", "--format=%(refname:short)").splitlines()[1:] == ["main"]
    assert (repo.head(), repo.git("branch", "--show-current")) == (start, "")


NEWER = {
    "a.py": 'class A[T = int]:\n    x: T\n\n\nname = t"Hello {x}"\n',
    "a.ts": "export function f() {\n  using file = open('a');\n  return file;\n}\n",
    "A.cs": "class A\n{\n    public string Name { get; set => field = value; }\n}\n",
    "A.java": "void main() {\n    IO.println(1);\n}\n",
    "a.php": "<?php\n$x = ' a ' |> trim(...);\n",
}


@pytest.mark.slow
def test_newer_syntax_passes_the_review_and_the_hook_and_a_lost_bracket_does_not(repo: Repo) -> None:
    for name, text in NEWER.items():
        repo.write(name, text)
    repo.git("add", "-A")
    done = run("review", "--staged", cwd=repo.root)
    assert (done.code, "Remove" in done.out) == (0, False), done.out + done.err
    assert run("hook", "install", cwd=repo.root).code == 0
    repo.git("commit", "-qm", "Add newer syntax")
    repo.write("a.ts", NEWER["a.ts"].replace("('a')", "('a'"))
    repo.git("add", "-A")
    done = run("review", "--staged", cwd=repo.root)
    assert done.code == 1, done.out
    assert "a.ts" in done.out
