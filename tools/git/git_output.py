"""Exit status and output of a git command."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GitOutput:
    """Result of a git command."""

    returncode: int
    stdout: bytes
    stderr: str

    def split_fields(self) -> list[str]:
        """Split the output into its NUL-separated fields."""
        return [os.fsdecode(field) for field in self.stdout.split(b"\0")[:-1]]
