"""Nothing of an archive leaves its folder, whatever Python unpacks it."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from sandbox.fs.archive_members import extract_members


def make_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    content = b"from the archive" if kind == tarfile.REGTYPE else b""
    member.size = len(content)
    return member, content


LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


def unpack(members: list[tuple[tarfile.TarInfo, bytes]], folder: Path) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    data.seek(0)
    folder.mkdir()
    with tarfile.open(fileobj=data) as tar:
        extract_members(tar, folder)


@pytest.mark.parametrize(
    "members",
    [
        [make_member("../out/file")],
        [make_member("/tmp/absolute-out")],
        [make_member("a/../../out/file")],
        [make_member("a/link", LINK, "../../out")],
        [make_member("link", LINK, "/etc")],
        [make_member("second", HARD, "../out/kept")],
        [make_member("second", HARD, "/etc/hostname")],
        [make_member("device", tarfile.CHRTYPE)],
        [make_member("pipe", tarfile.FIFOTYPE)],
        [make_member("deep/" * 900 + "file")],  # nothing that removes folders by recursion could remove it
        # below a link, in either order
        [make_member("d", LINK, "e"), make_member("d/file")],
        [make_member("e/x"), make_member("d", LINK, "e"), make_member("d/sub/file")],
        # links through links: each leads nowhere by its words alone
        [
            make_member("a/b/c/file"),
            make_member("a/b/c/up", LINK, "../../.."),
            make_member("out", LINK, "a/b/c/up/.."),
        ],
        [
            make_member("a/file"),
            make_member("first", LINK, "a/second/../../out"),
            make_member("a/second", LINK, "../a"),
        ],
        [make_member("l1", LINK, "a/.."), make_member("a/file"), make_member("b/l2", LINK, "../l1/../out")],
        # a second name of a link
        [make_member("l", LINK, "file"), make_member("second", HARD, "l")],
        [make_member("file"), make_member("second", HARD, "file/..")],
        [make_member("folder/file"), make_member("folder")],
        [make_member("x" * 300)],
    ],
    ids=range(19),
)
def test_what_leads_out_is_refused_and_leaves_no_link(
    members: list[tuple[tarfile.TarInfo, bytes]], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").write_text("kept")
    with pytest.raises(tarfile.TarError):
        unpack(members, tmp_path / "in")
    assert sorted(os.listdir(tmp_path / "out")) == ["kept"]
    assert not Path("/tmp/absolute-out").exists()
    assert not [each for each in (tmp_path / "in").rglob("*") if each.is_symlink()]


def test_what_stays_inside_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    tool, content = make_member("bin/tool")
    tool.mode = 0o6777
    members = [
        make_member("./", tarfile.DIRTYPE),
        (tool, content),
        make_member("a", tarfile.DIRTYPE),
        make_member("a/link", LINK, "../bin/tool"),
        make_member("latest", LINK, "bin"),
        make_member("through", LINK, "latest/tool"),
        make_member("dangling", LINK, "nowhere"),
        make_member("second", HARD, "bin/tool"),
        make_member("twice", LINK, "bin/tool"),
        make_member("twice"),
    ]
    unpack(members, folder)
    for name in ("bin/tool", "a/link", "through", "second"):
        assert (folder / name).read_bytes() == b"from the archive"
    assert (folder / "bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (folder / "bin/tool").samefile(folder / "second")
    assert (folder / "dangling").is_symlink()
    assert not (folder / "twice").is_symlink()
