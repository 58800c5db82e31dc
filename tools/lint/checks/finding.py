"""What a check has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found.

    check: its name, by which it can be left out
    line: counted from 1, in the new version; 0: the file as a whole
    severity: "error" stops a commit, "warning" is told
    """

    check: str
    path: str
    line: int
    message: str
    severity: Literal["error", "warning"] = "error"
