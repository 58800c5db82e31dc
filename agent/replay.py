"""A session once more from its log: every request as it was sent, without asking anybody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agent.context.facts import Facts
from agent.context.ledger import ledger
from agent.context.projection import Projection
from agent.context.replay import undone
from agent.events import Compaction, Event, MessageEvent
from agent.images import load
from agent.model.base import Request
from agent.record import digest, tools_of

PARTS = ("system prompt", "tools", "messages")
"""What a digest is made of, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a model. number: from 1; recorded: the digest in the log, "" in logs that have none yet"""

    number: int
    request: Request
    reply: MessageEvent
    recorded: str

    @property
    def differs(self) -> list[str]:
        """Which parts of the request are not what was sent then."""
        if not self.recorded:
            return []
        pairs = zip(PARTS, self.recorded.split("."), digest(self.request).split("."), strict=False)
        return [name for name, then, now in pairs if then != now]


def steps(events: Iterable[Event], folder: Path | None = None) -> Iterator[Step]:
    """Every call of a model in one branch of a log, in order, with the request that led to it.

    folder: of the session, where the pictures of its prompts lie
    """
    projection, facts = Projection(()), Facts()
    if folder is not None:
        projection.picture = partial(load, folder)
    seen: list[Event] = []
    number = 0
    for event in events:
        if isinstance(event, MessageEvent) and event.request:
            number += 1
            yield _step(number, event, projection, facts)
        seen.append(event)
        if isinstance(event, Compaction) and event.undoes:
            projection.clear(undone(each for each in seen if isinstance(each, Compaction)))
            for each in seen:
                projection.add(each)
        else:
            projection.add(event)
        facts.see(event)


def _step(number: int, event: MessageEvent, projection: Projection, facts: Facts) -> Step:
    record = event.request
    if (tools := tools_of(record)) is not None:
        projection.tools = tools
    state = ledger(
        facts,
        shortened=projection.prompts_shortened,
        whole_from=projection.whole_from,
        processes=[str(each) for each in record.get("running", ())],
        left=str(record.get("left", "")),
    )
    request = projection.request(state=state)
    request = replace(request, max_output=record.get("max_output"))
    return Step(number=number, request=request, reply=event, recorded=str(record.get("digest", "")))
