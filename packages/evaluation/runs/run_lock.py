"""Locks of runs, and of their scratch folders, so that those of killed ones are known and removed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder

LOCK = ".lock"
"""File of a scratch folder that its run holds."""


@contextmanager
def hold_lock(place: Path, run: str) -> Iterator[None]:
    """Let no other process work on a run meanwhile. Raises UserError if one does."""
    create_private_folder(place.parent)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_lock(descriptor):
            raise UserError(
                Fault.USAGE, f"run {run} is at work in another process", "Wait for it, or end it."
            )
        yield
    finally:
        os.close(descriptor)


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the scratch folders of runs whose process was killed. Blocking."""
    for place in parent.glob(f"*/{LOCK}"):
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # removed meanwhile
            continue
        try:
            if _try_lock(descriptor):
                shutil.rmtree(place.parent, ignore_errors=True)
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it
        return False
    return True
