"""Files of a repository, as listed by git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sandbox.errors import UserError
from sandbox.process.own_programs import build_search_path, require_own_program

MOST_FILES = 200_000
"""Maximum of listed files: beyond that, matching would be slower than typing."""


def list_files(root: Path) -> list[str]:
    """Return files that git tracks or would track; outside a repository those of a bounded walk."""
    try:
        done = subprocess.run(
            # A file system monitor named by the repository would be started to report changes.
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
    ):  # no git, or a file system that hangs: walk the folder
        return _walk_folder(root)
    if done.returncode:
        return _walk_folder(root)
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})[:MOST_FILES]


def _walk_folder(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names)]  # noqa: PTH118
        if len(found) > MOST_FILES // 20:  # perhaps a home directory: stop early
            break
    return found
