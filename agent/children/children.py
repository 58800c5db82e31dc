"""The child sessions of one session: starts them within its rights, and passes their events on to its views."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.budget.limits import build_limits
from agent.budget.purse import Purse
from agent.children.child import Child
from agent.children.executor import CRASHED, ChildOrder, Executor
from agent.children.in_process import InProcessExecutor
from agent.children.places import Lease, OpenPlace, Worktrees, remove_leftover_worktrees
from agent.children.spec import HOOK_ROLE, ChildResult, ChildSpec, Runs
from agent.events import ChildEvent, ChildProgress, Event
from agent.events.serialization import collect_fields
from agent.mode_switch import read_current_settings
from agent.session.session_starter import read_session_start
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approver, Decision, Mode
from sandbox.policy.effects import Effect

if TYPE_CHECKING:
    from agent.capabilities import SessionEnvironment

MOST_DEPTH = 3
"""Sessions below the one that a person started: a child of a child of a child starts none."""

MOST_OPEN = 256
"""Children of one session that are open at the same time: a loop that starts them must end."""

_REACH = {mode: rank for rank, mode in enumerate((Mode.READ_ONLY, Mode.WORKSPACE, Mode.FULL))}


class Children:
    """Starts the children of one session.

    Close it before the parent.

    executors: in place of those of this program, by `ChildSpec.runs`
    """

    def __init__(self, runtime: Runtime, executors: Mapping[Runs, Executor] | None = None) -> None:
        if runtime.environment is None:
            raise UserError(Fault.USAGE, "a session without settings starts no others", "Start it as usual.")
        self._parent = runtime
        self._environment: SessionEnvironment = runtime.environment
        self._executors: dict[Runs, Executor] = dict(executors or {})
        self._open: set[Child] = set()
        self._starting = 0
        self._has_crash = False
        self._lease = Lease()
        self.worktrees = Worktrees(runtime.workspace.root, self._environment.home)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, runtime: Runtime, executors: Mapping[Runs, Executor] | None = None
    ) -> AsyncIterator[Children]:
        """Open the children of a session, and close them at the end."""
        children = cls(runtime, executors)
        try:
            yield children
        finally:
            await children.close()

    @property
    def open_children(self) -> Sequence[Child]:
        """The children that are not closed yet."""
        return list(self._open)

    async def start(self, spec: ChildSpec) -> Child:
        """Start a child session; it takes its first turn with `Child.run`.

        Raises UserError if the parent may not do this itself, or has too many children.
        """
        self._check_start(spec)
        mode = self._choose_mode(spec)
        self._starting += 1
        try:
            async with AsyncExitStack() as stack:
                # Before anything is waited for: the next child's share is divided from what this one leaves.
                purse = self._parent.purse.open_child(build_limits(spec.limits), share=spec.share)
                stack.callback(purse.close)
                place = await self._open_place(spec, stack)
                execution = await self._get_executor(spec.runs).start(
                    ChildOrder(
                        settings=self._build_settings(spec, mode),
                        request=self._build_request(spec, place, purse),
                        home=self._environment.home,
                        purse=purse,
                        on_event=self._get_follower(spec, place),
                        place=place if spec.place == "worktree" else None,
                    )
                )
                resources = stack.pop_all()
        finally:
            self._starting -= 1
        child = Child(
            spec,
            execution,
            place,
            purse,
            record=self._record_event,
            save_patch=self._parent.workspace.artifacts.save,
            resources=resources,
        )
        self._open.add(child)
        self._parent.running_children[child.id] = child
        resources.callback(self._open.discard, child)
        resources.callback(self._parent.running_children.pop, child.id, None)
        return child

    async def run(self, spec: ChildSpec) -> ChildResult:
        """Start a child, let it do its task, and close it."""
        async with await self.start(spec) as child:
            return await child.run()

    def find_stop_reason(self, spec: ChildSpec) -> str:
        """Return why the budget does not pay for a child, "" if it does."""
        if spec.asks_model:
            return self._parent.purse.find_stop_reason()
        probe = self._parent.purse.open_child()
        probe.tally.next_cost = 0.0
        try:
            return probe.find_stop_reason()
        finally:
            probe.close()

    async def close(self) -> None:
        """Close all children, and remove what crashed ones have left of their own children's files."""
        await asyncio.gather(*(child.close() for child in self.open_children))
        if self._has_crash:
            await asyncio.to_thread(
                remove_leftover_worktrees, self._parent.workspace.root, self._environment.home
            )

    def _check_start(self, spec: ChildSpec) -> None:
        if self._environment.request.depth >= MOST_DEPTH:
            raise UserError(
                Fault.DENIED,
                f"a session at depth {self._environment.request.depth} starts no child",
                "Do the task in this session.",
            )
        if len(self._open) + self._starting >= MOST_OPEN:
            raise UserError(
                Fault.DENIED, f"{MOST_OPEN} children are open", "Wait until one of them has ended."
            )
        if reason := self.find_stop_reason(spec):
            raise UserError(Fault.DENIED, f"nothing is left for a child: {reason}")
        offered = {tool.name for tool in self._parent.toolbox}
        if spec.tools is not None and (more := sorted(set(spec.tools) - offered)):
            raise UserError(
                Fault.DENIED, f"a child cannot have tools that its parent has not: {', '.join(more)}"
            )
        monitor = self._parent.rules_monitor
        if spec.runs == "process" and spec.place == "lease" and monitor is not None and monitor.limits_diff:
            raise UserError(
                Fault.DENIED,
                "a rule limits the size of a turn's diff, which a child in another process cannot know",
                "Run it in this process, or in a worktree.",
            )
        if spec.runs == "remote" and (spec.place != "worktree" or spec.session):
            raise UserError(
                Fault.DENIED, "a child on another machine works in a worktree, from the beginning"
            )
        if spec.session and not self._is_own_child(spec.session):
            raise UserError(Fault.DENIED, f"{spec.session!r} is no child of this session")

    def _is_own_child(self, session: str) -> bool:
        if "/" in session:
            return False
        try:
            begun = read_session_start(self._parent.session.folder.parent / session)
        except FileNotFoundError:
            return False
        return begun is not None and begun.started_by == self._parent.session.id

    def _choose_mode(self, spec: ChildSpec) -> Mode:
        own = self._parent.policy.mode
        wanted = Mode.READ_ONLY if spec.place == "read-only" else spec.mode or own
        if _REACH[wanted] > _REACH[own]:
            raise UserError(
                Fault.DENIED,
                f"a child cannot work in mode {wanted}: its parent's is {own}",
                "Ask the user to change the mode: /mode",
            )
        return wanted

    def _get_executor(self, runs: Runs) -> Executor:
        if runs not in self._executors:
            if runs == "process":
                from agent.children.process.process_executor import ProcessExecutor

                self._executors[runs] = ProcessExecutor()
            elif runs == "remote":
                raise UserError(Fault.USAGE, "this session has joined no cluster")
            else:
                self._executors[runs] = InProcessExecutor(self._environment.assemble)
        return self._executors[runs]

    async def _open_place(self, spec: ChildSpec, stack: AsyncExitStack) -> OpenPlace:
        if spec.place == "worktree":
            return await stack.enter_async_context(self.worktrees.open_worktree(spec.base, spec.patch))
        if spec.place == "lease":
            return await stack.enter_async_context(self._lease.hold(self._parent.workspace.root))
        return OpenPlace(folder=self._parent.workspace.root)

    def _build_settings(self, spec: ChildSpec, mode: Mode) -> SessionSettings:
        settings = read_current_settings(self._parent)
        by_calls = spec.tools is not None and "python" not in spec.tools
        models = settings.models
        if spec.temperature is not None:
            models = replace(models, temperature=spec.temperature)
        if spec.effort:
            models = replace(models, effort=spec.effort)
        tools = settings.tools
        if not _wants_servers(spec):
            tools = replace(tools, mcp={})  # their servers need not run
        return replace(
            settings,
            model=spec.model or settings.model,
            api_base=settings.api_base if _has_same_provider(spec.model, settings.model) else "",
            models=models,
            actions="tools" if by_calls else settings.actions,
            commit="never",
            limits=spec.limits,
            tools=tools,
            access=replace(settings.access, mode=mode),
        )

    def _build_request(self, spec: ChildSpec, place: OpenPlace, purse: Purse) -> SessionRequest:
        parent, approver = self._parent, self._parent.loop.gateway.approver
        return SessionRequest(
            working=place.folder / self._find_subfolder(place),
            session=spec.session,
            offer_commit=False,
            env=self._environment.request.env,
            apply_doubtful=self._environment.request.apply_doubtful,
            version=self._environment.request.version,
            parent=parent.session.id,
            depth=self._environment.request.depth + 1,
            rule_state=None if parent.rules_monitor is None else parent.rules_monitor.state,
            sessions=parent.session.folder.parent,
            tools=None if spec.tools is None else frozenset(spec.tools),
            servers=self._environment.request.servers if _wants_servers(spec) else {},
            instructions=spec.instructions,
            system=spec.system,
            has_hooks=spec.role != HOOK_ROLE,
            purse=purse,
            approver=None if approver is None else _ChildApprover(approver, spec.prompt),
        )

    def _find_subfolder(self, place: OpenPlace) -> Path:
        """Return the folder of the workspace that the user named for the parent, where the child has it, too."""
        named, root = self._environment.request.working.resolve(), self._environment.root.resolve()
        inner = named.relative_to(root) if named.is_relative_to(root) else Path()
        return inner if (place.folder / inner).is_dir() else Path()

    def _record_event(self, event: ChildEvent) -> None:
        self._has_crash |= event.outcome == CRASHED
        self._parent.session.append(event)

    def _get_follower(self, spec: ChildSpec, place: OpenPlace) -> Callable[[str, Event], None]:
        """Return the follower of a child's events: what it does in another process counts for our rules, too."""
        monitor = self._parent.rules_monitor
        if monitor is None or spec.runs == "in-process":
            return self._pass_on

        def follow(child: str, event: Event) -> None:
            monitor.handle_child_event(child, place.folder, event)
            self._pass_on(child, event)

        return follow

    def _pass_on(self, child: str, event: Event) -> None:
        """Show an event of a child to the parent's views; of a grandchild's, the innermost id counts."""
        if isinstance(event, ChildProgress):
            self._parent.session.notify_subscribers(event)
            return
        content = {"kind": event.kind, "id": event.id, "time": event.time, **collect_fields(event)}
        self._parent.session.notify_subscribers(ChildProgress(child=child, event=content))


def _wants_servers(spec: ChildSpec) -> bool:
    return spec.tools is None or any(each.startswith("mcp__") for each in spec.tools)


def _has_same_provider(model: str, parents: str) -> bool:
    """Whether the address of the parent's models also serves a child's model; names without one are its own."""
    return "/" not in model or model.partition("/")[0] == parents.partition("/")[0]


class _ChildApprover:
    """Asks the parent's user, and says for which child."""

    def __init__(self, approver: Approver, task: str) -> None:
        self._approver = approver
        self._task = " ".join(task.split())[:60]

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """See `Approver.ask`."""
        reason = f"child session ({self._task}): {question.reason}"
        return await self._approver.ask(tool, effect, replace(question, reason=reason, can_edit=False))
