"""Parts of a session that no first request needs: each is built, and its modules are imported, when it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from agent.events import Event, Prompt, SessionStart, Signal, SnapshotEvent, Steer, UndoEvent
from agent.session.log import Session
from agent.turn.turn_start import TurnStart
from sandbox.deferred import defer, find_built
from sandbox.errors import UserError
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.context.projection.projection import Projection
    from agent.context.recall_index import RecallIndex
    from agent.model.protocol import Model
    from agent.session_settings import When
    from agent.turn.auto_commit import Act, Committer
    from agent.turn.side_calls import HasSideCalls, PastSummaries, SideCalls
    from agent.turn.turn_end import TurnConclusion
    from agent.verify.weakened_tests import WeakenedTests
    from tools.changes.concurrent_changes import ConcurrentChanges
    from tools.core.gateway import Gateway
    from tools.kernel.kernel_protocol import Kernel

EARLY = (SessionStart, Prompt, Signal, Steer)
"""Events before a first reply."""


T = TypeVar("T")


class Closable(Protocol):
    async def close(self) -> None: ...


class LateFollower(Generic[T]):
    """Builds a part when it is first used, or with the first reply, and hands it the events so far.

    part: stands for it until then
    """

    def __init__(
        self,
        build: Callable[[], T],
        hand_event: Callable[[T, Event], None],
        early: tuple[type[Event], ...] = EARLY,
        **known: object,
    ) -> None:
        """early: events that need not be handled at once; known: see `defer`"""
        self._build, self._hand_event, self._early = build, hand_event, early
        self._events: list[Event] = []
        self._is_building = False
        self.part: T = defer(self._build_part, **known)

    @property
    def built(self) -> T | None:
        """The part, None while it is not built."""
        return find_built(self.part)

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        if self._is_building or (self.built is None and isinstance(event, self._early)):
            self._events.append(event)
        else:
            self._hand_event(self.part, event)

    def _build_part(self) -> T:
        self._is_building = True
        try:
            part = self._build()
            for event in self._events:  # what it logs meanwhile comes last
                self._hand_event(part, event)
        finally:
            self._is_building = False
        self._events.clear()
        return part


def build_conclusion(start: TurnStart | None, **parts: Any) -> TurnConclusion:
    """Build the conclusion of a session's turns, the present one begun. parts: see `TurnConclusion`"""
    from agent.turn.turn_end import TurnConclusion

    conclusion = TurnConclusion(**parts)
    if start is not None:
        conclusion.begin_turn(start)
    return conclusion


def defer_committer(
    when: When, workspace: Workspace, act: Act, asking: HasSideCalls, get_tests: Callable[[], WeakenedTests]
) -> Committer:
    """Return what commits. parts: see `Committer`"""

    def build() -> Committer:
        from agent.turn.auto_commit import Committer

        return Committer(when, workspace, act, asking, get_tests())

    return defer(build, when=when, prompt="", is_forbidden=False)


def defer_gateway(session: Session, workspace: Workspace, **parts: Any) -> Gateway:
    """Return the gateway of all actions. parts: see `Gateway`"""

    def build() -> Gateway:
        from agent.session.log_recorder import LogRecorder
        from tools.core.gateway import Gateway

        recorder = LogRecorder(session=session, workspace=workspace)
        return Gateway(workspace=workspace, recorder=recorder, **parts)

    return defer(build)


def defer_kernel(workspace: Workspace, gateway: Gateway) -> Kernel:
    """Return the session of the Python kernel."""

    def build() -> Kernel:
        from tools.kernel.kernel_session import KernelSession

        return KernelSession(workspace, gateway)

    return defer(build)


def defer_side_calls(get_model: Callable[[], Model], roles: Any, *parts: Any) -> SideCalls:
    """Return the calls of models beside the conversation. roles: factories of their models; parts: see `SideCalls`"""

    def build() -> SideCalls:
        from agent.model.routing.roles import Roles
        from agent.turn.side_calls import SideCalls

        return SideCalls(Roles(get_model, roles), *parts)

    return defer(build)


def defer_past_summaries(side_calls: SideCalls, projection: Projection) -> PastSummaries:
    """Return the writer of summaries."""

    def build() -> PastSummaries:
        from agent.turn.side_calls import PastSummaries

        return PastSummaries(side_calls, projection)

    return defer(build)


def defer_recall_index(session: Session) -> RecallIndex:
    """Return the index of the session's own past."""

    def build() -> RecallIndex:
        from agent.context.recall_index import RecallIndex

        return RecallIndex(session.replayed)

    return defer(build)


def defer_concurrent_changes(*parts: Any) -> ConcurrentChanges:
    """Return the record of changes by others. parts: see `ConcurrentChanges`"""

    def build() -> ConcurrentChanges:
        from tools.changes.concurrent_changes import ConcurrentChanges

        return ConcurrentChanges(*parts)

    return defer(build)


def follow_file_event(changes: ConcurrentChanges, at: Workspace, event: Event) -> None:
    """Record what a snapshot or an undo says of the files."""
    if isinstance(event, SnapshotEvent):
        changes.record_snapshot(event.tree, event.when)
    if isinstance(event, UndoEvent):
        from agent.turn.resume import apply_undo_event
        from agent.verify.suite_evidence import is_modified

        changes.record_undo(event.before, event.after)
        apply_undo_event(event, at.changes, lambda path: not is_modified(at, path))


async def record_final_snapshot(gateway: Gateway) -> None:
    """Snapshot the workspace after an interrupted batch, so that an undo is limited to the batch."""
    if (built := find_built(gateway)) is not None:
        with suppress(UserError, OSError):  # disk full, folder deleted: the end event follows anyway
            await built.record_pending_snapshot()


def list_running_commands(workspace: Workspace) -> list[str]:
    """Return the names and lines of the commands in the background."""
    background = find_built(workspace.background)
    running = background.running_commands if background is not None else ()
    return [f"{each.name}: {each.line}" for each in running]


async def close_parts(*parts: Closable | None) -> None:
    """Close those of a session's parts that there are, and that were ever used."""
    for part in parts:
        if (built := find_built(part)) is not None:
            await built.close()


_OF_A_REPLY = [
    "agent.turn.turn_end",
    "agent.turn.auto_commit",
    "agent.session.log_recorder",
    "tools.core.gateway",
    "agent.monitor.reply_recovery",
    "agent.monitor.workflow_rules",
    "agent.monitor.external_changes",
    "agent.monitor.intent.cumulative_intent",
    "sandbox.snapshots.workspace_snapshots",
    "sandbox.backends.bubblewrap",
    "sandbox.policy.shell",
    "agent.prompt.english_orders",
]
"""Modules that most replies need, with what they import; emptied from the front."""

_THINKING = 0.05
"""Seconds after which a model that has not answered is taken to think."""


@contextmanager
def preload_while_waiting(prompt: str = "") -> Iterator[None]:
    """Import what a reply needs, a module at a time, while the model thinks: its first action then need not wait.

    prompt: read then, too: the end of the turn asks what it wants
    """
    loop = asyncio.get_running_loop()
    handle: asyncio.TimerHandle | None = None

    def import_next() -> None:
        nonlocal handle
        if _OF_A_REPLY:
            import_module(_OF_A_REPLY.pop(0))
            handle = loop.call_later(0, import_next)
        elif prompt:
            from agent.prompt.prompt_reader import read_intent

            read_intent(prompt)

    if _OF_A_REPLY or prompt:
        handle = loop.call_later(_THINKING, import_next)
    try:
        yield
    finally:
        if handle is not None:
            handle.cancel()
