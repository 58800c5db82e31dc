"""The gateway: every action is parsed, judged, run and answered here, whoever requested it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Approver, Decision, Policy
from sandbox.policy.effects import Effect
from tools.changes.change_tracker import CommandTracking, Snapshotter, TrackedCommand
from tools.core.action import Action, Observation, ToolFailure, current_action
from tools.core.action_guard import BegunAction, Guard
from tools.core.action_hooks import NO_ADVICE, ActionHooks, HookAdvice
from tools.core.action_marks import describe_undone, mark_guarded_paths
from tools.core.call_aliases import translate_call, unwrap_call
from tools.core.observation_shape import shape_observation
from tools.core.registry import Tool, Toolbox
from tools.core.snapshot_spans import SnapshotLog, SnapshotSpans, Span, list_spoiled_files
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement


class Recorder(SnapshotLog, Protocol):
    """The log, as the gateway uses it. Calls come in the order of the events."""

    def record_action(self, action: Action, effect: Effect) -> None: ...
    def record_decision(self, action: Action, decision: Decision, by: str) -> None: ...
    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None: ...


class Gateway:
    """parse → validate → classify → policy → snapshot → run → shape → record."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        workspace: Workspace,
        policy: Policy,
        recorder: Recorder,
        snapshots: Snapshotter | None = None,
        approver: Approver | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.toolbox = toolbox
        self.workspace = workspace
        self.policy = policy
        self.approver = approver
        self._guard = guard
        self._recorder = recorder
        self.snapshots = snapshots
        self.hooks: ActionHooks | None = None
        self.tracking = CommandTracking()
        self._spans = SnapshotSpans(workspace, recorder)
        self._open: set[str] = set()  # ids of the batch's actions without an observation so far
        self._taken: set[tuple[str, str]] = set()  # (name called, tool used), of which the model was notified
        self._followed_now: TrackedCommand | None = None  # the running command, if any
        # set when the policy has decided: for the concurrent actions, in order
        self._passed: dict[str, asyncio.Event] = {}
        self._asked: dict[str, float] = {}  # seconds that an approval took, by action: not the action's own
        self._notes: dict[str, str] = {}  # by id of the action, for its observation

    async def run(self, actions: Sequence[Action]) -> list[Observation]:
        """Run one batch: adjacent read-only actions concurrently, all others in order.

        An action of a batch may run another batch: an agent's changes are merged while others are at work.
        Each action is answered by exactly one recorded observation, also when the batch is cancelled.
        """
        await self.tracking.settle()
        actions = [self._translate_call(action) for action in actions]
        answered: dict[int, Observation] = {}
        self._open |= {action.id for action in actions}  # beside those of a batch that runs this one
        try:
            for group in self._group_actions(actions):
                passed = {actions[i].id: asyncio.Event() for i in group}
                self._passed = {**self._passed, **passed}
                try:
                    # return_exceptions: also when cancelled, wait for each of them to record its own end
                    results = await asyncio.gather(
                        *(self._run_action(actions[i], Span()) for i in group), return_exceptions=True
                    )
                finally:
                    self._passed = {key: each for key, each in self._passed.items() if key not in passed}
                for i, result in zip(group, results, strict=True):
                    if isinstance(result, BaseException):
                        raise result
                    answered[i] = result
        except BaseException:  # also on an interrupt, every action is answered; the error is raised again
            for action in actions:
                if action.id in self._open:  # those that had started have recorded their own end
                    self._record_observation(
                        action, Observation(text="not run: the step was interrupted", failed=True), 0.0
                    )
            raise
        return [answered[i] for i in range(len(actions))]

    async def run_nested(self, action: Action) -> Observation:
        """Run an action requested by the code of a running action: judged, logged and shaped like any other."""
        return await self._run_action(self._translate_call(action), None)

    async def record_pending_snapshot(self) -> None:
        """Record the snapshot after an interrupted action that may have written; called at the end of the turn."""
        if self.snapshots is not None:
            await self._spans.end_interrupted(self.snapshots)

    def _translate_call(self, action: Action) -> Action:
        """Translate an action to one of our tools; on its first use, add a note on the correct call."""
        action = unwrap_call(action, self.toolbox)
        ours = translate_call(action, self.toolbox)
        tool = self.toolbox.get(ours.tool)
        if ours is not action and tool is not None and (action.tool, ours.tool) not in self._taken:
            self._taken.add((action.tool, ours.tool))
            self._notes[action.id] = f"note: this call was taken as {tool.signature}; call it so"
        return ours

    def _group_actions(self, actions: Sequence[Action]) -> list[list[int]]:
        groups: list[list[int]] = []
        together = False
        for i, action in enumerate(actions):
            tool = self.toolbox.get(action.tool)
            reads = tool is not None and tool.may_run_beside(action.arguments)
            if reads and together:
                groups[-1].append(i)
            else:
                groups.append([i])
            together = reads
        return groups

    async def _run_action(self, action: Action, span: Span | None) -> Observation:
        """Run and record one action. span: None for a nested action, which is part of the outer one's span"""
        started = time.monotonic()
        outer = current_action.set(action.id)
        try:
            observation = await self._execute(action, span)
        except ToolFailure as failure:
            observation = Observation(text=str(failure), data=failure.data, failed=True)
        except UserError as error:
            text = f"{action.tool}: {error.message}" + (f"\n{error.hint}" if error.hint else "")
            observation = Observation(text=text, data={"fault": error.fault}, failed=True)
            self._record_observation(action, observation, self._measure_seconds(action, started))
            if error.fault is Fault.STORAGE_FULL:
                raise  # the model cannot fix that: the turn ends with its work kept
            return observation
        except asyncio.CancelledError:
            text = "interrupted; it may have taken effect in part"
            self._record_observation(
                action, Observation(text=text, failed=True), self._measure_seconds(action, started)
            )
            raise
        except Exception as error:  # an internal error in one tool must not end the session
            text = f"{action.tool}: internal error: {type(error).__name__}: {error}"
            observation = Observation(text=text, data={"internal": repr(error)}, failed=True)
        finally:
            self._mark_passed(action)  # or failed before that
            current_action.reset(outer)
        if self.hooks is not None and self.hooks.follows(action):
            try:
                observation = await self._run_after_hooks(self.hooks, action, observation, span)
            except asyncio.CancelledError:  # the action itself has ended
                self._record_observation(action, observation, self._measure_seconds(action, started))
                raise
        observation = self._record_observation(action, observation, self._measure_seconds(action, started))
        # Changes between two spans are the user's, and so are changes within one other than its tool's recorded writes.
        if span is not None and span.before and self.snapshots is not None:
            await self._spans.end(span, self.snapshots)
        return observation

    def _measure_seconds(self, action: Action, started: float) -> float:
        """Return the seconds since `started`, without the time of the approval."""
        return time.monotonic() - started - self._asked.pop(action.id, 0.0)

    async def _execute(self, action: Action, span: Span | None) -> Observation:
        tool = self.toolbox.get(action.tool)
        if tool is None:
            raise ToolFailure(self.toolbox.describe_unknown_tool(action.tool))
        if action.problem:
            raise ToolFailure(f"{tool.name}: {action.problem}\nArguments of {tool.name}: {tool.signature}")
        arguments = tool.validate(action.arguments)
        effect = tool.effect_of(arguments, self.workspace)
        advice = NO_ADVICE
        if self.hooks is not None:
            advice = await self.hooks.before_action(action, effect)
            if advice.arguments is not None:
                action = replace(action, arguments=advice.arguments)
                arguments = tool.validate(advice.arguments)
                effect = tool.effect_of(arguments, self.workspace)
            self._add_note(action, advice.note)
        self._recorder.record_action(action, effect)
        command, permitted = await self._permit(action, effect, advice)
        if permitted is not action:  # the person wants another text in its file
            action, tool = permitted, self.toolbox.get(permitted.tool) or tool
            arguments = tool.validate(action.arguments)
        await self._ask_guard(BegunAction(action=action, effect=effect, command=command))
        written = effect.paths if effect.kind == "write" else list_spoiled_files(command, self.workspace.root)
        if written and self.snapshots is not None:
            await self._spans.cover_writes(written, self.snapshots)
        if effect.kind not in ("none", "read") and span is not None and self.snapshots is not None:
            await self._spans.begin(span, self.snapshots)
        if command is not None and self._runs_git(action, command):  # git's changes are not the session's
            return await tool.run(**arguments, at=self.workspace)
        if self.snapshots is not None and (effect.argv or (tool.is_tracked and effect.kind == "write")):
            return await self._run_tracked(tool, arguments, self.snapshots, span)
        if effect.kind == "git" and self._followed_now is not None:
            async with self._followed_now.pause():  # so that it commits the command's changes so far
                return await tool.run(**arguments, at=self.workspace)
        if (shared := self.workspace.shared_results) is not None and tool.name in shared.tools:
            return await shared.run(tool, arguments, self.workspace)
        return await tool.run(**arguments, at=self.workspace)

    async def _run_tracked(
        self, tool: Tool, arguments: dict[str, Any], snapshots: Snapshotter, span: Span | None
    ) -> Observation:
        """Run a command of the model and record its changes, which a commit or an undo needs."""
        guard = self.workspace.content_guard
        outer, followed = self._followed_now, TrackedCommand(snapshots, self.workspace.changes, guard)
        await followed.begin(span.before if span is not None else "")
        self._followed_now = followed
        try:
            async with self.tracking.follow(followed):
                observation = await tool.run(**arguments, at=self.workspace)
        finally:
            self._followed_now = outer
        if span is not None:
            span.after = followed.after_tree
        if followed.undone:
            observation = describe_undone(observation, followed.undone)
        if not followed.paths:
            return observation
        if observation.failed:
            self.workspace.revert_failed_command = followed.revert
        return replace(observation, data={**observation.data, "changed": list(followed.paths)})

    async def _run_after_hooks(
        self, hooks: ActionHooks, action: Action, observation: Observation, span: Span | None
    ) -> Observation:
        """Run the hooks after an action. What they change counts as the action's: a formatter's work is committed."""
        if self.snapshots is None or span is None or not span.before:
            return await hooks.after_action(action, observation)
        followed = TrackedCommand(self.snapshots, self.workspace.changes, self.workspace.content_guard)
        await followed.begin(span.after)
        try:
            async with self.tracking.follow(followed):
                return await hooks.after_action(action, observation)
        finally:
            span.after = followed.after_tree

    async def _permit(
        self, action: Action, effect: Effect, advice: HookAdvice = NO_ADVICE
    ) -> tuple[Judgement | None, Action]:
        """Return an action's command line, parsed, and the action as edited by a person. Raises ToolFailure."""
        decision, command = await asyncio.to_thread(self._judge, action, effect)
        decision, by = advice.apply(decision, self.policy.approval)
        if decision.verdict == "ask":
            can_edit = self.toolbox.get("write") is not None
            decision, by = await self._ask_person(action, effect, replace(decision, can_edit=can_edit))
        self._mark_passed(action)
        self._apply_decision(action, decision, by)
        if decision.content is not None:
            action = await self._edit_action(action, effect, decision.content)
        return command, action

    async def _edit_action(self, action: Action, effect: Effect, content: str) -> Action:
        """Return the action that gives the file the text that a person chose; the model is told what it does."""
        from tools.core.edited_action import replace_by_text  # hardly any session needs it

        edited = await asyncio.to_thread(replace_by_text, action, effect.paths[0], content, self.workspace)
        diff = (await self._add_change(edited, effect)).change
        self._add_note(action, f"note: the user edited this change before it was applied; now it is:\n{diff}")
        return edited

    async def _ask_person(
        self, action: Action, effect: Effect, question: Decision, hint: str = ""
    ) -> tuple[Decision, str]:
        """Return a person's decision, or a denial where nobody can be asked, and who decided."""
        if self.hooks is not None and (answer := await self.hooks.answer_question(action, effect, question)):
            return answer, "hook"
        if self.approver is None:
            reason = f"{question.reason}, and nobody can be asked{hint}"
            return Decision(verdict="deny", reason=reason), "policy"
        await self._wait_for_earlier_actions(action)
        self._mark_passed(action)  # the next action proceeds once this question was asked
        asked = time.monotonic()
        try:
            return await self._ask_about_change(self.approver, action, effect, question), "person"
        finally:
            self._asked[action.id] = self._asked.get(action.id, 0.0) + time.monotonic() - asked

    async def _ask_about_change(
        self, approver: Approver, action: Action, effect: Effect, question: Decision
    ) -> Decision:
        """Ask with what the action would write; again if its file changes before the answer, so that it is that."""
        shown = await self._add_change(action, effect)
        for _ in range(_CHANGES_WHILE_ASKED):
            decision = await approver.ask(action.tool, shown, question)
            now = await self._add_change(action, effect)
            if decision.verdict != "allow" or now.change == shown.change:
                return decision
            shown = now
        return Decision(verdict="deny", reason="its file changes again and again while the user is asked")

    async def _add_change(self, action: Action, effect: Effect) -> Effect:
        """Return the effect with what the action would write now."""
        tool = self.toolbox.get(action.tool)
        if tool is None or tool.preview is None:
            return effect
        arguments = tool.validate(action.arguments)
        return replace(effect, change=await asyncio.to_thread(tool.preview, arguments, self.workspace))

    def _apply_decision(self, action: Action, decision: Decision, by: str) -> None:
        if by != "policy" or decision.verdict != "allow":
            self._recorder.record_decision(action, decision, by)
        if decision.verdict != "allow":
            raise ToolFailure(f"{action.tool}: denied: {decision.reason}", denied=True)

    def _mark_passed(self, action: Action) -> None:
        if (passed := self._passed.get(action.id)) is not None:
            passed.set()

    async def _wait_for_earlier_actions(self, action: Action) -> None:
        """Wait for the decisions on earlier actions: questions are asked in the order of the actions."""
        for each, passed in self._passed.items():
            if each == action.id:
                return
            await passed.wait()

    def _add_note(self, action: Action, note: str) -> None:
        """Add a note, if there is one, to the observation of an action."""
        if note:
            self._notes[action.id] = "\n".join(filter(None, (self._notes.get(action.id), note)))

    async def _ask_guard(self, begun: BegunAction) -> None:
        if self._guard is None:
            return
        action, advice = begun.action, await self._guard.check_action(begun)
        if advice.refusal:
            raise ToolFailure(f"{action.tool}: not done: {advice.refusal}", out_of_order=True)
        self._add_note(action, advice.note)
        if advice.question:
            question = Decision(verdict="ask", reason=advice.question, asks_anew=True)
            hint = f". Instead: {advice.hint}" if advice.hint else ""
            if self.policy.approval is Approval.NEVER:
                reason = f"{question.reason}, and nobody can be asked{hint}"
                self._apply_decision(action, Decision(verdict="deny", reason=reason), "policy")
            self._apply_decision(action, *await self._ask_person(action, begun.effect, question, hint))

    def _judge(self, action: Action, effect: Effect) -> tuple[Decision, Judgement | None]:
        """Return the policy's decision, and the parsed command line of an action that has one."""
        confined = self.workspace.sandbox.name != "unconfined"
        if effect.argv:
            import shlex

            from sandbox.policy.shell import judge_command_line

            root = self.workspace.root
            line = effect.argv[2] if effect.argv[:2] == ("bash", "-c") else shlex.join(effect.argv)
            command = judge_command_line(line, root=root)
            decision = self.policy.decide_command(command, root=root, confined=confined)
            if decision.verdict == "ask" and confined and not self._runs_git(action, command):
                from sandbox.policy.shell.git_lines import explain_hopeless_line

                if hopeless := explain_hopeless_line(command):  # nobody is asked for what cannot be done
                    decision = Decision(verdict="deny", reason=hopeless)
            return decision, command
        paths = tuple(self._normalize_path(each) for each in effect.paths)
        judged = mark_guarded_paths(replace(effect, paths=paths), self.workspace.root)
        tool = self.toolbox.get(action.tool)
        if judged.kind == "write" and not judged.outside and tool is not None and tool.preview is not None:
            from tools.core.hook_field_edits import mark_hook_fields

            judged = mark_hook_fields(judged, tool, action.arguments, self.workspace)
        return self.policy.decide(judged, confined=confined, tool=effect.server_tool or action.tool), None

    def _runs_git(self, action: Action, command: Judgement) -> bool:
        """Return whether the shell tool runs this as git commands outside the sandbox."""
        from tools.core.git_lines import find_git_commands

        line = str(action.arguments.get("command", ""))
        return action.tool == "shell" and bool(find_git_commands(self.workspace, line, command))

    def _normalize_path(self, path: str) -> str:
        """Return the path as rules name it: relative, links followed."""
        return self.workspace.files.find_relative(path) or path

    def _record_observation(self, action: Action, observation: Observation, seconds: float) -> Observation:
        if note := self._notes.pop(action.id, ""):
            observation = replace(observation, text=f"{observation.text}\n{note}")
        observation = shape_observation(observation, self.workspace.artifacts)
        self._open.discard(action.id)
        self._recorder.record_observation(action, observation, seconds)
        return observation


_CHANGES_WHILE_ASKED = 3
"""Questions about one action whose file others change meanwhile."""
