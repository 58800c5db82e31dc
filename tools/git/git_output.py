"""Output of a git command."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOutput:
    """What a git command said."""

    returncode: int
    stdout: bytes
    stderr: str

    def split_fields(self) -> list[str]:
        """The NUL-separated fields of the output."""
        return [os.fsdecode(field) for field in self.stdout.split(b"\0")[:-1]]
