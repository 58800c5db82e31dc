"""Repositories that a project keeps as data (`tests/fixtures/repo.git`): read, edited and undone as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

FIXTURE = "tests/fixtures/repo.git"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a = 1\n")
    made.git("init", "-q", "--bare", FIXTURE)
    for hook in (made.root / FIXTURE / "hooks").iterdir():
        hook.unlink()
    made.write(f"{FIXTURE}/refs/heads/main", "0" * 40 + "\n")
    made.write(f"{FIXTURE}/objects/info/packs", "\n")
    made.commit_all("Begin")
    needs_confinement(made.root)
    return made


def play(repo: Repo, *calls: dict[str, object], rules: tuple[str, ...] = ()) -> Result:
    turns = [*({"calls": [each]} for each in calls), *({"text": "Done."} for _ in range(3))]
    model = script(repo.root.parent, turns)
    options = ("--model", model, "--tests", "true", "--output", "stream-json")
    return run("run", "change the fixture", *options, *rules, cwd=repo.root)


def list_texts(result: Result) -> list[str]:
    return [each["text"] for each in result.events if each["kind"] == "observation"]


def test_its_files_are_listed_and_read_like_any_other(repo: Repo) -> None:
    result = play(
        repo,
        call("shell", command=f"ls {FIXTURE}; git -C {FIXTURE} rev-parse --is-bare-repository"),
        call("list", path=FIXTURE),
        call("read", path=f"{FIXTURE}/config"),
        call("search", pattern="bare"),
    )
    ls, listing, config, found = list_texts(result)[:4]
    assert "description" in ls
    assert "true" in ls
    assert "HEAD" in listing
    assert "bare = true" in config
    assert f"{FIXTURE}/config" in found


def test_an_edit_of_its_data_is_committed_and_undone(repo: Repo) -> None:
    before = repo.read(f"{FIXTURE}/description")
    result = play(
        repo,
        call("write", path=f"{FIXTURE}/packed-refs", content="# pack-refs\n"),
        call("edit", path=f"{FIXTURE}/description", old=before.strip(), new="A fixture"),
        call("edit", path="a.py", old="a = 1", new="a = 2"),
    )
    assert result.code == 0, result.err
    assert sorted(repo.committed()) == ["a.py", f"{FIXTURE}/description", f"{FIXTURE}/packed-refs"]
    assert repo.git("status", "--porcelain") == ""
    assert run("undo", cwd=repo.root).code == 0
    assert repo.read(f"{FIXTURE}/description") == before
    assert not (repo.root / FIXTURE / "packed-refs").exists()


@pytest.mark.parametrize("path", ["refs/heads/main", "config", "hooks/post-update"])
def test_what_git_itself_acts_on_is_asked_about_and_named(repo: Repo, path: str) -> None:
    result = play(repo, call("write", path=f"{FIXTURE}/{path}", content="x\n"))
    (text, *_) = list_texts(result)
    assert f"git, editors, shells, hooks or services act on {path.partition('/')[0]}" in text
    assert "allow it by a rule" in text


def test_a_command_that_writes_there_learns_what_to_use(repo: Repo) -> None:
    result = play(repo, call("shell", command=f"echo x > {FIXTURE}/description"))
    assert "commands cannot write it; use edit or write" in list_texts(result)[0]
