"""What the gateway asks before it runs an action, beside the policy: whether this is the time for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """refusal: why the action must not run now, "" if it may; note: goes to the model with what comes of it"""

    refusal: str = ""
    note: str = ""


class Guard(Protocol):
    """Knows from the log what has been done so far."""

    def check(self, call: str) -> Advice:
        """What to say to an action that has just been logged. call: its id"""
        ...
