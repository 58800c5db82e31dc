"""Effect of an action: the paths, hosts and command line it concerns, as far as known before it runs."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass

EffectKind = Literal["none", "read", "write", "execute", "network", "git", "destructive", "mcp", "unknown"]
"""Effects of kind "unknown" were not understood: ask about them, never treat them as harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Effect of an action, as far as known before it runs.

    paths: relative to the workspace; absolute when `outside`
    argv: the command line, for kind "execute"
    outside: the paths lie outside the workspace, or are protected inside it
    server_tool: for kind "mcp", the tool as `server.tool`
    call: for kind "mcp" all arguments of the tool, for kind "network" the whole address or query
    reason: the cause, as a clause; "" when the kind is sufficient
    is_vague: a read of a place that is not known before it runs
    glob: absolute pattern of names in one folder that such a place certainly matches, "" for anywhere
    change: what would be written, as a unified diff, for a person who is asked; "" if it is not known
    """

    kind: EffectKind
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    outside: bool = False
    server_tool: str = ""
    call: str = ""
    reason: str = ""
    change: str = ""
    is_vague: bool = False
    glob: str = ""
