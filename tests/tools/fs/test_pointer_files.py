"""Pointers of Git LFS, git-annex and DVC: recognized, not edited as data, never committed without their data."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.fs.pointer_files import describe_pointer, find_keeper, has_lost_data
from tools.git.commits.session_commit import commit_session

OID = "5e46266be5fda8508117bfafcbb22d0e177a3b476ed603a39e47f1586b2ef4a3"
MD5 = "b1946ac92492d2347c6235b4d2611184"
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 9\n"
ANNEX = f"/annex/objects/SHA256E-s4--{OID}.bin\n"
DVC = f"outs:\n- md5: {MD5}\n  size: 6\n  hash: md5\n  path: data.csv\n"
LOCK = f"stages:\n  fit:\n    cmd: python train.py\n    outs:\n    - path: m\n      md5: {MD5}.dir\n      size: 6\n"


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.bin", LFS, "size 9", "size 10"),
        ("a.bin", LFS, OID, "0" * 64),
        ("a.bin", ANNEX, "s4", "s5"),
        ("data.csv.dvc", DVC, "size: 6", "size: 7"),
        ("data.csv.dvc", DVC, MD5, "0" * 32),
        ("dvc.lock", LOCK, MD5, "0" * 32),
    ],
)
def test_a_pointer_is_named_and_its_values_are_not_edited(path: str, text: str, old: str, new: str) -> None:
    before, after = text.encode(), text.replace(old, new).encode()
    assert describe_pointer(before, path)
    assert has_lost_data(before, after, path)
    assert not has_lost_data(before, b"a,b\n1,2\n", path) or path.endswith((".dvc", ".lock"))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("data.csv.dvc", DVC, DVC + "desc: measured in May\n"),
        ("dvc.lock", LOCK, LOCK.replace("train.py", "fit.py")),
        ("notes.yaml", DVC, DVC.replace("size: 6", "size: 7")),
        ("dvc.yaml", "outs:\n- model\n", "outs:\n- models\n"),
        ("README.md", f"Run:\n\n{LFS}", "Run\n"),
    ],
)
def test_what_says_nothing_of_the_data_is_edited(path: str, before: str, after: str) -> None:
    assert not has_lost_data(before.encode(), after.encode(), path)


@pytest.mark.parametrize(
    ("path", "text", "store", "keeper"),
    [
        ("a.bin", LFS, f".git/lfs/objects/5e/46/{OID}", "Git LFS"),
        (
            "a.bin",
            ANNEX,
            f".git/annex/objects/7p/Jj/SHA256E-s4--{OID}.bin/SHA256E-s4--{OID}.bin",
            "git-annex",
        ),
        ("sub/data.csv.dvc", DVC, f".dvc/cache/files/md5/b1/{MD5[2:]}", "DVC"),
        ("data.csv.dvc", DVC, f".dvc/cache/b1/{MD5[2:]}", "DVC"),
        ("dvc.lock", LOCK, f".dvc/cache/files/md5/b1/{MD5[2:]}.dir", "DVC"),
    ],
)
def test_the_data_of_a_new_pointer_is_looked_for_in_its_store(
    path: str, text: str, store: str, keeper: str, tmp_path: Path
) -> None:
    def find(before: bytes | None) -> str:
        return find_keeper(before, text.encode(), path, root=tmp_path, git_folder=tmp_path / ".git")

    assert find(None) == keeper
    assert find(text.encode()) == ""
    (tmp_path / store).parent.mkdir(parents=True)
    (tmp_path / store).write_text("hello\n")
    assert find(None) == ""


def test_the_cache_of_dvc_is_where_the_configuration_says(tmp_path: Path) -> None:
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text(
        "[core]\n    remote = x\n[cache]\n    dir = ../store\n    type = symlink\n"
    )
    place = tmp_path / f"store/files/md5/b1/{MD5[2:]}"
    place.parent.mkdir(parents=True)
    place.write_text("hello\n")
    assert find_keeper(None, DVC.encode(), "a.dvc", root=tmp_path, git_folder=tmp_path / ".git") == ""
    imported = f"deps:\n- path: s3://x\n{DVC}".replace(MD5, "0" * 32)
    assert find_keeper(None, imported.encode(), "a.dvc", root=tmp_path, git_folder=tmp_path / ".git") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [("t.csv", LFS, "size 9", "size 99"), ("x.bin", ANNEX, "s4", "s5"), ("d.dvc", DVC, MD5, "0" * 32)],
)
def test_a_pointer_that_a_command_changed_is_not_committed(
    path: str, text: str, old: str, new: str, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "r")
    repo.write(".gitattributes", "*.csv filter=lfs diff=lfs merge=lfs -text\n")
    repo.write(path, text)
    repo.write("a.py", "x = 1\n")
    repo.commit_all()
    at = repo.workspace()
    agent_writes(at, path, text.replace(old, new))
    with pytest.raises(ToolFailure, match="to data that is not here"):
        asyncio.run(commit_session(at, "Change the data"))
    agent_writes(at, "a.py", "x = 2\n")
    made = asyncio.run(commit_session(at, "Change x"))
    assert [each.path for each in made.files] == ["a.py"]
    assert "not here" in made.left_out[path]
