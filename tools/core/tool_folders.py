"""Patchwright's own folders that tools use; all are outside the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFolders:
    """Folders of one session's tools.

    cache: byte code, coverage and reports of this session
    shared: data shared by all sessions; `cache` if there is none
    kept: what servers of the user's keep between sessions of a project, one folder each; below `cache` if there is none
    saved_functions: by scope ("project", "user") the functions saved for later sessions; empty to save none
    """

    cache: Path
    shared: Path | None = None
    kept: Path | None = None
    saved_functions: Mapping[str, Path] = field(default_factory=dict)

    @property
    def reports(self) -> Path:
        """Folder in which test runners write, one folder a run."""
        return self.cache / "reports"
