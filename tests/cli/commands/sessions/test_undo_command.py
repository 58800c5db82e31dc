"""`patchwright undo`, `redo` and `rewind`, after the session has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.timeout(300)
"""Seconds, for many processes one after the other on a machine that may be busy."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "old\n")
    repo.commit_all()
    return repo


@pytest.mark.slow
def test_a_one_shot_run_is_undone_redone_and_rewound(repo: Repo, tmp_path: Path) -> None:
    repo.write("mine.txt", "a person's\n")
    turns = [
        {"calls": [call("write", path="new.txt", content="new\n")]},
        {"calls": [call("shell", command="echo changed > a.txt")]},
        {"text": "Made."},
    ]
    model = script(tmp_path, turns)
    assert run("run", "go", "--no-commit", "--model", model, cwd=repo.root).code in (0, 10)
    index = (repo.root / ".git/index").read_bytes()

    undone = run("undo", cwd=repo.root)
    assert (undone.code, undone.out) == (0, "2 files as before the turn 'go':\n  a.txt\n  new.txt\n"), (
        undone.err
    )
    assert repo.git("--no-optional-locks", "status", "--porcelain") == "?? mine.txt\n"
    assert (run("undo", cwd=repo.root).code, run("redo", cwd=repo.root).code) == (3, 0)
    assert (repo.read("a.txt"), repo.read("new.txt")) == ("changed\n", "new\n")

    listed = run("rewind", cwd=repo.root)
    assert listed.out == "> go\n    1  write new.txt\n    2  shell echo changed > a.txt\n"
    assert run("rewind", "2", "-C", repo.root, cwd=tmp_path).code == 0
    assert (repo.read("a.txt"), repo.read("new.txt")) == ("old\n", "new\n")
    wrong = run("rewind", "7", cwd=repo.root)
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, "patchwright: no step '7': there are 1")

    repo.write("a.txt", "a person's\n")
    refused = run("redo", cwd=repo.root)
    assert (refused.code, "nothing was redone:" in refused.err) == (13, True), refused.err
    repo.write("a.txt", "old\n")

    repo.write("new.txt", "a person's\n")
    refused = run("undo", cwd=repo.root)
    assert (refused.code, "  new.txt: changed since" in refused.err) == (13, True), refused.err
    assert repo.read("new.txt") == "a person's\n"
    assert (repo.root / ".git/index").read_bytes() == index


@pytest.mark.slow
def test_without_a_session_there_is_nothing_to_undo(repo: Repo) -> None:
    result = run("undo", cwd=repo.root)
    assert (result.code, "nothing to take back" in result.err) == (3, True)
    again = run("redo", cwd=repo.root)
    assert (again.code, "nothing to bring back" in again.err) == (3, True)
    missing = run("undo", "--session", "nope", cwd=repo.root)
    assert (missing.code, "no session 'nope'" in missing.err) == (2, True)


@pytest.mark.slow
def test_undo_names_the_folder_of_what_it_cannot_reach(repo: Repo, tmp_path: Path) -> None:
    deep = "n=$(printf %0250d); for i in $(seq 20); do mkdir $n && cd $n || exit; done; echo x > file"
    turns = [{"calls": [call("shell", command=f"echo new > b.txt; {deep}")]}, {"text": "done"}]
    made = run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    assert made.code in (0, 10), made.err
    undone = run("undo", cwd=repo.root)
    assert not (repo.root / "b.txt").exists()
    assert "not undone: entries of the folder '00000" in undone.err
    assert "deep), whose paths are too long for this system" in undone.err


