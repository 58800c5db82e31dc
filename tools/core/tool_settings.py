"""Settings of a session that tools read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.policy.trust import Trusts, trust_nothing


@dataclass(slots=True, kw_only=True)
class ToolSettings:
    """Settings that tools read.

    test_command: command of the tests if the user gave it, else "" (it is detected)
    secrets_allowed: patterns of paths whose new secrets may be committed (fixtures)
    refuse_syntax_errors: an edit that introduces one is rejected; else it is applied, and reported
    lint: report new findings of the project's own linter after an edit
    unreadable: patterns of the user's rules that deny reading
    trusts: the user's consent to programs that the repository would run outside the sandbox
    kernel_memory: bytes of private memory of a kernel; an allocation beyond it raises MemoryError there
    kept: by scope ("project", "user") the folder of functions saved for later sessions; empty to save none
    cache: Patchwright's folder for byte code, coverage and reports; outside the workspace
    shared: Patchwright's folder for data shared by all sessions; `cache` if there is none
    """

    test_command: str = ""
    shell_timeout: float = 120.0
    kernel_memory: int = 4 << 30
    kept: Mapping[str, Path] = field(default_factory=dict)
    test_timeout: float = 600.0
    secrets_allowed: tuple[str, ...] = ()
    refuse_syntax_errors: bool = False
    lint: bool = True
    unreadable: tuple[str, ...] = ()
    trusts: Trusts = trust_nothing
    cache: Path
    shared: Path | None = None
