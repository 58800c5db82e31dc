"""Runtime of one session: connects the log, the projection, the model, the gateway and the loop.

`Runtime.run_turn` takes a prompt through a whole turn: loop, verification, commit, and an end event on every path.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from agent.budget.cost_budget import CostBudget
from agent.budget.purse import Purse
from agent.capabilities import SessionEnvironment
from agent.context.ledger.session_facts import Facts
from agent.context.projection.projection import Projection
from agent.context.restore.projection_checkpoint import Checkpoints
from agent.context.restore.projection_replay import follow_session
from agent.events import End, Prompt, SideCall
from agent.exit_codes import Exit
from agent.model.protocol import Delta, Model, prepare_model
from agent.monitor.answers import StopTurn, TellModel, TurnEnd
from agent.session.commit_checkpoint import CommitCheckpointTracker, find_own_tree
from agent.session.images import attach_images, load_image
from agent.session.log import Session
from agent.session_settings import SessionSettings
from agent.turn.late_parts import (
    LateFollower,
    build_conclusion,
    close_parts,
    defer_committer,
    defer_concurrent_changes,
    defer_gateway,
    defer_kernel,
    defer_past_summaries,
    defer_recall_index,
    defer_side_calls,
    follow_file_event,
    list_running_commands,
    record_final_snapshot,
)
from agent.turn.loop import HarnessText, Loop, run_in_time
from agent.turn.profile_fit import ProfileFit, RefitAfterRefusal
from agent.turn.prompt_bounds import PromptBounds
from agent.turn.reply.reply_stream import ReplyStream
from agent.turn.reply.stream_redaction import StreamRedactor
from agent.turn.turn_start import TurnStart
from agent.turn.whole_turn import run_to_end
from sandbox.deferred import find_built
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approver, Policy
from tools.core.action import Action, Observation
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.context.recall_index import RecallIndex
    from agent.extension.skills.session_skills import SessionSkills
    from agent.model.routing.roles import Role
    from agent.rules.rules_monitor import RulesMonitor
    from agent.turn.auto_commit import Committer
    from agent.turn.session_children import ClosedFirst, RunningChild
    from agent.turn.side_calls import SideCalls
    from agent.turn.turn_end import TurnConclusion, TurnWork
    from tools.changes.change_tracker import Snapshotter
    from tools.changes.concurrent_changes import ConcurrentChanges
    from tools.mcp.server_tools import McpServers


_MOST_TYPED = 20
"""Texts of a person that are kept until a turn's end reads them; where nothing does, these stay."""


