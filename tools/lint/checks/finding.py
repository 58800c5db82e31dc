"""A finding of a check."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    check: name of the check, for skipping it
    line: from 1, in the new version; 0: the file as a whole
    severity: "error" stops a commit, "warning" is only reported
    """

    check: str
    path: str
    line: int
    message: str
    severity: Literal["error", "warning"] = "error"
