"""Directions that a person gives to attempts while a story is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agent.events import AttemptEvent, CandidateEvent, ChildProgress, Event
from agent.strategy.person.directions import Direction
from agent.turn.runtime import Runtime


def direct(*directions: Direction, when: Callable[[Event], bool]) -> Callable[[Runtime], None]:
    """Give directions once, as a person at another terminal does, after the first event that fits."""

    def watch(runtime: Runtime) -> None:
        given: list[Event] = []

        def handle(event: Event) -> None:
            if not given and when(event):
                given.append(event)
                for each in directions:
                    asyncio.get_running_loop().call_soon(runtime.session.append, each)

        runtime.session.subscribe(handle)

    return watch


def ends(number: int) -> Callable[[Event], bool]:
    """Whether an attempt has ended."""
    return lambda event: isinstance(event, CandidateEvent) and event.attempt == number


def says(kind: str, number: int) -> Callable[[Event], bool]:
    """Whether the child of an attempt has an event of a kind."""
    children: dict[str, int] = {}

    def fits(event: Event) -> bool:
        if isinstance(event, AttemptEvent):
            children[event.child] = event.number
        is_progress = isinstance(event, ChildProgress) and event.event.get("kind") == kind
        return is_progress and children.get(event.child) == number  # type: ignore[attr-defined]

    return fits