@pytest.mark.slow
def test_undo_restores_ignored_files_that_our_tools_wrote_and_names_those_of_commands(
    repo: Repo, tmp_path: Path
) -> None:
    repo.write(".gitignore", ".env\nout/\n")
    repo.commit_all()
    repo.write(".env", "A=1\n")
    repo.write("out/x.txt", "one\n")
    repo.write("out/deep/y.txt", "one\n")
    repo.write("out/z.txt", "one\n")
    patch = "*** Begin Patch\n*** Delete File: out/x.txt\n*** End Patch\n"
    nested = "edit('out/deep/y.txt', 'one', 'two'); open('a.txt', 'w').write('by code\\n')"
    turns = [
        {"calls": [call("edit", path=".env", old="A=1", new="A=2"), call("apply_patch", patch=patch)]},
        {"calls": [call("python", code=nested), call("write", path="out/new/n.txt", content="new\n")]},
        {"calls": [call("shell", command="echo two > out/z.txt")]},
        {"text": "done"},
    ]
    made = run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    assert made.code in (0, 10), made.err
    assert (repo.read(".env"), repo.read("out/deep/y.txt")) == ("A=2\n", "two\n")
    assert repo.read("a.txt") == "by code\n"

    undone = run("undo", cwd=repo.root)
    restored = [repo.read(path) for path in (".env", "out/x.txt", "out/deep/y.txt", "a.txt")]
    assert restored == ["A=1\n", "one\n", "one\n", "old\n"], (undone.out, undone.err)
    assert not (repo.root / "out/new").exists()
    assert repo.read("out/z.txt") == "two\n"
    assert "not undone: 1 file that git ignores changed since the session began: out/z.txt" in undone.err
    assert run("redo", cwd=repo.root).code == 0
    assert (repo.read(".env"), repo.read("out/new/n.txt")) == ("A=2\n", "new\n")
    assert not (repo.root / "out/x.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("rm -f .env", ".env"),
        ("mv out/x.txt b.txt", "out/x.txt"),
        ("cd out && rm -r deep", "out/deep/y.txt"),
    ],
)
def test_undo_brings_back_ignored_files_that_commands_name(
    repo: Repo, tmp_path: Path, line: str, path: str
) -> None:
    undone = undo_a_command(repo, tmp_path, line)
    assert repo.read(path) == "one\n", undone.err
    assert path not in undone.err


@pytest.mark.slow
def test_undo_names_the_command_that_may_have_removed_others(repo: Repo, tmp_path: Path) -> None:
    undone = undo_a_command(repo, tmp_path, "rm -f out/*.txt")
    named = "files that git ignores, if 'rm -f out/*.txt; echo new > a.txt' removed any"
    assert f"not undone: {named}" in undone.err


def undo_a_command(repo: Repo, tmp_path: Path, line: str) -> Result:
    repo.write(".gitignore", ".env\nout/\n")
    repo.commit_all()
    for path in (".env", "out/x.txt", "out/deep/y.txt"):
        repo.write(path, "one\n")
    turns = [{"calls": [call("shell", command=f"{line}; echo new > a.txt")]}, {"text": "done"}]
    run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    undone = run("undo", cwd=repo.root)
    assert repo.read("a.txt") == "old\n", undone.err
    return undone


LARGE = "first\n" + f"{'x' * 119}\n" * 100_000
"""12 MB."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "path"),
    [
        ("edit", "data.csv"),
        ("edit", "out/data.csv"),
        ("apply_patch", "out/data.csv"),
        ("after a command", "data.csv"),
        ("in a script", "out/data.csv"),
    ],
)
def test_undo_restores_a_large_file_that_our_tools_wrote(
    repo: Repo, tmp_path: Path, way: str, path: str
) -> None:
    """Ignored or not, also when its mode is rare and the session edits it twice."""
    repo.write(".gitignore", "out/\n")
    repo.write(path, LARGE).chmod(0o640)
    change = call("edit", path=path, old="first\n", new="second\n")
    patch = f"*** Begin Patch\n*** Update File: {path}\n@@\n-first\n+second\n*** End Patch\n"
    calls = {
        "edit": [change, call("edit", path=path, old="second\n", new="third\n")],
        "apply_patch": [call("apply_patch", patch=patch)],
        "after a command": [call("shell", command="echo new > b.txt"), change],
        "in a script": [
            call("python", code=f"open('b.txt', 'w').write('x'); edit({path!r}, 'first', 'second')")
        ],
    }[way]
    turns = [*({"calls": [each]} for each in calls), {"text": "done"}]
    made = run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    assert made.code in (0, 10), made.err
    changed = repo.read(path)
    assert changed != LARGE, made.err
    undone = run("undo", cwd=repo.root)
    assert repo.read(path) == LARGE, (undone.out, undone.err)
    assert (repo.root / path).stat().st_mode & 0o777 == 0o640
    assert run("redo", cwd=repo.root).code == 0
    assert repo.read(path) == changed
    assert run("undo", cwd=repo.root).code == 0
    assert repo.read(path) == LARGE


@pytest.mark.slow
def test_what_a_person_changed_since_in_a_large_file_stays(repo: Repo, tmp_path: Path) -> None:
    repo.write("data.csv", LARGE)
    turns = [{"calls": [call("edit", path="data.csv", old="first\n", new="second\n")]}, {"text": "done"}]
    run("run", "go", "--model", script(tmp_path, turns), "--no-commit", cwd=repo.root)
    repo.write("data.csv", repo.read("data.csv") + "mine\n")
    undone = run("undo", cwd=repo.root)
    assert repo.read("data.csv") in (LARGE + "mine\n", LARGE.replace("first", "second", 1) + "mine\n")
    assert undone.code in (0, 13)
