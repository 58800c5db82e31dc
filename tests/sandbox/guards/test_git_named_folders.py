"""Folders named like a bare repository that are ordinary files: edited, searched, committed and undone like others."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.fs.protected_paths import find_protected_name
from tests.support.cli import call, run, script
from tests.support.repo import Repo

FILES = {
    "vendor/lib.git/one.c": "int one;\n",
    "vendor/lib.git/config": "width = 1\n",
    "vendor/lib.git/HEAD": "release one\n",
    "vendor/lib.git/hooks/start": "one\n",
    "docs/HEAD": "title one\n",
    "HEAD": "one\n",
}
"""None of these folders has objects and refs beside its HEAD."""


def make(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("x\n")
    return folder


@pytest.mark.parametrize(
    ("there", "path", "found"),
    [
        (("lib.git/HEAD",), "lib.git/HEAD", ""),
        (("lib.git/HEAD", "lib.git/config"), "lib.git/config", ""),
        (("HEAD", ".git/HEAD"), "HEAD", ""),
        (("docs/HEAD", "docs/hooks/x"), "docs/hooks/x", ""),
        ((), "lib.git/HEAD", "HEAD"),
        (("lib.git/HEAD",), "lib.git/refs/heads/x", "refs"),
        (("lib.git/HEAD",), "lib.git/commondir", "commondir"),
        (("lib.git/HEAD", "lib.git/commondir"), "lib.git/HEAD", "HEAD"),
        (("lib.git/HEAD", "lib.git/objects/"), "lib.git/HEAD", "HEAD"),
        (("lib.git/HEAD", "lib.git/objects/", "lib.git/refs/"), "lib.git/config", "config"),
    ],
)
def test_only_what_git_takes_for_a_repository_is_guarded(
    tmp_path: Path, there: tuple[str, ...], path: str, found: str
) -> None:
    assert find_protected_name(make(tmp_path, *there), path) == found


@pytest.mark.slow
def test_such_folders_are_edited_searched_committed_and_undone(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    for path, text in FILES.items():
        repo.write(path, text)
    repo.commit_all()
    for key in ("name", "email"):
        repo.git("config", f"user.{key}", "ada@example.org")
    reads = [call("search", pattern="one", path="vendor"), *(call("read", path=each) for each in FILES)]
    edits = [
        call("edit", path=each, old=text.strip(), new=f"{text.strip()} and more")
        for each, text in FILES.items()
    ]
    turns = [{"calls": reads}, {"calls": edits, "expect": ["vendor/lib.git/one.c"]}, {"text": "Changed."}]
    done = run(
        *("run", "change these files", "--tests", "true", "--model", script(tmp_path, turns)), cwd=repo.root
    )
    assert done.code == 0, done.out + done.err
    changed = {each: f"{text.strip()} and more\n" for each, text in FILES.items()}
    assert {each: repo.show(each) for each in FILES} == changed
    assert run("undo", cwd=repo.root).code == 0
    assert {each: (repo.root / each).read_text() for each in FILES} == FILES
