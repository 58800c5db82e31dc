"""Command line that starts this program in another process: isolated from its environment and folder."""

from __future__ import annotations

import sys
from pathlib import Path


def find_own_command() -> list[str]:
    """Return the installed command by its full path, else this Python without additions from its environment."""
    beside = Path(sys.executable).with_name("patchwright")
    return [str(beside)] if beside.is_file() else [sys.executable, "-I", "-m", "patchwright"]
