"""First steps of a process that we start for a session or a trial, before anything heavy is imported."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path


def take_pipes() -> tuple[int, int]:
    """Return the descriptors of standard input and output, which from here on lead nowhere and to standard error.

    So nothing else that runs in this process reads the parent's lines, or writes among ours.
    """
    gc.disable()
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # as the launcher does
    restore_prefix()
    read_end, write_end = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return read_end, write_end


def restore_prefix() -> None:
    """Set `sys.prefix` to the virtual environment of this Python, as `site` does, which `-S` leaves out.

    The sandbox shows that environment to commands, and protects it from them.
    """
    folder = Path(sys.executable).parent.parent
    if (folder / "pyvenv.cfg").is_file():
        sys.prefix = sys.exec_prefix = str(folder)