@dataclass(slots=True, kw_only=True)
class Runtime:
    """State and collaborators of one session.

    apply_action_format: wraps a model in its action format
    settings: those of the user; purse: counts a turn against their limits
    environment: fixed part of the session, for a change of its mode
    team, hooks, telemetry: agents, programs and spans of the session; closed before it
    running_children: all child sessions that are open, by their ids
    typed: the last texts that a person typed, as they were: prompts of scripts, commands and goals are not among them
    skills: those of files; None where there are none
    mcp: servers whose tools are offered in addition; None where the settings name none
    roles: factories of the models with a role of their own; used by `side_calls`
    """

    session: Session
    workspace: Workspace
    model: Model
    toolbox: Toolbox
    policy: Policy
    snapshots: Snapshotter | None
    settings: SessionSettings = field(default_factory=SessionSettings)
    approver: Approver | None = None
    purse: Purse = field(default_factory=Purse)
    apply_action_format: Callable[[Model], Model] = lambda model: model
    environment: SessionEnvironment | None = None
    mcp: McpServers | None = None
    skills: SessionSkills | None = None
    roles: Mapping[Role, Callable[[], Model]] = field(default_factory=dict)
    on_delta: Callable[[Delta], None] = lambda delta: None
    loop: Loop = field(init=False)
    side_calls: SideCalls = field(init=False)
    committer: Committer = field(init=False)
    conclusion: TurnConclusion = field(init=False)
    projection: Projection = field(init=False)
    profile: ProfileFit = field(init=False)
    facts: Facts = field(init=False)
    checkpoints: Checkpoints = field(init=False)
    recall_index: RecallIndex = field(init=False)
    concurrent_changes: ConcurrentChanges = field(init=False)
    rules_monitor: RulesMonitor | None = None
    bounds: PromptBounds = field(init=False)
    team: ClosedFirst | None = None
    running_children: dict[str, RunningChild] = field(default_factory=dict)
    typed: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_TYPED))
    hooks: ClosedFirst | None = None
    telemetry: ClosedFirst | None = None
    _harness_actions: int = 0
    _task: asyncio.Task[object] | None = None
    _turn_start: TurnStart | None = None
    _late_conclusion: LateFollower[TurnConclusion] = field(init=False)

    def __post_init__(self) -> None:
        from agent.context.compression.compressor import Compressor
        from agent.monitor.build_monitors import build_monitors

        self.model = self.apply_action_format(self.model)
        self.projection = Projection(())
        self.profile = ProfileFit(
            session=self.session,
            projection=self.projection,
            toolbox=self.toolbox,
            settings=self.settings,
            environment=self.environment,
        )
        self.profile.offer_tools()
        self.toolbox.subscribe(self.profile.offer_tools)
        self.projection.picture = partial(load_image, self.session.folder)
        self._late_conclusion = LateFollower(
            self._build_conclusion,
            lambda conclusion, event: conclusion.handle_event(event),
            workspace=self.workspace,
        )
        self.conclusion = self._late_conclusion.part
        streamed = StreamRedactor(lambda delta: self.on_delta(delta))
        self.facts = Facts()
        self.checkpoints = follow_session(self.session, self.projection, self.facts)
        self.recall_index = defer_recall_index(self.session)
        self.workspace.history = self.recall_index
        own_tree = find_own_tree(self.session.replayed)
        self.session.subscribe(
            CommitCheckpointTracker(self.workspace.changes, self.checkpoints, own_tree).handle_event
        )
        self.session.subscribe(streamed.handle_event)
        self.concurrent_changes = defer_concurrent_changes(
            self.workspace.changes, lambda: self.snapshots, own_tree
        )
        self.session.subscribe(partial(follow_file_event, self.concurrent_changes, self.workspace))
        self.session.subscribe(self._late_conclusion.handle_event)
        self.side_calls = defer_side_calls(
            lambda: self.model, self.roles, self._record_side_call, self.purse.find_stop_reason
        )
        summaries = defer_past_summaries(self.side_calls, self.projection)
        compressor = Compressor(
            projection=self.projection,
            facts=self.facts,
            window=lambda: self.model.window,
            settings=self.settings.context,
            list_running_commands=partial(list_running_commands, self.workspace),
            summarise=(lambda prompt: summaries.summarise(prompt))
            if self.settings.context.summary == "model"
            else None,
            summarise_here=lambda: summaries.choose_context_summariser(),
            cold=bool(self.projection.slots),
        )
        budget = CostBudget(self.purse, lambda: self.loop.model, lambda: compressor.total_tokens)
        when = self.settings.commit_when if self.toolbox.get("git_commit") is not None else "never"
        act, get_tests = self.run_harness_action, lambda: self.conclusion.weakened_tests
        self.committer = defer_committer(when, self.workspace, act, self, get_tests)
        monitors = build_monitors(
            session=self.session,
            workspace=self.workspace,
            toolbox=self.toolbox,
            settings=self.settings,
            snapshots=self.snapshots,
            facts=self.facts,
            budget=budget,
            refit=lambda: RefitAfterRefusal(self.profile, lambda: self.model),
            committer=self.committer,
            get_evidence=lambda: self.conclusion.evidence,
            get_tests=get_tests,
            rules=self._create_rules_monitor() if self.settings.rules else None,
            is_child=self.environment is not None and bool(self.environment.request.parent),
        )
        gateway = defer_gateway(
            self.session,
            self.workspace,
            toolbox=self.toolbox,
            policy=self.policy,
            snapshots=self.snapshots,
            approver=self.approver,
            guard=monitors,
        )
        if self.toolbox.get("python") is not None:
            self.workspace.kernel = defer_kernel(self.workspace, gateway)
        self.loop = Loop(
            session=self.session,
            compressor=compressor,
            model=self.model,
            gateway=gateway,
            replies=ReplyStream(
                session=self.session, compressor=compressor, budget=budget, on_delta=streamed.handle_delta
            ),
            monitors=monitors,
            purse=self.purse,
        )
        self.bounds = PromptBounds(
            workspace=self.workspace, policy=self.policy, committer=self.committer,
            get_monitor=self._get_rules_monitor, history=self.session.replayed,
            is_child=self.environment is not None and bool(self.environment.request.parent),
        )  # fmt: skip
        self.session.subscribe(self.bounds.handle_event)
        self.workspace.facts["model"] = self.model.name
        self.workspace.seconds_left = self.purse.compute_seconds_left

    def _build_conclusion(self) -> TurnConclusion:
        return build_conclusion(
            self._turn_start,
            session=self.session,
            workspace=self.workspace,
            run_action=self.run_harness_action,
            settings=self.settings.verify,
            rules=self.settings.rules,
            get_snapshots=lambda: self.snapshots,
            is_child=self.environment is not None and bool(self.environment.request.parent),
        )

    async def run_turn(
        self, prompt: str | None, work: TurnWork | None = None, notes: Sequence[str] = ()
    ) -> End:
        """Run one turn; None continues the turn that a kill or a limit interrupted. Never raises UserError.

        work: what takes the place of the loop (a strategy)
        notes: texts of the harness that the model gets after the prompt, such as what the user did meanwhile
        """
        self.purse.begin_turn()
        if self.settings.verify.reproduce or self.model.name == "offline":
            self.conclusion.offer_reproduction(self.toolbox)
        self.committer.prompt = self.loop.prompt = prompt or ""
        self._turn_start = TurnStart.record(self.workspace.root)
        if (conclusion := self._late_conclusion.built) is not None:
            conclusion.begin_turn(self._turn_start)
        end: End
        self._task = asyncio.current_task()
        try:
            self.session.answer_orphans()
            cut_off = await run_in_time(self._prepare_turn(prompt, work, notes), self.purse)
            end = await run_to_end(self.loop, self.conclusion, self.committer, cut_off, work)
        except asyncio.CancelledError:
            if self._task is not None:
                self._task.uncancel()
            end = self.conclusion.create_end_event(Exit.INTERRUPTED, "interrupted", self.loop.tally)
        except Exception as error:  # of the user or internal: report it, and keep the log complete
            end = self._end_with_error(error)
        finally:
            self._task = None
        await record_final_snapshot(self.loop.gateway)
        self.session.announce(end)
        return end

    async def _prepare_turn(
        self, prompt: str | None, work: TurnWork | None, notes: Sequence[str]
    ) -> TurnEnd | None:
        """Log the prompt and prepare what the turn needs; return how it has ended, if it has. See `run_turn`."""
        cut_off: TurnEnd | None = None
        if prompt is not None:
            text, images = attach_images(prompt, self.workspace.root, self.session.folder)
            if self.mcp is not None and "@" in text:
                from agent.extension.servers.resource_mentions import insert_resources

                text = await insert_resources(text, self.mcp, self.start_mcp_servers)
            strategy = work.settings if work is not None else None
            self.session.append(Prompt(text=text, images=images, strategy=strategy))
            self.loop.inbox.extend(map(HarnessText, notes))
            if self._late_conclusion.built is not None or self.settings.verify.reproduce:
                told = await self.conclusion.prepare_turn(text)
                if isinstance(told, TellModel):
                    self.loop.inbox.append(HarnessText(told.text))
                elif isinstance(told, StopTurn):
                    cut_off = told.end
        else:
            from agent.turn.resume import replay_interrupted_turn

            followers = (self.conclusion.track_event, self.bounds.handle_event)
            cut_off = replay_interrupted_turn(self.session.replayed, self.toolbox, followers)
        await prepare_model(self.model)
        await self.start_mcp_servers()
        self.profile.fit(self.model, prompt or "")
        return cut_off

    async def start_mcp_servers(self) -> None:
        """Start the MCP servers of the settings, once, and offer their tools from the next request on."""
        if self.mcp is None:
            return
        from agent.turn.server_tools import start_servers

        only = self.environment.request.tools if self.environment is not None else None
        wanted, window = self.settings.tools.tool_search, self.model.window
        await start_servers(self.mcp, self.toolbox, self.session, only=only, wanted=wanted, window=window)

    def _get_rules_monitor(self, make: bool) -> RulesMonitor | None:
        if self.rules_monitor is None and make:
            self.loop.monitors.add_monitor(self._create_rules_monitor())
        return self.rules_monitor

    def _create_rules_monitor(self) -> RulesMonitor:
        from agent.rules.rules_monitor import RulesMonitor

        self.workspace.content_guard = self.rules_monitor = monitor = RulesMonitor(
            self.settings.rules,
            self.workspace,
            ends=frozenset(tool.name for tool in self.toolbox if tool.ends),
            snapshots=self.snapshots,
            parent=self.environment.request.rule_state if self.environment is not None else None,
            tell=self.session.append,
        )
        return monitor

    async def switch_model(self, model: Model) -> None:
        """Use another model from the next request on."""
        old, self.model = self.model, self.apply_action_format(model)
        self.loop.model = self.model
        self.loop.compressor.cold = True
        self.loop.compressor.window_limit = None
        self.workspace.facts["model"] = model.name
        await old.close()

    @property
    def is_turn_running(self) -> bool:
        """Whether a turn is running."""
        return self._task is not None

    def interrupt(self) -> None:
        """Handle Ctrl-C: cancel the step, or the turn if no step is running."""
        if self.loop.is_stepping:
            self.loop.interrupt()
        elif self._task is not None:
            self._task.cancel()

    def stop(self) -> None:
        """End the turn now (SIGTERM, SIGHUP, a closed terminal)."""
        self.loop.stop()
        if not self.loop.is_stepping and self._task is not None:
            self._task.cancel()

    async def run_harness_action(self, tool: str, arguments: dict[str, object]) -> Observation:
        """Run an action of the harness, or of the user between turns: judged, run and logged like a model's."""
        self._harness_actions += 1
        action = Action(
            id=f"harness-{self.session.id}-{self._harness_actions}", tool=tool, arguments=arguments
        )
        return (await self.loop.gateway.run([action]))[0]

    async def close(self) -> None:
        """Release the model's connections, the kernel, language servers, the snapshots and the log."""
        at = self.workspace
        await close_parts(self.team, self.hooks, self.telemetry, at.kernel, at.servers, self.mcp)
        if (recall_index := find_built(self.recall_index)) is not None:
            recall_index.close()
        await close_parts(at.background)
        await self.model.close()
        if (side_calls := find_built(self.side_calls)) is not None:
            await side_calls.roles.close()
        with suppress(UserError):  # a full disk: the turn has reported it
            await self.session.wait_for_sync()
        self.checkpoints.save()
        if (snapshots := find_built(self.snapshots)) is not None:
            await asyncio.to_thread(snapshots.close)
        self.session.close()

    def _record_side_call(self, call: SideCall) -> None:
        self.purse.add_usage(call.usage, "" if call.problem else call.model)
        self.session.announce(call)

    def _end_with_error(self, error: Exception) -> End:
        from agent.turn.turn_error import describe_error

        event, outcome = describe_error(error, self.session.folder)
        self.session.announce(event)
        return self.conclusion.create_end_event(outcome, event.message, self.loop.tally)
