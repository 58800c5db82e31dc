"""Folders as archives between machines: nothing of one leaves the folder that it is unpacked to."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.archive_members import BoundedTarInfo, extract_members, iterate_members
from sandbox.fs.private_files import create_private_folder

LARGEST = 8 << 30
"""Bytes of an unpacked archive: a base of a very large repository."""

_LEVEL = 1
"""Of the compression: an archive is packed once."""


def pack_folder(folder: Path, packed: Path, files: Sequence[str] | None = None) -> None:
    """Write a folder as an archive. Blocking. files: those of a stranger's folder, looked at one by one; None: all"""
    with tarfile.open(packed, "w:gz", compresslevel=_LEVEL) as archive:
        if files is None:
            archive.add(folder, ".")
            return
        for each in files:
            archive.add(folder / each, each, recursive=False)


def unpack_folder(packed: Path, folder: Path) -> None:
    """Write the files of an archive below a new folder: none beside it, no link that leads out of it, no device, no
    owner. Blocking. Raises UserError."""
    create_private_folder(folder)
    try:
        with tarfile.open(packed, "r:gz", tarinfo=BoundedTarInfo) as archive:
            for _ in iterate_members(archive, LARGEST):
                pass
            extract_members(archive, folder)
    except (tarfile.TarError, EOFError, OSError, zlib.error, RecursionError) as error:
        raise UserError(Fault.CONFIGURATION, f"archive {packed.name!r}: {error}") from None
