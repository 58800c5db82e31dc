"""What an agent has of the board: a tool to share a finding, and the others' findings before its requests."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from agent.children.child import Child
from agent.events import Event, ObservationEvent
from agent.monitor.answers import RequestAnswer, TellModel
from agent.monitor.monitor import Monitor
from agent.team.board.findings_board import FindingsBoard, SharedFinding
from agent.team.child_tools import count_lines
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.workspace import Workspace

EXECUTED = frozenset({"run_tests", "shell", "python"})
"""Tools whose output proves something: it was printed by a program that ran."""

MOST_OUTPUTS = 20
"""Outputs that a proof is looked for in: the last ones."""


class SiblingFindings(Monitor):
    """Tells an agent what its siblings have found since its last request, and keeps what its own commands printed."""

    def __init__(self, board: FindingsBoard, reader: str) -> None:
        self.outputs: deque[str] = deque(maxlen=MOST_OUTPUTS)
        self._board = board
        self._reader = reader
        self._read = 0

    def handle_event(self, event: Event) -> None:
        """See `Monitor.handle_event`."""
        if isinstance(event, ObservationEvent) and event.tool in EXECUTED:
            self.outputs.append(event.text)

    def before_request(self) -> Sequence[RequestAnswer]:
        """See `Monitor.before_request`."""
        start, self._read = self._read, len(self._board.findings)
        text = self._board.format_for(self._reader, start)
        return [TellModel(text=text)] if text else []


def open_board(child: Child, board: FindingsBoard) -> None:
    """Give an agent the board of its siblings."""
    reader = SiblingFindings(board, child.id)
    child.runtime.loop.monitors.add_monitor(reader)
    child.runtime.toolbox.add([make_share_tool(board, reader.outputs, child.id)])


def make_share_tool(board: FindingsBoard, outputs: Sequence[str], author: str) -> Tool:
    """Return the tool by which an agent shares a finding. outputs: of what it ran"""

    @tool(effect="none")
    async def share(note: str, place: str = "", proof: str = "", *, at: Workspace) -> Observation:
        """Tell the agents that work beside you what would save them a search.

        note: one sentence
        place: where it is to be seen, path:line
        proof: a line that a command or the tests printed here, if there is no place
        """
        finding = SharedFinding(
            author=author, note=" ".join(note.split()), place=place.strip(), proof=proof.strip()
        )
        problem = await asyncio.to_thread(
            board.admit, finding, count_lines=lambda path: count_lines(at, path), outputs=list(outputs)
        )
        if problem:
            raise ToolFailure(f"share: not shared: {problem}")
        board.record(finding)
        return Observation(text="shared")

    return share
