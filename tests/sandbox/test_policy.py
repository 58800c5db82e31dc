"""Policy: what each mode allows, asks about and denies."""

from __future__ import annotations

import pytest

from sandbox.policy import Approval, Decision, Effect, EffectKind, Mode, Policy, strictest


@pytest.mark.parametrize(
    ("mode", "kind", "confined", "verdict"),
    [
        (Mode.READ_ONLY, "read", False, "allow"),
        (Mode.READ_ONLY, "none", False, "allow"),
        (Mode.READ_ONLY, "write", True, "deny"),
        (Mode.READ_ONLY, "git", True, "deny"),
        (Mode.READ_ONLY, "execute", True, "allow"),
        (Mode.READ_ONLY, "execute", False, "deny"),
        (Mode.WORKSPACE, "write", True, "allow"),
        (Mode.WORKSPACE, "git", True, "allow"),
        (Mode.WORKSPACE, "execute", True, "allow"),
        (Mode.WORKSPACE, "execute", False, "ask"),
        (Mode.WORKSPACE, "network", True, "ask"),
        (Mode.WORKSPACE, "destructive", True, "ask"),
        (Mode.FULL, "destructive", False, "allow"),
    ],
)
def test_the_verdict_of_each_mode(mode: Mode, kind: EffectKind, confined: bool, verdict: str) -> None:
    assert Policy(mode, Approval.ASK).decide(Effect(kind=kind), confined=confined).verdict == verdict


def test_what_would_ask_is_denied_when_nobody_is_there() -> None:
    assert (
        Policy(Mode.WORKSPACE, Approval.NEVER).decide(Effect(kind="network"), confined=True).verdict == "deny"
    )


def test_the_strictest_of_several_decisions_wins() -> None:
    allow, ask, deny = (Decision(verdict=v, reason=v) for v in ("allow", "ask", "deny"))
    assert strictest([allow, deny, ask]) is deny
    assert strictest([allow, ask]) is ask
