"""Check of an action's timing, made by the gateway in addition to the policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """refusal: why the action must not run now, "" if it may; note: appended to the observation for the model"""

    refusal: str = ""
    note: str = ""


class Guard(Protocol):
    """Checks an action against the actions logged so far."""

    def check(self, call: str) -> Advice:
        """Return advice on an action that has just been logged. call: its id"""
        ...
