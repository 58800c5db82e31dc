"""Phases of a turn: explore, plan, edit, verify. Each has a guidance and withheld effects.

PoAct (Yuan et al. 2025, arXiv 2501.07054): a controller that picks the policy and narrows the actions step by
step. Here the controller is a table of states, and the tools offered to the model stay the same, so that
providers' caches stay valid: the gateway refuses withheld effects, with the phase's guidance as the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import EffectKind

Name = Literal["explore", "plan", "edit", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase. guidance: a line for the model; withheld: kinds of effect that have to wait"""

    guidance: str
    withheld: frozenset[EffectKind] = frozenset()


PHASES: Mapping[Name, Phase] = {
    "explore": Phase(
        guidance="look first: search and read what the task touches",
        withheld=frozenset({"write", "git"}),
    ),
    "plan": Phase(
        guidance="decide what to change and how to check it, then change it", withheld=frozenset({"git"})
    ),
    "edit": Phase(
        guidance="make the change, as small as it can be, then run the tests", withheld=frozenset({"git"})
    ),
    "verify": Phase(guidance="if the tests pass, commit or finish; if not, mend the code"),
}

_NEXT: Mapping[tuple[Name, str], Name] = {
    ("explore", "read"): "plan",
    ("explore", "create"): "edit",
    ("explore", "edit"): "edit",
    ("plan", "create"): "edit",
    ("plan", "edit"): "edit",
    ("edit", "tests-passed"): "verify",
    ("edit", "tests-failed"): "verify",
    ("edit", "untestable"): "verify",
    ("verify", "create"): "edit",
    ("verify", "edit"): "edit",
}
"""Transitions: (phase, event) → next phase; any other event changes nothing."""


class PhaseTracker:
    """The current phase of a turn."""

    def __init__(self) -> None:
        self.name: Name = "explore"

    def advance_phase(self, name: str) -> bool:
        """Apply an event; return whether it changed the phase. A prompt resets it."""
        before = self.name
        self.name = "explore" if name == "prompt" else _NEXT.get((self.name, name), self.name)
        return self.name != before

    def explain_refusal(self, effect: EffectKind) -> str:
        """Return the reason to refuse an effect that has to wait; "" for one that does not."""
        phase = PHASES[self.name]
        return f"this is the {self.name} phase: {phase.guidance}" if effect in phase.withheld else ""

    @property
    def guidance(self) -> str:
        return f"[{self.name}: {PHASES[self.name].guidance}]"
