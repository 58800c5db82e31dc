"""One trial from its order to its result: a session in a fresh worktree, then the checker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.limit_settings import LimitSettings
from agent.budget.limits import build_limits
from agent.evaluation.runs.model_user import ModelUser, open_user
from agent.evaluation.runs.result_store import shorten_key
from agent.evaluation.runs.trial_order import TrialOrder
from agent.evaluation.runs.trial_place import CheckOutcome, SetupFailed, TrialPlace
from agent.evaluation.runs.trial_result import CLAIMS, INVALID, MOST_PATCH, FailureClass, TrialResult
from agent.evaluation.tasks.task_file import TaskLimits
from agent.evaluation.tasks.task_folder import Task, load_task
from agent.events import (
    ActionEvent,
    ChildProgress,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    SideCall,
    UsageRecord,
)
from agent.exit_codes import BY_FAULT, Exit
from agent.session_request import SessionRequest
from agent.strategy.strategy_table import choose_work
from agent.team.answers_file import PreparedAnswers
from agent.team.attach import attach_person, attach_team
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import UnsafeFileError

OnSpend = Callable[[UsageRecord], None]
OnPart = Callable[[float], None]

_BY_EXIT: Mapping[int, FailureClass] = {
    Exit.TESTS_FAIL: "tests-fail",
    Exit.NOTHING_TO_DO: "gave-up",
    Exit.NOT_ACHIEVED: "gave-up",
    Exit.NO_TEST_RUNNER: "wrong",
    Exit.LIMIT: "limit",
    Exit.DENIED: "denied",
    Exit.MODEL_UNREACHABLE: "model-unreachable",
    Exit.CREDENTIALS: "credentials",
    Exit.CONFIGURATION: "configuration",
    Exit.NOT_A_REPOSITORY: "configuration",
    Exit.USAGE: "configuration",
    Exit.STORAGE_FULL: "storage",
    Exit.READ_ONLY: "storage",
    Exit.INTERNAL: "internal",
    Exit.INTERRUPTED: "crashed",
}

HONEST = frozenset(("wrong", "tests-fail", "gave-up", "denied"))
"""Classes of a turn that the agent ended by itself: with no change of files, a refusal."""


class _Tally:
    """Counts what a session spends and calls, with its children's spending."""

    def __init__(self, on_spend: OnSpend) -> None:
        self.calls = 0
        self.failures = 0
        self._on_spend = on_spend

    def handle_event(self, event: Event) -> None:
        match event:
            case ActionEvent():
                self.calls += not event.call.startswith("harness-")
            case ObservationEvent():
                self.failures += event.failed and not event.call.startswith("harness-")
            case MessageEvent() | SideCall():
                self._on_spend(event.usage)
            case ChildProgress():
                if event.event.get("kind") in ("message", "side-call"):
                    self._on_spend(_read_usage(event.event.get("usage")))


def _read_usage(usage: object) -> UsageRecord:
    if isinstance(usage, UsageRecord):
        return usage
    known = vars(UsageRecord())
    return (
        UsageRecord(**{name: value for name, value in usage.items() if name in known})
        if isinstance(usage, dict)
        else UsageRecord()
    )


@dataclass(slots=True)
class _Work:
    """What the agent did over its turns."""

    ends: list[End]
    usage: UsageRecord
    seconds: float
    calls: int
    failures: int
    session: str
    sandbox: str
    user: UsageRecord | None

    @property
    def last(self) -> End:
        return self.ends[-1]


async def run_trial(
    order: TrialOrder, on_spend: OnSpend = lambda usage: None, on_part: OnPart = lambda seconds: None
) -> TrialResult:
    """Run a trial. Raises nothing for what a task, an agent or a model does: the result says it.

    on_spend: called with the usage of each call of a model, so that it is known even if this process dies
    on_part: called with the seconds of the part that begins, the agent's and then the checker's, so that who started
        this process can end a part that does not end by itself
    """
    started = time.monotonic()
    try:
        task = load_task(order.folder)
        if task.digest != order.digest:
            raise UserError(Fault.CONFIGURATION, f"task {task.name!r} was changed while the suite ran")
        result = await _run_in_place(task, order, on_spend, on_part)
    except SetupFailed as problem:
        result = _describe(order, "set-up", str(problem))
    except UserError as error:
        failure = _BY_EXIT.get(BY_FAULT.get(error.fault, Exit.INTERNAL), "configuration")
        result = _describe(order, failure if failure in INVALID else "configuration", error.message)
    except OSError as error:  # before the agent, or beside its session: a full disk, say
        result = _describe(order, "storage", str(error))
    return replace(result, seconds=round(time.monotonic() - started, 3))


