"""The artifact store: full outputs, kept beside the session log and named by references like `out:12`."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.child_environment import redact_bytes

_REF = compile_lazily(r"^out:([0-9]+)$")


OUTPUT_BUDGET = 256 << 20
"""Bytes of a session's artifacts beyond which no further long output is kept: a runaway loop must not fill the disk."""


class BudgetSpent(OSError):
    """The long outputs of a session fill their budget."""


class Artifacts:
    """Numbered files in one folder, mode 0600, never changed once written. Secrets are redacted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next: int | None = None
        self._used = 0

    def remove_leftovers(self) -> None:
        """Remove what a killed process left half-written here and in the session's folder."""
        from sandbox.process.output_capture import remove_abandoned_spills

        remove_abandoned_spills(self.folder)
        remove_abandoned_spills(self.folder.parent)

    def save(self, content: bytes) -> str:
        """Store `content` and return its reference."""
        ref, path = self._claim_reference()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            self._used += file.write(redact_bytes(content))
        return ref

    def adopt(self, spill: Path) -> str:
        """Move a command's spilled output, which is redacted, into the store and return its reference. Raise
        BudgetSpent, with the file removed, when there is no room for it."""
        ref, path = self._claim_reference()
        size = spill.stat().st_size
        if self._used + size > OUTPUT_BUDGET:
            spill.unlink(missing_ok=True)
            raise BudgetSpent
        self._used += size
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
            with os.scandir(self.folder) as entries:
                taken = {int(each.name[4:]): each for each in entries if each.name[4:].isdigit()}
            self._used = sum(each.stat().st_size for each in taken.values())
            self._next = max(taken, default=0) + 1
        number, self._next = self._next, self._next + 1
        return f"out:{number}", self.folder / f"out-{number}"
