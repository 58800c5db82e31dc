"""Settings of what a session may touch."""

from __future__ import annotations

from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval, Mode
from sandbox.policy.rules import NO_RULES, Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """What a session may touch, and what confines its commands.

    approval: None: `auto` where the kernel confines commands, else `ask`
    sandbox: backend that confines commands; container_image: of the container, for that backend
    resident_sandbox: bubblewrap is started once for commands that repeat, not for each
    network: hosts that sandboxed commands reach (`pypi.org`, `*.npmjs.org:443`); none when empty
    visible_paths: files and folders outside the workspace (`/data/models`, `~/tools`) that commands may read
    rules: those of the user's `permissions`, and those stored by "always"
    """

    mode: Mode = Mode.WORKSPACE
    approval: Approval | None = None
    sandbox: str = "auto"
    container_image: str = ""
    resident_sandbox: bool = True
    network: list[str] = field(default_factory=list)
    visible_paths: list[str] = field(default_factory=list)
    rules: Rules = NO_RULES
