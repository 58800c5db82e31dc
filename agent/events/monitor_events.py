"""Events of monitors that keep a state of their own."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from agent.events.event_base import Event
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class ChainEvent(Event):
    """A step that chains of actions are made of, or a chain that a person approved.

    links: (number, step, text) of the chain up to here, oldest first
    label, paths: origin of the data that these paths now hold; mark: what was done, apart from data
    approved: key of the approved chain
    """

    kind: Literal["chain"] = "chain"
    links: list[tuple[int, int, str]] = field(default_factory=list)
    label: str = ""
    paths: list[str] = field(default_factory=list)
    mark: str = ""
    approved: str = ""
