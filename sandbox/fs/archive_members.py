"""Members of a stranger's archive: inside of the folder that it is unpacked to, and leading nowhere else."""

from __future__ import annotations

import posixpath
import tarfile
from pathlib import Path


def extract_members(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract what lies inside of `folder` and leads nowhere else. Raises tarfile.TarError for all else.

    Python's own filter does that from 3.11.4 on; before, the members are checked here.
    """
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, filter="data")
        return
    for member in tar.getmembers():
        check_member(member)
    tar.extractall(folder)


def check_member(member: tarfile.TarInfo) -> None:
    """Raise tarfile.TarError for a device, or for a path or a link that leads out of the folder."""
    paths = [member.name]
    if member.issym():
        paths.append(posixpath.join(posixpath.dirname(member.name), member.linkname))
    elif member.islnk():
        paths.append(member.linkname)
    elif not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is no file, folder or link")
    for path in map(posixpath.normpath, paths):
        if path.startswith("/") or path.split("/")[0] == "..":
            raise tarfile.TarError(f"{member.name!r} leads out of the folder")