async def _run_in_place(task: Task, order: TrialOrder, on_spend: OnSpend, on_part: OnPart) -> TrialResult:
    place = await TrialPlace.open(
        task, order.folders.scratch, shorten_key(order.key), order.folders.home, order.settings.access
    )
    try:
        work = await _run_agent(task, order, place, on_spend, on_part)
        on_part(order.total_seconds)
        patch: bytes | None = None
        try:
            patch = await asyncio.to_thread(place.build_patch)
        except (UserError, OSError) as error:  # files that cannot be read, say: the agent made them
            work.ends[-1] = replace(work.last, summary=f"its change cannot be read: {error}")
        return await _judge(task, order, place, work, patch)
    finally:
        await asyncio.to_thread(place.close)


async def _run_agent(
    task: Task, order: TrialOrder, place: TrialPlace, on_spend: OnSpend, on_part: OnPart
) -> _Work:
    settings = replace(
        order.settings, limits=_lower_limits(order.settings.limits, task.file.limits, order.max_cost)
    )
    request = SessionRequest(
        working=place.work,
        offer_commit=False,
        version=order.version,
        sessions=order.folders.sessions,
        instructions=order.instructions,
    )
    runtime = assemble_runtime(settings, request, place.home)
    try:
        tally = _Tally(on_spend)
        runtime.session.subscribe(tally.handle_event)
        _attach_parts(runtime, task, place.home)
        started = time.monotonic()
        on_part(settings.limits.max_time)
        async with open_user(runtime, task, order, on_spend) as user:
            ends = await _run_turns(runtime, task, settings.limits, user)
        usage = UsageRecord()
        for end in ends:
            usage.add(end.usage)
        return _Work(
            ends=ends,
            usage=usage,
            seconds=round(time.monotonic() - started, 3),
            calls=tally.calls,
            failures=tally.failures,
            session=runtime.session.id,
            sandbox=runtime.workspace.sandbox.name,
            user=user.usage if user is not None else None,
        )
    finally:
        await runtime.close()


def _attach_parts(runtime: Runtime, task: Task, home: Home) -> None:
    """Attach what a one-shot run of the command has, and the scripted user."""
    settings = runtime.settings
    if settings.verify.has_optional_checks:
        from agent.verify.optional_checks import attach_checks

        attach_checks(runtime)
    if runtime.model.name != "offline":
        from agent.lead.lead_monitor import attach_lead

        attach_team(runtime, home)
        attach_lead(runtime)
        if task.file.tools:
            from agent.evaluation.runs.task_tools import rename_task_tools

            rename_task_tools(runtime, task.file.tools)
        if task.file.user.answers:
            attach_person(runtime, PreparedAnswers(by_words=task.file.user.answers), stays_open=False)
    if settings.verify.review:
        from agent.verify.review.review_verifier import add_reviewer

        add_reviewer(runtime)


async def _run_turns(
    runtime: Runtime, task: Task, limits: LimitSettings, user: ModelUser | None
) -> list[End]:
    """Run the prompt, then the follow-ups while the turns end by themselves; all within the task's limits."""
    ends: list[End] = []
    deadline = time.monotonic() + limits.max_time
    prompts = [task.prompt, *task.file.user.follow_ups]
    while prompts:
        prompt = prompts.pop(0)
        seconds = deadline - time.monotonic()
        left = _subtract_spending(limits, ends, seconds)
        if left is None:
            ends[-1] = replace(ends[-1], exit_code=Exit.LIMIT, outcome=Exit.LIMIT.label)
            break
        runtime.purse.limits = build_limits(left)
        work = choose_work(runtime, runtime.settings.strategy, prompt)
        timer = asyncio.get_running_loop().call_later(seconds, runtime.stop)
        ends.append(await runtime.run_turn(prompt, work))
        timer.cancel()
        if user is not None and user.problem is not None:
            raise user.problem
        if _BY_EXIT.get(ends[-1].exit_code, "wrong") not in HONEST:
            break
        if user is not None:
            prompts += await user.list_follow_ups(ends, deadline - time.monotonic())
    if time.monotonic() >= deadline and ends[-1].exit_code == Exit.INTERRUPTED:
        ends[-1] = replace(ends[-1], exit_code=Exit.LIMIT, outcome=Exit.LIMIT.label)
    return ends


def _subtract_spending(limits: LimitSettings, ends: Sequence[End], seconds: float) -> LimitSettings | None:
    """Return what earlier turns left of the limits, None if one of them is used up."""
    usage = UsageRecord()
    for end in ends:
        usage.add(end.usage)
    steps = limits.max_steps - sum(each.steps for each in ends)
    cost = None if limits.max_cost is None else limits.max_cost - (usage.cost or 0.0)
    tokens = None if limits.max_tokens is None else limits.max_tokens - usage.input - usage.output
    if ends and any(each is not None and each <= 0 for each in (steps, seconds, cost, tokens)):
        return None
    return LimitSettings(max_steps=steps, max_time=max(seconds, 0.0), max_cost=cost, max_tokens=tokens)


