"""Files of a worktree on their way to a node: those that are in it, and no other ones."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

from packages.scale.children.parcel import pack_files


def test_only_what_is_in_the_folder_travels(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    (outside / "id_rsa").write_text("secret\n")
    for name in ("d", "inner", "same"):
        (folder / name).mkdir(parents=True)
        (folder / name / "id_rsa").write_text("public\n")
    shutil.rmtree(folder / "d")  # as an attempt may do it: git still lists the file
    (folder / "d").symlink_to(outside)
    shutil.rmtree(folder / "same")
    (folder / "same").symlink_to("inner")
    (folder / "run.sh").write_text("true\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "near").symlink_to("inner/id_rsa")
    (folder / "far").symlink_to("../outside/id_rsa")
    os.mkfifo(folder / "pipe")
    paths = [
        "d/id_rsa",
        "same/id_rsa",
        "inner/id_rsa",
        "run.sh",
        "near",
        "far",
        "pipe",
        "gone",
        "run.sh/x",
        "inner",
    ]
    pack_files(folder, paths, tmp_path / "packed.tgz")
    with tarfile.open(tmp_path / "packed.tgz") as archive:
        kinds = {each.name: (each.type, each.linkname, each.mode & 0o111) for each in archive}
        content = archive.extractfile("inner/id_rsa")
        assert content is not None
        assert content.read() == b"public\n"
    assert kinds == {
        "inner/id_rsa": (tarfile.REGTYPE, "", 0),
        "run.sh": (tarfile.REGTYPE, "", 0o111),
        "near": (tarfile.SYMTYPE, "inner/id_rsa", 0o111),
    }
    pack_files(folder, paths[::-1], tmp_path / "again.tgz")
    assert (tmp_path / "again.tgz").read_bytes() == (tmp_path / "packed.tgz").read_bytes()
