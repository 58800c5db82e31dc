"""This very program, as another process starts it: isolated, whoever's environment and folder it gets."""

from __future__ import annotations

import sys
from pathlib import Path


def find_own_command() -> list[str]:
    """The installed command by its full path, else this Python without what its environment adds to it."""
    beside = Path(sys.executable).with_name("patchwright")
    return [str(beside)] if beside.is_file() else [sys.executable, "-I", "-m", "patchwright"]