async def _judge(
    task: Task, order: TrialOrder, place: TrialPlace, work: _Work, patch: bytes | None
) -> TrialResult:
    """Return the result. patch: None if the agent left files that cannot be read, which is a change"""
    end = work.last
    too_large = patch is not None and len(patch) > MOST_PATCH
    result = TrialResult(
        key=order.key,
        task=task.name,
        digest=task.digest,
        variant=order.label,
        trial=order.trial,
        solved=False,
        score=0.0,
        failure=_classify_end(end, order.settings.model),
        outcome=end.outcome,
        detail=_one_line(end.summary),
        tokens_in=work.usage.input,
        tokens_cached=work.usage.cached,
        tokens_out=work.usage.output,
        cost=_find_cost(work.usage),
        agent_seconds=work.seconds,
        steps=sum(each.steps for each in work.ends),
        tool_calls=work.calls,
        tool_failures=work.failures,
        user_tokens=work.user.input + work.user.output if work.user is not None else 0,
        user_cost=_find_cost(work.user) if work.user is not None else None,
        session=work.session,
        sandbox=work.sandbox,
        patch=(b"" if too_large else (patch or b"")).decode("utf-8", "replace"),
        language=task.file.language,
        tags=task.file.tags,
    )
    if not result.is_valid or result.failure == "crashed":
        return result
    is_changed = patch is None or bool(patch.strip())
    if task.file.expect == "refuse" and (problem := _find_missing_refusal(task, end, result, is_changed)):
        return replace(result, detail=problem)
    told = f"its change of {len(patch) >> 20} MB is not kept" if patch and too_large else ""
    found = CheckOutcome(ended="passed", score=1.0)
    if task.file.check.strip():
        found = await _check_work(place, end)
    return replace(
        result,
        solved=found.passed,
        score=found.score,
        failure="" if found.passed else _name_failure(found, result, is_changed),
        detail=told if found.passed else found.detail or result.detail,
    )


async def _check_work(place: TrialPlace, end: End) -> CheckOutcome:
    """Run the checker. Files of the agent on which it cannot run fail the trial, whose cost is known by now."""
    try:
        return await place.check(answer=end.summary, outcome=end.outcome)
    except (OSError, UnsafeFileError) as error:
        return CheckOutcome(ended="failed", score=0.0, detail=f"the checker cannot run: {error}")


def _find_cost(usage: UsageRecord) -> float | None:
    """Return the dollars of a trial: nothing where no model was called, None if a price is unknown."""
    return 0.0 if usage.cost is None and not usage.input + usage.output else usage.cost


def _classify_end(end: End, model: str) -> FailureClass:
    """Return the class of a turn's end, should the task not be solved."""
    if model == "offline" and end.exit_code == Exit.CONFIGURATION:  # "this needs a model"
        return "gave-up"
    return _BY_EXIT.get(end.exit_code, "wrong")


def _find_missing_refusal(task: Task, end: End, result: TrialResult, is_changed: bool) -> str:
    """Return why a turn is no refusal, "" if it is one: no change, and an answer of the agent's own.

    Whether an answer claims success, a checker says, which reads it; without one, the outcome.
    """
    if is_changed:
        return "files were changed where a refusal was expected"
    if result.failure not in HONEST or not end.summary.strip():
        return "no answer where a refusal was expected"
    if result.outcome in CLAIMS and not task.file.check.strip():
        return "a claim of success where a refusal was expected"
    return ""


def _name_failure(found: CheckOutcome, result: TrialResult, is_changed: bool) -> FailureClass:
    if found.ended == "timeout":
        return "checker-time"
    return "no-change" if result.failure == "wrong" and not is_changed else result.failure


def _lower_limits(own: LimitSettings, task: TaskLimits, left: float | None) -> LimitSettings:
    """Return the lower of both limits, each."""
    costs = [each for each in (own.max_cost, task.cost, left) if each is not None]
    tokens = [each for each in (own.max_tokens, task.tokens) if each is not None]
    return LimitSettings(
        max_steps=min(own.max_steps, task.steps),
        max_time=min(own.max_time, task.seconds),
        max_cost=min(costs) if costs else None,
        max_tokens=min(tokens) if tokens else None,
    )


def _describe(order: TrialOrder, failure: FailureClass, detail: str) -> TrialResult:
    """Return the result of a trial that the agent never ended."""
    return TrialResult(
        key=order.key,
        task=order.task,
        digest=order.digest,
        variant=order.label,
        trial=order.trial,
        solved=False,
        score=0.0,
        failure=failure,
        detail=_one_line(detail),
    )


def describe_lost_trial(
    order: TrialOrder, failure: FailureClass, detail: str, spent: UsageRecord, seconds: float
) -> TrialResult:
    """Return the result of a trial that was ended from outside, with what it had spent."""
    return replace(
        _describe(order, failure, detail),
        tokens_in=spent.input,
        tokens_cached=spent.cached,
        tokens_out=spent.output,
        cost=spent.cost,
        seconds=round(seconds, 3),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
