"""Links into content stores: no edit is written through them, and the refusal names the tool's own way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.fs.content_stores import find_store
from tests.support.repo import Repo
from tests.tools.workspaces import call, refused
from tools.core.registry import Tool
from tools.edit.apply import change_writer
from tools.edit.edit_tools import apply_patch, edit, edit_lines
from tools.fs.file_tools import read, write

INSIDE = {  # name → the store's entry, the link, what the refusal says
    "dvc": (".dvc/cache/files/md5/ab/cdef", "data.csv", "dvc unprotect data.csv"),
    "git-annex": (".git/annex/objects/x/SHA256E-s9", "big.csv", "git annex unlock big.csv"),
    "pnpm": ("node_modules/.pnpm/p@1/node_modules/p/i.js", "node_modules/p/i.js", "pnpm patch"),
    "unknown": ("store/ab", "sub/data.csv", "'store/ab', which git ignores"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write(".gitignore", "node_modules/\n.dvc/cache/\nstore/\n")
    return made


def link(repo: Repo, entry: str, name: str) -> None:
    place = repo.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(repo.root / entry, place.parent))


@pytest.mark.parametrize("tool", INSIDE)
def test_no_edit_goes_through_a_link_into_a_store(repo: Repo, tool: str) -> None:
    entry, name, way = INSIDE[tool]
    repo.write(entry, "one\ntwo\n")
    link(repo, entry, name)
    repo.commit_all()
    at = repo.workspace()
    call(read, at, path=name) if tool != "git-annex" else None
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-one\n+ONE\n*** End Patch\n"
    calls: list[tuple[Tool, dict[str, object]]] = [
        (edit, {"path": name, "old": "one", "new": "ONE"}),
        (write, {"path": name, "content": "new\n"}),
        (apply_patch, {"patch": patch}),
    ]
    if tool != "git-annex":
        calls.append((edit_lines, {"path": name, "first": 1, "last": 1, "new": "ONE"}))
    for used, given in calls:
        assert way in refused(used, at, **given)
    assert repo.read(entry) == "one\ntwo\n"
    assert (repo.root / name).is_symlink()


def test_a_link_to_a_read_only_file_is_not_written_through(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "plain", init=False)
    repo.write("objects/ab", "one\n").chmod(0o444)
    link(repo, "objects/ab", "a.txt")
    assert "read-only" in refused(edit, repo.workspace(), path="a.txt", old="one", new="two")
    assert repo.read("objects/ab") == "one\n"


def test_a_link_to_a_tracked_file_is_followed(repo: Repo) -> None:
    repo.write("AGENTS.md", "one\n")
    link(repo, "AGENTS.md", "CLAUDE.md")
    repo.commit_all()
    call(edit, repo.workspace(), path="CLAUDE.md", old="one", new="two")
    assert repo.read("AGENTS.md") == "two\n"


def test_a_hard_link_into_a_store_is_replaced(repo: Repo, tmp_path: Path) -> None:
    store = tmp_path / "store-v3"
    store.mkdir()
    (store / "ab").write_text("one\n")
    os.link(store / "ab", repo.root / "a.js")
    call(edit, repo.workspace(), path="a.js", old="one", new="two")
    assert (store / "ab").read_text() == "one\n"
    assert repo.read("a.js") == "two\n"


@pytest.mark.parametrize(
    ("target", "tool"),
    [
        ("/nix/store/abc-hello/bin/x", "Nix"),
        ("/home/u/.cache/bazel/_bazel_u/1234/execroot/_main/bazel-out/k8/bin/x", "Bazel"),
        ("/opt/miniconda3/pkgs/numpy-2/lib/x.py", "conda"),
        ("/home/u/.ccache/a/b/c.o", "ccache"),
        ("/shared/cache/files/md5/ab/" + "c" * 30, "DVC"),
    ],
)
def test_a_link_out_of_the_workspace_names_the_tools_way(repo: Repo, target: str, tool: str) -> None:
    (repo.root / "out").symlink_to(target)
    store = find_store(target)
    assert store is not None
    assert store.tool == tool
    text = refused(edit, repo.workspace(), path="out", old="a", new="b")
    assert "outside the workspace" in text
    assert store.way.replace("FILE", "out") in text


def test_a_file_too_large_to_keep_is_not_edited(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_writer, "MAX_WRITTEN_SIZE", 1_000)
    repo.write("big.txt", "one\n" + "x" * 1_000)
    before = repo.read("big.txt")
    at = repo.workspace()
    call(read, at, path="big.txt")
    for change in ({"old": "one", "new": "two"}, {"old": "x" * 1_000, "new": "y"}):
        assert "undo could not restore it" in refused(edit, at, path="big.txt", **change)
    assert "undo could not restore it" in refused(write, at, path="big.txt", content="new\n")
    assert repo.read("big.txt") == before
