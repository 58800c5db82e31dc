"""Nothing of an archive leaves its folder, whatever Python unpacks it."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
from pathlib import Path

import pytest

from packages.scale.cluster.archives import unpack_folder
from sandbox.errors import UserError
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


def write_header(kind: bytes, size: bytes, name: bytes = b"file") -> bytes:
    """Return a header of 512 bytes whose size is written as it is given."""
    head = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    head[0:100], head[124:136], head[156:157] = name.ljust(100, b"\0"), size.rjust(12, b"\0"), kind
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def write_extended(fields: bytes) -> bytes:
    """Return a header of extended fields."""
    return write_header(tarfile.XHDTYPE, b"%011o\0" % len(fields)) + fields.ljust(512, b"\0")


BACK = (-512 & ((1 << 88) - 1)).to_bytes(11, "big")
FLOODS = {
    "a size below zero": write_header(b"0", b"\xff" + BACK) * 3,
    "the same in extended fields": write_extended(b"14 size=-1024\n") + write_header(b"0", b"0") * 3,
    "extended fields of a gigabyte": write_header(tarfile.XHDTYPE, b"%011o\0" % (1 << 30)),
    "a name of a gigabyte": write_header(tarfile.GNUTYPE_LONGNAME, b"%011o\0" % (1 << 30)),
    "headers for headers": (
        write_header(tarfile.GNUTYPE_LONGNAME, b"%011o\0" % 8) + b"name".ljust(512, b"\0")
    )
    * 3_000,
    "extended fields for extended fields": write_extended(b"11 path=ab\n") * 3_000,
    "a thousand zeros of a file of 9 GB": write_header(b"0", b"%011o\0" % (8 << 30)) * 2,
}


@pytest.mark.parametrize("flood", FLOODS)
def test_headers_that_keep_a_reader_busy_end_it(flood: str, tmp_path: Path) -> None:
    packed = tmp_path / "a.tar.gz"
    with gzip.open(packed, "wb", 1) as file:
        file.write(FLOODS[flood] + bytes(2 << 20))
    started = time.monotonic()
    with pytest.raises(UserError):
        unpack_folder(packed, tmp_path / "in")
    assert time.monotonic() - started < 5
    assert not [each for each in (tmp_path / "in").rglob("*") if each.is_symlink()]
