"""The agents of one session: started within its rights, reported in a few lines, asked again with what they know."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.children.child import Child
from agent.children.children import MOST_DEPTH, Children
from agent.children.spec import ChildResult, ChildSpec
from agent.events import Event, MessageEvent, Prompt
from agent.exit_codes import Exit
from agent.team.activity import AgentActivity, AgentRow
from agent.team.board.board_access import open_board
from agent.team.board.findings_board import FindingsBoard
from agent.team.child_tools import (
    Outbox,
    count_lines,
    make_ask_tool,
    make_findings_tool,
    make_tests_tool,
)
from agent.team.definitions.agent_catalog import AgentCatalog
from agent.team.definitions.agent_definition import AgentDefinition
from agent.team.report import Report, check_place, parse_findings, strip_findings
from agent.team.rights import Rights, build_spec, decide_rights, is_writer
from agent.team.team_settings import TeamSettings
from agent.team.tool_scope import ToolScope
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from tools.changes.change_tracker import Snapshotter
from tools.core.action import Observation, ToolFailure
from tools.core.shared_results import SharedResults

if TYPE_CHECKING:
    from agent.team.merge.isolated_agents import IsolatedAgents
    from tools.core.registry import Tool

MOST_QUESTIONS = 8
"""Questions of one agent to its parent: then it has to go on without an answer, or to end."""

Equip = Callable[[Runtime], object]
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
        self.arrived: list[tuple[str, Observation]] = []
        self.children = Children(runtime)
        self.board = FindingsBoard()
        self.shared = SharedResults(lambda: self._snapshots.take())
        self._runtime = runtime
        self._home = home
        self._equip = equip
        self._slots = asyncio.Semaphore(max(settings.parallel, 1))
        self._working: dict[str, Child] = {}
        self._background: dict[str, asyncio.Task[Report]] = {}
        self._delivered: set[str] = set()
        self._questions: Counter[str] = Counter()
        self._started = 0
        self._closing = False
        self.activity.restore(runtime.session)
        self.cut_off = [
            row for row in self.activity.rows.values() if row.state == "cut off" or row.merge == "reported"
        ]
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

    @property
    def running(self) -> Mapping[str, Child]:
        """The agents at work, by their session's id."""
        return self._working

    @property
    def unheard(self) -> list[str]:
        """Names of agents in the background whose reports the model has not got yet."""
        return [self._get_name(each) for each in self._background if each not in self._delivered]

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
        spec = build_spec(agent, rights, self._runtime, task=task, session=child)
        if background and spec.place != "read-only":
            raise ToolFailure(
                f"delegate: agent {agent.name!r} changes files, so it does not work in the background"
            )
        self._started += not child
        outbox = Outbox()
        if not background:
            async with self._slots:
                if spec.place == "worktree":
                    return self._build_observation(await self._run_isolated(spec, agent, outbox, rights))
                begun = await self._start_child(spec, agent, outbox, rights)
                return self._build_observation(await self._run_child(begun, agent, outbox, task or None))
        begun = await self._start_child(spec, agent, outbox, rights)
        work = self._run_child(begun, agent, outbox, task or None, self._slots)
        name = self._get_name(begun.id)
        running = asyncio.create_task(work, name=f"agent {name}")
        self._background[begun.id] = running
        self._delivered.discard(begun.id)
        running.add_done_callback(lambda done: self._handle_arrival(begun.id, done))
        text = f"{name} has begun. Its report comes by itself; to wait for it: delegate(child={json.dumps(name)})"
        data = {"agent": agent.name, "child": name, "session": begun.id, "background": True}
        return Observation(text=text, data=data)

    async def ask_child(self, child: str, task: str) -> Observation:
        """Wait for the report of an agent, or give it another task or an answer. Raises ToolFailure, UserError.

        child: its name, or the id of its session
        """
        row = self.activity.find_row(child)
        if row is None or row.parent:
            known = [each.name for each in self.activity.rows.values() if not each.parent]
            raise ToolFailure(
                f"delegate: no agent {child!r} was started here" + (f": {', '.join(known)}" if known else "")
            )
        running = self._background.get(row.child)
        if running is not None and (not running.done() or not task):
            if task:
                raise ToolFailure(
                    f"delegate: {row.name} is still at work. Wait for it: delegate(child={json.dumps(row.name)})"
                )
            return await self._await_background(row.child, running)
        if row.child in self._working:
            raise ToolFailure(f"delegate: {row.name} is still at work")
        if row.place == "worktree" and not task:
            return await self._hear_isolated(row)
        if not task and row.state != "cut off":
            raise ToolFailure(f"delegate: {row.name} has reported already: give it a task to go on with")
        agent = self.get_agent(row.agent)
        self._background.pop(row.child, None)
        return await self.delegate(agent, task, child=row.child)

    async def _hear_isolated(self, row: AgentRow) -> Observation:
        """Merge what an agent in a worktree has reported before a kill or a conflict. Raises ToolFailure, UserError."""
        if not row.has_unmerged_work:
            lost = (
                "was cut off, and its worktree is gone" if row.state == "cut off" else "has reported already"
            )
            raise ToolFailure(f"delegate: {row.name} {lost}: give it a task, all of which it does then")
        report = Report(
            agent=row.agent,
            child=row.name,
            session=row.child,
            outcome=Exit.DONE.label,
            exit_code=Exit.DONE,
            text=row.last,
        )
        return self._build_observation(await self._isolated.merge_kept(row, report))

    def take_arrived(self) -> list[tuple[str, Observation]]:
        """Return the reports that came from the background since the last call."""
        found, self.arrived = self.arrived, []
        self._delivered.update(child for child, _ in found)
        return found

    def steer(self, child: str, text: str) -> None:
        """Pass text of the person on to an agent at work, by its name. Raises UserError."""
        self._get_working(child).runtime.loop.inbox.append(text)

    def stop(self, child: str) -> None:
        """End the turn of an agent at work; its report says so. Raises UserError."""
        self._get_working(child).cancel()

    def _get_name(self, child: str) -> str:
        row = self.activity.rows.get(child)
        return row.name if row is not None else child

    async def close(self) -> None:
        """End all agents."""
        self._closing = True
        waiting = [each for each in self._background.values() if not each.done()]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await self.children.close()

    async def _start_child(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> Child:
        begun = await self.children.start(spec)
        await self._prepare_child(begun, agent, outbox, rights)
        return begun

    async def _prepare_child(
        self, begun: Child, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> None:
        try:
            self._equip_child(begun, agent, outbox, delegates=rights.delegates)
        except BaseException:  # nothing has begun: release it
            await begun.close()
            raise
        if rights.place == "read-only":
            begun.runtime.workspace.shared_results = self.shared
        self._working[begun.id] = begun

    async def _run_isolated(
        self, spec: ChildSpec, agent: AgentDefinition, outbox: Outbox, rights: Rights
    ) -> Report:
        """Run one turn of an agent in a worktree, and merge what it reports."""
        from agent.team.merge.isolated_agents import KEPT_FILES, NEW_FILES

        earlier = self.activity.rows.get(spec.session)
        kept = earlier is not None and earlier.has_unmerged_work
        writer = await self._isolated.start(spec, earlier)
        child = writer.child
        await self._prepare_child(child, agent, outbox, rights)

        async def ask(prompt: str) -> Report:
            outbox.clear()
            return await asyncio.to_thread(self._build_report, child, agent, outbox, await child.ask(prompt))

        try:
            async with child, self._isolated.keep_if_cancelled(writer):
                note = f"\n\n{KEPT_FILES if kept else NEW_FILES}" if spec.session else ""
                report = await ask(f"{spec.prompt}{note}")
                return await self._isolated.bring_in(writer, report, ask)
        finally:
            self._working.pop(child.id, None)

    async def _run_child(
        self,
        child: Child,
        agent: AgentDefinition,
        outbox: Outbox,
        task: str | None,
        slots: AbstractAsyncContextManager[None] | None = None,
    ) -> Report:
        """Run one turn of a child and close it. slots: waited for before it begins"""
        try:
            async with child, slots or nullcontext():
                outbox.clear()
                result = await child.ask(task)
                return await asyncio.to_thread(self._build_report, child, agent, outbox, result)
        finally:
            self._working.pop(child.id, None)

    async def _await_background(self, child: str, running: asyncio.Task[Report]) -> Observation:
        report = await asyncio.shield(running)
        self.arrived = [each for each in self.arrived if each[0] != child]
        self._delivered.add(child)
        return self._build_observation(report)

    def _handle_arrival(self, child: str, done: asyncio.Task[Report]) -> None:
        if done.cancelled() or self._closing:
            return
        error = done.exception()
        if error is not None:
            text = f"{self._get_name(child)}: {error}"
            self.arrived.append((child, Observation(text=text, failed=True)))
        elif child not in self._delivered:
            self.arrived.append((child, self._build_observation(done.result())))

    def _build_report(
        self, child: Child, agent: AgentDefinition, outbox: Outbox, result: ChildResult
    ) -> Report:
        """Return the report of a finished turn. Blocking."""
        at = self._runtime.workspace
        question = outbox.question if result.succeeded else ""
        findings = outbox.findings
        if agent.reports == "findings" and not outbox.has_reported:
            read = parse_findings(result.report)
            findings = [
                each for each in read if not check_place(each.place, lambda path: count_lines(at, path))
            ]
        tests = {each.path: at.artifacts.save(each.content.encode()) for each in outbox.tests}
        if question:
            self._questions[child.id] += 1
        ended_early = result.exit_code in (Exit.LIMIT, Exit.INTERRUPTED)
        return Report(
            agent=agent.name,
            child=self._get_name(child.id),
            session=child.id,
            outcome=result.outcome,
            exit_code=result.exit_code,
            text=strip_findings(result.report, findings) if not outbox.has_reported else result.report,
            findings=findings,
            tests=tests,
            question=question,
            last_words=_read_last_words(child.runtime) if ended_early else "",
            usage=result.usage,
            seconds=result.seconds,
        )

    def _build_observation(self, report: Report) -> Observation:
        ref = self._runtime.workspace.artifacts.save(report.format_whole().encode("utf-8", "replace"))
        return Observation(
            text=report.format_text(ref),
            data=report.build_data(),
            ref=ref,
            failed=not report.is_finished or bool(report.conflicts) or report.unmerged,
            value=report.format_whole(),
        )

    def _equip_child(self, child: Child, agent: AgentDefinition, outbox: Outbox, *, delegates: bool) -> None:
        """Give a child the tools of an agent, and the limits of its file."""
        runtime = child.runtime
        tools: list[Tool] = []
        if agent.hides_bodies:
            from agent.team import interface_view

            tools += [interface_view.read, interface_view.run_tests]
        if agent.reports == "findings":
            tools.append(make_findings_tool(outbox))
        elif agent.reports == "tests":
            tools.append(make_tests_tool(outbox))
        if self._questions[child.id] < MOST_QUESTIONS:
            tools.append(make_ask_tool(outbox))
        runtime.toolbox.add(tools)
        if not agent.hides_bodies:  # what others have seen may be the code
            open_board(child, self.board)
        if any(each.scope is not None for each in (*(agent.tools or ()), *agent.denied)):
            runtime.loop.monitors.add_monitor(
                ToolScope(
                    agent.name, agent.tools or (), agent.denied, runtime.workspace.files.resolve_relative
                )
            )
        depth = runtime.environment.request.depth if runtime.environment is not None else MOST_DEPTH
        if delegates and depth < MOST_DEPTH:
            self._equip(runtime)

    def _get_working(self, name: str) -> Child:
        row = self.activity.find_row(name)
        found = self._working.get(row.child) if row is not None else None
        if found is None:
            known = ", ".join(map(self._get_name, self._working)) or "none"
            raise UserError(Fault.USAGE, f"no agent {name!r} is at work here", f"At work: {known}.")
        return found

    def _handle_event(self, event: Event) -> None:
        self.activity.handle_event(event)
        if isinstance(event, Prompt):
            self._started = 0


def _read_last_words(runtime: Runtime) -> str:
    """Return the last text of a session's model."""
    for event in reversed(runtime.session.replayed):
        if isinstance(event, MessageEvent) and event.text.strip():
            return event.text.strip()
    return ""
