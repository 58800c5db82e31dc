"""Check of the contents that an action would give to files, before an edit and after a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """A change of one file: bytes before and after, None for no file. path: in the workspace, links followed"""

    path: str
    before: bytes | None
    after: bytes | None


class ContentGuard(Protocol):
    """Judges changes by their contents. The running action is `current_action`."""

    def check_writes(self, changes: Sequence[FileContents]) -> str:
        """Return why none of the files may be written, "" if all may."""
        ...

    def check_command(self, changes: Sequence[FileContents]) -> Mapping[str, str]:
        """Return the changes of a command that have to be undone: reasons by path."""
        ...
