"""The files of a repository, as git sees them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sandbox.errors import UserError
from sandbox.process.own_programs import build_search_path, require_own_program

MOST_FILES = 200_000
"""Files listed at most: beyond that, matching would lag behind the typing."""


def list_files(root: Path) -> list[str]:
    """Files that git tracks or would track; outside a repository those of a bounded walk."""
    try:
        done = subprocess.run(
            # A monitor that the repository names would be started to say what has changed.
            [
                require_own_program("git", root),
                "-C",
                str(root),
                "-c",
                "core.fsmonitor=false",
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=5,
            env={**os.environ, "PATH": build_search_path(root)},
            check=False,
        )
    except (
        OSError,
        UserError,
        subprocess.TimeoutExpired,
    ):  # no git, or a file system that hangs: walk what is near
        return _walk_folder(root)
    if done.returncode:
        return _walk_folder(root)
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})[:MOST_FILES]


def _walk_folder(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names)]  # noqa: PTH118
        if len(found) > MOST_FILES // 20:  # a home directory, perhaps: enough is enough
            break
    return found
