"""The agents of one session: started within its rights, reported in a few lines, asked again with what they know."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.children.child import Child
from agent.children.children import MOST_DEPTH, Children
from agent.children.spec import ChildResult, ChildSpec
from agent.events import Event, Prompt
from agent.session_settings import TeamSettings
from agent.team.activity import AgentActivity, AgentRow
from agent.team.background import BackgroundAgents
from agent.team.board.board_log import open_logged_board
from agent.team.child_tools import Outbox
from agent.team.definitions.agent_catalog import AgentCatalog
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.equipment import equip_child
from agent.team.report import Report
from agent.team.report_builder import build_observation, build_report, restore_report
from agent.team.rights import Rights, build_spec, decide_rights, is_writer
from agent.turn.runtime import Runtime
from agent.turn.session_children import RunningChild
from sandbox.errors import Fault, UserError
from tools.changes.change_tracker import Snapshotter
from tools.core.action import Observation, ToolFailure
from tools.core.shared_results import SharedResults

if TYPE_CHECKING:
    from agent.team.definitions.agent_memory import AgentMemory
    from agent.team.merge.isolated_agents import IsolatedAgents
    from agent.team.merge.writers import Writer

MOST_QUESTIONS = 8
"""Questions of one agent to its parent: then it has to go on without an answer, or to end."""

Equip = Callable[[Runtime, AgentDefinition], object]
"""Gives a child session agents of its own."""


class Team:
    """Starts the agents of a session, and keeps those that work in the background until somebody asks.

    catalog: the agents; settings: how many; equip: gives agents to a child that may start some
    """

    def __init__(
        self, runtime: Runtime, home: Home, catalog: AgentCatalog, settings: TeamSettings, equip: Equip
    ) -> None:
        self.catalog = catalog
        self.settings = settings
        self.activity = AgentActivity()
        self.children = Children(runtime)
        self.board = open_logged_board(runtime.session)
        self.shared = SharedResults(lambda: self._snapshots.take())
        self._runtime = runtime
        self._home = home
        self._equip = equip
        self._slots = asyncio.Semaphore(max(settings.parallel, 1))
        # The agents of a batch are numbered in the order of its calls, however long each takes to start.
        self._start_order = asyncio.Lock()
        self.background = BackgroundAgents(self._finish_background, self._build_observation, self._get_name)
        self._questions: Counter[str] = Counter()
        self._started = 0
        self.activity.restore(runtime.session)
        self.cut_off = [row for row in self.activity.rows.values() if row.is_cut_off and not row.is_role]
        runtime.session.subscribe(self._handle_event)

    @cached_property
    def _snapshots(self) -> Snapshotter:
        """Snapshots of the session; in read-only mode, which has none, of its own."""
        if self._runtime.snapshots is not None:
            return self._runtime.snapshots
        from sandbox.snapshots.workspace_snapshots import Snapshots

        root = self._runtime.workspace.root
        return Snapshots(root, self._home.get_project_folder(root) / "snapshots")

    @cached_property
    def _isolated(self) -> IsolatedAgents:
        from agent.team.merge.isolated_agents import IsolatedAgents

        return IsolatedAgents(self._runtime, self.children)

    def get_agent(self, name: str) -> AgentDefinition:
        """Return an agent by its name. Raises ToolFailure with the names that there are."""
        wanted = name.strip()
        found = self.catalog.agents.get(wanted) or self.catalog.agents.get(wanted.lower())
        if found is None:
            raise ToolFailure(
                f"delegate: there is no agent {name!r}. Agents: {', '.join(self.catalog.agents)}"
            )
        return found

    def is_writer(self, name: str, child: str) -> bool:
        """Whether an agent, or the one that was started as `child`, would change files; an unknown one changes none."""
        if child.strip():
            row = self.activity.find_row(child.strip())
            name = row.agent if row is not None else ""
        found = self.catalog.agents.get(name.strip().lower())
        return found is not None and is_writer(found, self._runtime)

    async def delegate(
        self, agent: AgentDefinition, task: str, *, child: str = "", background: bool = False
    ) -> Observation:
        """Give an agent a task, or one that was started before its next; return its report, or its id at once.

        child: id of an earlier one, which knows what it did. Raises ToolFailure, UserError.
        """
        if self._started >= self.settings.most and not child:
            raise ToolFailure(
                f"delegate: {self.settings.most} agents were started in this turn, the most that may be"
                " (agents.most): do the rest in this session"
            )
        rights = decide_rights(agent, self._runtime)
        async with self._start_order:
            memory = None if child else self._open_memory(agent)
            known = "" if memory is None else await asyncio.to_thread(memory.format_for_task)
        spec = build_spec(agent, rights, self._runtime, task=f"{task}{known}", session=child)
        if background and spec.place == "lease":
            raise ToolFailure(
                f"delegate: agent {agent.name!r} changes your files, so it does not work in the background;"
                " with `isolation: worktree` in its file it would"
            )
        self._started += not child
        outbox = Outbox()
        if background:
            return await self._start_background(spec, agent, outbox, rights)
        async with self._slots:
            if spec.place == "worktree":
                return self._build_observation(await self._run_isolated(spec, agent, outbox, rights))
            begun = await self._start_child(spec, agent, outbox, rights)
            return self._build_observation(await self._run_child(begun, agent, outbox, spec.prompt or None))

    async def _start_background(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> Observation:
        work: Coroutine[object, object, Report]
        if spec.place == "worktree":
            writer, prompt = await self._start_writer(spec, agent, outbox, rights)
            begun, work = writer.child, self._run_writer(writer, agent, outbox, prompt)
        else:
            begun = await self._start_child(spec, agent, outbox, rights)
            work = self._run_child(begun, agent, outbox, spec.prompt or None, self._slots)
        self.background.add(begun.id, work)
        name = self._get_name(begun.id)
        text = f"{name} has begun. Its report comes by itself; to wait for it: delegate(child={json.dumps(name)})"
        data = {"agent": agent.name, "child": name, "session": begun.id, "background": True}
        return Observation(text=text, data=data)

    async def ask_child(self, child: str, task: str) -> Observation:
        """Wait for the report of an agent, or give it another task or an answer. Raises ToolFailure, UserError.

        child: its name, or the id of its session
        """
        row = self.activity.find_row(child)
        if row is None or row.parent or row.is_role:
            rows = self.activity.rows.values()
            known = [each.name for each in rows if not each.parent and not each.is_role]
            raise ToolFailure(
                f"delegate: no agent {child!r} was started here" + (f": {', '.join(known)}" if known else "")
            )
        name, background = json.dumps(row.name), self.background
        if task and background.is_working(row.child):
            raise ToolFailure(f"delegate: {row.name} is still at work. Wait for it: delegate(child={name})")
        if background.is_known(row.child) and not background.is_delivered(row.child):
            if not task:
                return await background.wait_for(row.child)
            if row.place == "worktree":  # its work has to come in before it goes on
                raise ToolFailure(
                    f"delegate: {row.name} has reported. Take the report: delegate(child={name})"
                )
        if row.child in self._runtime.running_children:
            raise ToolFailure(f"delegate: {row.name} is still at work")
        if row.place == "worktree" and not task:
            return await self._hear_isolated(row)
        if not task and background.is_known(row.child):
            return await background.wait_for(row.child)
        if not task and row.state != "cut off":
            raise ToolFailure(f"delegate: {row.name} has reported already: give it a task to go on with")
        agent = self.get_agent(row.agent)
        background.forget(row.child)
        return await self.delegate(agent, task, child=row.child)

    async def _hear_isolated(self, row: AgentRow) -> Observation:
        """Merge what an agent in a worktree has reported before a kill or a conflict. Raises ToolFailure, UserError."""
        if not row.has_unmerged_work:
            lost = (
                "was cut off, and its worktree is gone" if row.state == "cut off" else "has reported already"
            )
            raise ToolFailure(f"delegate: {row.name} {lost}: give it a task, all of which it does then")
        return self._build_observation(await self._isolated.merge_kept(row, restore_report(row)))

    def steer(self, child: str, text: str) -> None:
        """Pass text of the person on to an agent at work, by its name. Raises UserError."""
        self._get_running(child).steer(text)

    def stop(self, child: str) -> None:
        """End the turn of an agent at work; its report says so. Raises UserError."""
        self._get_running(child).cancel()

    def _open_memory(self, agent: AgentDefinition) -> AgentMemory | None:
        if not agent.memory:
            return None
        from agent.team.definitions.agent_memory import AgentMemory

        return AgentMemory(self._home, self._runtime.workspace.root, agent.memory, agent.name)

    def _get_name(self, child: str) -> str:
        row = self.activity.rows.get(child)
        return row.name if row is not None else child

    async def close(self) -> None:
        """End all agents."""
        await self.background.close()
        await self.children.close()
        if "_snapshots" in vars(self) and self._runtime.snapshots is None:
            self._snapshots.close()

    async def _start_child(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> Child:
        # One that waits for the files that another changes holds up no reader.
        async with nullcontext() if spec.place == "lease" else self._start_order:
            begun = await self.children.start(spec)
        await self._prepare_child(begun, agent, outbox, rights)
        return begun

    async def _prepare_child(
        self, begun: Child, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> None:
        try:
            may_ask = self._questions[begun.id] < MOST_QUESTIONS
            memory = self._open_memory(agent)
            equip_child(begun, agent, outbox, self.board, may_ask=may_ask, memory=memory)
            environment = begun.runtime.environment
            if rights.delegates and environment is not None and environment.request.depth < MOST_DEPTH:
                self._equip(begun.runtime, agent)
        except BaseException:  # nothing has begun: release it
            await begun.close()
            raise
        if rights.place == "read-only":
            begun.runtime.workspace.shared_results = self.shared

    async def _start_writer(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> tuple[Writer, str]:
        """Start an agent in a worktree; return it with its prompt, which says what its files are."""
        from agent.team.merge.isolated_agents import KEPT_FILES, NEW_FILES

        earlier = self.activity.rows.get(spec.session)
        kept = earlier is not None and earlier.has_unmerged_work
        async with self._start_order:
            writer = await self._isolated.start(spec, earlier)
        await self._prepare_child(writer.child, agent, outbox, rights)
        note = f"\n\n{KEPT_FILES if kept else NEW_FILES}" if spec.session else ""
        return writer, f"{spec.prompt}{note}"

    async def _run_isolated(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> Report:
        """Run one turn of an agent in a worktree, and merge what it reports."""
        writer, task = await self._start_writer(spec, agent, outbox, rights)

        async def ask(prompt: str) -> Report:
            outbox.clear()
            return await self._make_report(writer.child, agent, outbox, await writer.child.ask(prompt))

        async with writer.child, self._isolated.keep_if_cancelled(writer):
            return await self._isolated.bring_in(writer, await ask(task), ask)

    async def _run_child(
        self,
        child: Child,
        agent: AgentDefinition,
        outbox: Outbox,
        task: str | None,
        slots: AbstractAsyncContextManager[None] | None = None,
    ) -> Report:
        """Run one turn of a child and close it. slots: waited for before it begins"""
        async with child, slots or nullcontext():
            outbox.clear()
            return await self._make_report(child, agent, outbox, await child.ask(task))

    async def _run_writer(
        self,
        writer: Writer,
        agent: AgentDefinition,
        outbox: Outbox,
        prompt: str,
        earlier: str = "",
    ) -> Report:
        """Run one turn of an agent in a worktree in the background. earlier: text of its report before a conflict"""
        async with writer.child as child, self._slots, self._isolated.keep_if_cancelled(writer):
            outbox.clear()
            report = await self._make_report(child, agent, outbox, await child.ask(prompt))
            await self._isolated.keep_work(writer)
            return replace(report, text="\n\n".join(filter(None, (earlier, report.text.strip()))))

    async def _finish_background(self, child: str, report: Report) -> Report | None:
        """Bring in what an agent in the background reports; None if it works on, with a conflict to solve."""
        row = self.activity.rows[child]
        if row.place != "worktree":
            return report
        brought = await self._isolated.bring_in_kept(row, report)
        if isinstance(brought, Report):
            return brought
        agent, outbox = self.get_agent(row.agent), Outbox()
        try:
            rights = decide_rights(agent, self._runtime)
            spec = build_spec(agent, rights, self._runtime, task="", session=child)
            writer, prompt = await self._isolated.begin_resolution(spec, row, brought)
            await self._prepare_child(writer.child, agent, outbox, rights)
        except UserError as error:
            return self._isolated.give_up(row, report, error.message)
        self.background.add(child, self._run_writer(writer, agent, outbox, prompt, report.text.strip()))
        return None

    async def _make_report(
        self, child: Child, agent: AgentDefinition, outbox: Outbox, result: ChildResult
    ) -> Report:
        at, name = self._runtime.workspace, self._get_name(child.id)
        report = await asyncio.to_thread(build_report, at, child, name, agent, outbox, result)
        self._questions[child.id] += bool(report.question)
        return report

    def _build_observation(self, report: Report) -> Observation:
        return build_observation(self._runtime.workspace, report)

    def _get_running(self, name: str) -> RunningChild:
        row = self.activity.find_row(name)
        found = self._runtime.running_children.get(row.child) if row is not None else None
        if found is None:
            rows = self.activity.rows
            known = (
                ", ".join(rows[each].name for each in self._runtime.running_children if each in rows)
                or "none"
            )
            raise UserError(Fault.USAGE, f"no agent {name!r} is at work here", f"At work: {known}.")
        return found

    def _handle_event(self, event: Event) -> None:
        self.activity.handle_event(event)
        if isinstance(event, Prompt):
            self._started = 0
