"""Data sets in bare repositories are unpacked once, and nothing of an archive leaves its folder."""

from __future__ import annotations

import io
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from agent.evaluation.suites.source_folder import check_member, extract_members, open_source
from sandbox.errors import UserError
from tests.support.evaluation_tasks import write_tree


def test_a_bare_repository_is_unpacked_in_part_and_once(tmp_path: Path) -> None:
    work = write_tree(tmp_path / "work", {"data/a.txt": "one", "other/b.txt": "two"})
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=work, check=True)
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    found = open_source(bare, tmp_path / "cache", ["data", "missing"])
    assert [each.relative_to(found).as_posix() for each in found.rglob("*.txt")] == ["data/a.txt"]
    (found / "data/a.txt").write_text("kept")
    assert open_source(bare, tmp_path / "cache", ["data", "missing"]) == found
    assert (found / "data/a.txt").read_text() == "kept"
    assert open_source(work, tmp_path / "cache") == work
    with pytest.raises(UserError, match="has none of missing"):
        open_source(bare, tmp_path / "cache", ["missing"])
    with pytest.raises(UserError, match="no such folder"):
        open_source(tmp_path / "nowhere", tmp_path / "cache")


def make_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    "member",
    [
        make_member("../out"),
        make_member("/etc/out"),
        make_member("a/link", tarfile.SYMTYPE, "../../out"),
        make_member("link", tarfile.LNKTYPE, "../out"),
        make_member("device", tarfile.CHRTYPE),
    ],
)
def test_members_that_lead_out_are_refused(member: tarfile.TarInfo, tmp_path: Path) -> None:
    with pytest.raises(tarfile.TarError):
        check_member(member)
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(member)
    data.seek(0)
    (tmp_path / "in").mkdir()
    with tarfile.open(fileobj=data) as tar, suppress(tarfile.TarError):  # or it is laid inside
        extract_members(tar, tmp_path / "in")
    assert not (tmp_path / "out").exists()


def test_links_inside_are_kept() -> None:
    check_member(make_member("a/link", tarfile.SYMTYPE, "../b"))
