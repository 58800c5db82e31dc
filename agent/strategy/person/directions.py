"""The person's directions to the attempts of a turn: guidance, and branches that are stopped.

They are events of the session's log, whoever appends them. A resumed turn decides again on each attempt: on one that
the log knows already with the directions that were given when it was decided on first, on others with all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import field, replace

from agent.children.child import Child
from agent.children.gather import finish_anyway
from agent.children.spec import ChildResult, ChildSpec
from agent.events import AttemptEvent, Event, GuidanceEvent, StopAttemptEvent
from sandbox.lazy_dataclass import dataclass

Direction = GuidanceEvent | StopAttemptEvent


@dataclass(slots=True)
class _Running:
    """An attempt at work. below: the attempts that it goes on from; turn: its child's"""

    child: Child
    below: Collection[int]
    turn: asyncio.Task[ChildResult]


@dataclass(slots=True)
class Directions:
    """All directions of one turn, in order, and the attempts that they reach.

    known: how many were given when each attempt of the log was decided on
    """

    given: list[Direction] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    _decided: dict[int, int] = field(default_factory=dict)
    _used: dict[int, int] = field(default_factory=dict)
    _running: dict[int, _Running] = field(default_factory=dict)

    def track_event(self, event: Event) -> None:
        """Process an event that was logged before the turn was resumed."""
        if isinstance(event, AttemptEvent):
            self.known[event.number] = event.directions
        elif isinstance(event, GuidanceEvent | StopAttemptEvent):
            self.given.append(event)

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged: attempts that run are told, or end."""
        if not isinstance(event, GuidanceEvent | StopAttemptEvent):
            return
        self.given.append(event)
        for number, running in list(self._running.items()):
            if isinstance(event, StopAttemptEvent):
                if event.attempt == number or event.attempt in running.below:
                    running.turn.cancel()
            elif event.attempt == number:
                running.child.steer(event.text)

    def list_stopped(self, number: int) -> frozenset[int]:
        """Return the attempts that are stopped, for the decision on attempt `number`."""
        return frozenset(
            each.attempt for each in self._list_known(number) if isinstance(each, StopAttemptEvent)
        )

    def list_guidance(self, number: int, line: Collection[int]) -> list[str]:
        """Return the person's words for the attempts of a line, for the decision on attempt `number`."""
        return _select_words(self._list_known(number), line)

    def has_new_guidance(self, number: int, after: int) -> bool:
        """Whether `after` was given words that no attempt was planned with, for the decision on attempt `number`."""
        return len(self.list_guidance(number, [after])) > self._used.get(after, 0)

    def use_guidance(self, number: int, after: int) -> None:
        """Record that the words for `after` are used, or cannot be, in the decision on attempt `number`."""
        self._used[after] = len(self.list_guidance(number, [after]))

    def count_known(self, number: int) -> int:
        """Return how many directions the decision on an attempt knew, for the log."""
        return self._decided.get(number, self.known.get(number, 0))

    def is_stopped(self, number: int, below: Collection[int] = ()) -> bool:
        """Whether an attempt, or one that it goes on from, is stopped now, whenever it was decided on."""
        return any(
            isinstance(each, StopAttemptEvent) and (each.attempt == number or each.attempt in below)
            for each in self.given
        )

    def extend_spec(self, number: int, spec: ChildSpec, below: Collection[int]) -> ChildSpec:
        """Return the spec of an attempt with the words that it was not decided on with: those for itself, of before a
        kill, and those for the attempts that it goes on from."""
        late = self.given[self.count_known(number) :]
        words = [*_select_words(self.given, [number]), *_select_words(late, below)]
        return replace(spec, prompt=f"{spec.prompt}\n\n{word_guidance(words)}") if words else spec

    async def run_child(self, number: int, child: Child, below: Collection[int]) -> ChildResult | None:
        """Let a child take its turn, reached by directions meanwhile; None if the person stopped it."""
        if self.is_stopped(number, below):
            return None
        turn = asyncio.create_task(child.run())
        self._running[number] = _Running(child, below, turn)
        try:
            return await asyncio.shield(turn)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if turn.cancelled() and task is not None and not task.cancelling():
                return None
            turn.cancel()
            await finish_anyway(asyncio.ensure_future(asyncio.wait([turn])))
            raise
        finally:
            del self._running[number]

    def _list_known(self, number: int) -> Sequence[Direction]:
        count = self._decided[number] = self.known.get(number, len(self.given))
        return self.given[:count]


def word_guidance(words: Sequence[str]) -> str:
    """Return the person's words as a part of a prompt."""
    return "\n".join(["The user adds to this:", *words])


def _select_words(given: Sequence[Direction], numbers: Collection[int]) -> list[str]:
    return [each.text for each in given if isinstance(each, GuidanceEvent) and each.attempt in numbers]
