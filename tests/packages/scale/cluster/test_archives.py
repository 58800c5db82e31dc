"""Archives between nodes: what they hold stays in the folder that they are unpacked to, and within a size."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from packages.scale.cluster import archives
from packages.scale.cluster.archives import pack_folder, unpack_folder
from sandbox.errors import UserError


def pack(packed: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(packed, "w:gz") as archive:
        for each in members:
            archive.addfile(each, io.BytesIO(bytes(each.size)))
    return packed


def make_member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, size
    return member


def test_a_folder_comes_back_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/run.sh").write_text("true\n")
    (folder / "sub/run.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/run.sh")
    pack_folder(folder, tmp_path / "packed.tgz")
    unpack_folder(tmp_path / "packed.tgz", tmp_path / "unpacked")
    assert (tmp_path / "unpacked/link").read_text() == "true\n"
    assert (tmp_path / "unpacked/sub/run.sh").stat().st_mode & 0o100


def test_an_archive_leads_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, member in enumerate(
        (
            make_member("../out"),
            make_member("link", tarfile.SYMTYPE, str(tmp_path)),
            make_member("link", tarfile.SYMTYPE, "../.."),
            make_member("pipe", tarfile.FIFOTYPE),
        )
    ):
        packed = pack(tmp_path / f"{number}.tgz", member)
        with pytest.raises(UserError, match=f"archive '{number}.tgz'"):
            unpack_folder(packed, tmp_path / f"unpacked-{number}")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(archives, "LARGEST", 1 << 10)
    packed = pack(tmp_path / "large.tgz", make_member("a", size=600), make_member("b", size=600))
    with pytest.raises(UserError, match="holds more than"):
        unpack_folder(packed, tmp_path / "large")
    assert not (tmp_path / "large/a").exists()
