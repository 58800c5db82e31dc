"""Replay of a session from its log: every request as it was sent, without model calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.context.ledger.session_facts import Facts
from agent.context.ledger.state_ledger import render_ledger
from agent.context.projection.projection import Projection
from agent.context.restore.projection_replay import find_undone
from agent.events import Compaction, Event, MessageEvent
from agent.model.protocol import Request
from agent.session.images import load_image
from agent.session.request_record import digest_request, parse_recorded_tools
from sandbox.lazy_dataclass import dataclass

PARTS = ("system prompt", "tools", "messages")
"""Parts of a digest, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStep:
    """One model call. number: from 1; recorded: the digest in the log, "" in old logs without one"""

    number: int
    request: Request
    reply: MessageEvent
    recorded: str

    @property
    def changed_parts(self) -> list[str]:
        """Names of the parts of the request that differ from those sent then."""
        if not self.recorded:
            return []
        pairs = zip(PARTS, self.recorded.split("."), digest_request(self.request).split("."), strict=False)
        return [name for name, then, now in pairs if then != now]


def replay_steps(events: Iterable[Event], folder: Path | None = None) -> Iterator[ReplayedStep]:
    """Yield every model call in one branch of a log, in order, with its request.

    folder: of the session, with the images of its prompts
    """
    projection, facts = Projection(()), Facts()
    if folder is not None:
        projection.picture = partial(load_image, folder)
    seen: list[Event] = []
    number = 0
    for event in events:
        if isinstance(event, MessageEvent) and event.request:
            number += 1
            yield _build_step(number, event, projection, facts)
        seen.append(event)
        if isinstance(event, Compaction) and event.undoes:
            projection.clear(find_undone(each for each in seen if isinstance(each, Compaction)))
            for each in seen:
                projection.add_event(each)
        else:
            projection.add_event(event)
        facts.handle_event(event)


def _build_step(number: int, event: MessageEvent, projection: Projection, facts: Facts) -> ReplayedStep:
    record = event.request
    if (tools := parse_recorded_tools(record)) is not None:
        projection.tools = tools
    state = render_ledger(
        facts,
        shortened=projection.prompts_shortened,
        whole_from=projection.verbatim_from,
        processes=[str(each) for each in record.get("running", ())],
        left=str(record.get("left", "")),
    )
    request = projection.build_request(state=state)
    request = replace(request, max_output=record.get("max_output"))
    return ReplayedStep(number=number, request=request, reply=event, recorded=str(record.get("digest", "")))
