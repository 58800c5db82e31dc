"""The artifact store: full outputs, kept beside the session log and named by references like `out:12`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.secrets.child_environment import redact_bytes, redact_file

_REF = re.compile(r"^out:([0-9]+)$")


class Artifacts:
    """Numbered files in one folder, mode 0600, never changed once written. Secrets are redacted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next: int | None = None

    def save(self, content: bytes) -> str:
        """Store `content` and return its reference."""
        ref, path = self._claim_reference()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(redact_bytes(content))
        return ref

    def adopt(self, spill: Path) -> str:
        """Move a finished file (a command's spilled output) into the store and return its reference."""
        redact_file(spill)
        ref, path = self._claim_reference()
        try:
            os.replace(spill, path)
        except OSError:  # another file system: copy
            write_private_file(path, spill.read_bytes())
            spill.unlink(missing_ok=True)
        return ref

    def find_file(self, ref: str) -> Path | None:
        """Return the file of a reference, None if there is no such artifact."""
        match = _REF.match(ref.strip())
        if not match:
            return None
        path = self.folder / f"out-{match[1]}"
        return path if path.exists() else None

    def read(self, ref: str) -> bytes | None:
        """Return the content of an artifact, None if there is no such one."""
        path = self.find_file(ref)
        return path.read_bytes() if path is not None and path.is_file() else None

    def _claim_reference(self) -> tuple[str, Path]:
        if self._next is None:
            create_private_folder(self.folder)
            taken = [int(name[4:]) for name in os.listdir(self.folder) if name[4:].isdigit()]
            self._next = max(taken, default=0) + 1
        number, self._next = self._next, self._next + 1
        return f"out:{number}", self.folder / f"out-{number}"
