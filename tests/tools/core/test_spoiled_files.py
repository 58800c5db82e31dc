"""Files that git ignores and a command names to remove or change: their bytes are kept, and undo brings them back."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.shell import judge_command_line
from tests.support.cli import call, run, script
from tests.support.repo import Repo
from tools.core.snapshot_spans import list_spoiled_files

IGNORED = {
    ".env": "TOKEN=mine\n",
    "local.cfg": "level = 1\n",
    "notes/one.md": "first\n",
    "notes/in/two.md": "2\n",
}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rm .env", [".env"]),
        ("rm -rf notes", ["notes/in/two.md", "notes/one.md"]),
        ("sed -i s/1/2/ local.cfg && rm .env", [".env", "local.cfg"]),
        ("mv local.cfg other.cfg", ["local.cfg"]),
        ("cp .env local.cfg", ["local.cfg"]),
        ("cat .env", []),
        ("echo x > local.cfg", []),
        ("rm gone.txt", []),
        ("rm -rf /tmp/elsewhere", []),
    ],
)
def test_files_that_a_command_removes_or_changes_are_listed(
    tmp_path: Path, line: str, found: list[str]
) -> None:
    for name, text in IGNORED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sorted(list_spoiled_files(judge_command_line(line, root=tmp_path), tmp_path)) == found


def test_a_folder_of_many_files_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    for number in range(600):
        (tmp_path / "node_modules" / f"{number}.js").touch()
    assert list_spoiled_files(judge_command_line("rm -rf node_modules", root=tmp_path), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "rm .env",
        "rm -rf notes",
        "sed -i s/1/2/ local.cfg",
        "mv .env local.cfg",
        "cd notes && rm one.md",
    ],
)
def test_undo_brings_ignored_files_back(tmp_path: Path, line: str) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.py", "x = 1\n")
    repo.write(".gitignore", ".env\nlocal.cfg\n/notes\n")
    repo.commit_all()
    for name, text in IGNORED.items():
        repo.write(name, text)
    model = script(tmp_path, [{"calls": [call("shell", command=line)]}, {"text": "Done.", "repeat": 4}])
    run("run", "tidy the folder up", "--no-commit", "--tests", "true", "--model", model, cwd=repo.root)
    assert {
        name: (repo.root / name).exists() and (repo.root / name).read_text() for name in IGNORED
    } != IGNORED
    undone = run("undo", cwd=repo.root)
    assert undone.code == 0, undone.err
    assert {name: (repo.root / name).read_text() for name in IGNORED} == IGNORED
