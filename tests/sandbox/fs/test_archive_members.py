"""Nothing of an archive leaves its folder."""

from __future__ import annotations

import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.fs.archive_members import check_member, extract_members


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
