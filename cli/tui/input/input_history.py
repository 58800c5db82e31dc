"""Input history across sessions, in a file that only the user can read."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from prompt_toolkit.history import FileHistory

from agent.app_dirs import make_private_folder


class PrivateHistory(FileHistory):
    """prompt_toolkit's history file, created with mode 0600, without keys and tokens."""

    def __init__(self, path: Path) -> None:
        make_private_folder(path.parent)
        with contextlib.suppress(OSError):  # a read-only home: the session works, its history is not kept
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            path.chmod(0o600)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Add an entry, redacted; an OSError (a full disk) loses the entry, not the session."""
        from sandbox.secrets.child_environment import redact

        with contextlib.suppress(OSError):
            super().store_string(redact(string))
