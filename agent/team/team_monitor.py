"""What a model hears of agents in the background: their reports, and that some are still at work when it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from agent.model.protocol import Reply
from agent.monitor.answers import GO_ON, ReplyAnswer, RequestAnswer, TellModel
from agent.monitor.monitor import Monitor
from agent.team.activity import AgentRow
from agent.team.team import Team


class BackgroundReports(Monitor):
    """Delivers reports before the next request; returns a turn to the model once if agents are still at work.

    ends_turn: whether a tool of this name ends the turn; stays_open: whether agents may work on between turns
    """

    def __init__(self, team: Team, ends_turn: Callable[[str], bool], stays_open: Callable[[], bool]) -> None:
        self._team = team
        self._ends_turn = ends_turn
        self._stays_open = stays_open
        self._told: set[str] = set()
        self._cut_off = list(team.cut_off)

    async def before_request(self) -> Sequence[RequestAnswer]:
        """See `Monitor.before_request`. The changes of agents in worktrees come into the session's files here."""
        told = [TellModel(text=each.text) for each in await self._team.background.take_reports()]
        cut_off, self._cut_off = self._cut_off, []
        told += [TellModel(text=_describe_cut_off(each)) for each in cut_off if not each.parent]
        return told

    def after_reply(self, reply: Reply) -> ReplyAnswer:
        """See `Monitor.after_reply`."""
        if any(not self._ends_turn(each.tool) for each in reply.actions):
            return GO_ON
        if arrived := self._team.background.arrived_names:
            return TellModel(text=f"Reports from the background: {', '.join(arrived)}")
        waiting = [each for each in self._team.background.unheard if each not in self._told]
        if self._stays_open() or not waiting:
            return GO_ON
        self._told.update(waiting)
        names = "\n".join(f'delegate(child="{each}")' for each in waiting)
        return TellModel(
            text=f"Still at work in the background, and stopped when you end again. To wait for the reports:\n{names}"
        )


def _describe_cut_off(row: AgentRow) -> str:
    """Return what a model is told of an agent whose work a kill has cut off."""
    call = f"delegate(child={json.dumps(row.name)}"
    if row.merge == "reported":
        return (
            f"{row.name} had reported, but its changes are not merged into your files. To merge them: {call})"
        )
    if row.merge == "kept":
        return f"{row.name} was stopped. What it had changed is kept apart. To merge it as it is: {call})"
    told = f"{row.name} was cut off at: {row.task[:200]}"
    if row.place == "worktree":
        return f"{told}\nWhat it had changed is gone with its worktree. To do it again: {call}, task=…)"
    return f"{told}\nTo go on: {call})"
