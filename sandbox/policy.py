"""Modes, approval and decisions: what an effect may do before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

EffectKind = Literal["none", "read", "write", "execute", "network", "git", "destructive", "unknown"]
"""What is "unknown" was not understood: it is to be asked about, never taken for harmless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an action would touch, as far as that is known before it runs.

    paths: relative to the workspace; absolute when `outside`
    argv: the command line, for kind "execute"
    outside: the paths lie outside the workspace, or are protected inside it
    reason: why this is so, as a clause; "" when the kind says it all
    """

    kind: EffectKind
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    outside: bool = False
    reason: str = ""


class Mode(StrEnum):
    """How far a session may reach."""

    READ_ONLY = "read-only"
    WORKSPACE = "workspace"
    FULL = "full"


class Approval(StrEnum):
    """Who answers when the policy says "ask"."""

    ASK = "ask"
    AUTO = "auto"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one action and why, in words that can be shown to a person or a model."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str


class Approver(Protocol):
    """Someone who can be asked. A session without a terminal has none."""

    async def ask(self, tool: str, effect: Effect, reason: str) -> Decision:
        """Return a decision whose verdict is "allow" or "deny"."""
        ...


class Policy:
    """Mode and approval of a session. Only the user changes them, never the repository."""

    def __init__(self, mode: Mode, approval: Approval) -> None:
        self.mode = mode
        self.approval = approval

    def decide(self, effect: Effect, *, confined: bool) -> Decision:
        """Judge one effect. `confined`: the kernel enforces the bounds of commands."""
        if effect.kind in ("none", "read"):
            return Decision(verdict="allow", reason="reads only")
        if self.mode is Mode.READ_ONLY:
            if effect.kind == "execute" and confined:
                return Decision(verdict="allow", reason="runs without write access")
            return Decision(verdict="deny", reason="the session is in read-only mode")
        if self.mode is Mode.FULL:
            return Decision(verdict="allow", reason="full mode")
        if effect.kind in ("write", "git"):
            return Decision(verdict="allow", reason="inside the workspace")
        if effect.kind == "execute" and confined:
            return Decision(verdict="allow", reason="confined to the workspace")
        if effect.kind == "execute":
            return self._unconfined()
        return self._ask(f"{effect.kind} leaves the workspace")

    def _unconfined(self) -> Decision:
        """No kernel confinement here: a person is asked; with nobody to ask, the user's choice to run stands."""
        if self.approval is Approval.ASK:
            return Decision(verdict="ask", reason="commands are not confined on this machine")
        return Decision(verdict="allow", reason="unconfined, as warned")

    def _ask(self, reason: str) -> Decision:
        verdict: Literal["ask", "deny"] = "deny" if self.approval is Approval.NEVER else "ask"
        return Decision(verdict=verdict, reason=reason)


def strictest(decisions: Sequence[Decision]) -> Decision:
    """The most careful of several decisions (deny over ask over allow)."""
    order = ("allow", "ask", "deny")
    return max(decisions, key=lambda d: order.index(d.verdict))
