"""One trial from its order to its result: a session in a fresh worktree, then the checker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
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
from agent.team.answers_file import PreparedAnswers
from agent.team.attach import attach_person, attach_team
from agent.turn.lead_monitors import attach_lead
from agent.turn.runtime import Runtime
from agent.turn.turn_verdict import BELIED_CLAIMS
from packages.evaluation.runs.model_user import open_user
from packages.evaluation.runs.result_store import shorten_key
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_place import CheckOutcome, SetupFailed, TrialPlace
from packages.evaluation.runs.trial_result import CLAIMS, INVALID, MOST_PATCH, FailureClass, TrialResult
from packages.evaluation.runs.trial_spending import TrialSpending
from packages.evaluation.runs.trial_turns import (
    BY_EXIT,
    BY_REASON,
    HONEST,
    AgentClock,
    lower_limits,
    run_turns,
)
from packages.evaluation.tasks.task_folder import Task, load_task
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension
from sandbox.fs.regular_file import UnsafeFileError
from sandbox.lazy_dataclass import dataclass

OnSpend = Callable[[UsageRecord], None]
OnPart = Callable[[float], None]


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
        failure = BY_EXIT.get(BY_FAULT.get(error.fault, Exit.INTERNAL), "configuration")
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
        order.settings, limits=lower_limits(order.settings.limits, task.file.limits, order.max_cost)
    )
    if task.file.tools:
        from packages.evaluation.runs.renamed_tools import keep_to_one_session

        settings = keep_to_one_session(settings)
    request = SessionRequest(
        working=place.work,
        offer_commit=False,
        version=order.version,
        sessions=order.folders.sessions,
        instructions=order.instructions,
    )
    runtime = assemble_runtime(settings, request, place.home)
    spending = TrialSpending(share=order.max_cost)

    def count(usage: UsageRecord) -> None:
        spending.add(usage)
        on_spend(usage)

    try:
        tally = _Tally(count)
        runtime.session.subscribe(tally.handle_event)
        _attach_parts(runtime, task, place.home)
        started = time.monotonic()
        on_part(settings.limits.max_time)
        clock = AgentClock(runtime, settings.limits.max_time, on_part)
        async with open_user(runtime, task, order, count, spending) as user:
            ends = await run_turns(runtime, task, settings.limits, user, clock, spending)
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
        attach_team(runtime, home)
        attach_lead(runtime)
        if task.file.tools:
            from packages.evaluation.runs.renamed_tools import rename_task_tools

            rename_task_tools(runtime, task.file.tools)
        if task.file.user.answers:
            attach_person(runtime, PreparedAnswers(by_words=task.file.user.answers), stays_open=False)
    if settings.verify.review:
        load_extension("checks", "review")(runtime)


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
    return BY_REASON.get(end.reason or "") or BY_EXIT.get(end.exit_code, "wrong")


def _find_missing_refusal(task: Task, end: End, result: TrialResult, is_changed: bool) -> str:
    """Return why a turn is no refusal, "" if it is one: no change, and an answer of the agent's own.

    Whether an answer claims success, a checker says, which reads it; without one, the end of the turn.
    """
    if is_changed:
        return "files were changed where a refusal was expected"
    if result.failure not in HONEST or not end.summary.strip():
        return "no answer where a refusal was expected"
    is_claim = result.outcome in CLAIMS or end.reason in BELIED_CLAIMS
    if is_claim and not task.file.check.strip():
        return "a claim of success where a refusal was expected"
    return ""


def _name_failure(found: CheckOutcome, result: TrialResult, is_changed: bool) -> FailureClass:
    if found.ended == "timeout":
        return "checker-time"
    return "no-change" if result.failure == "wrong" and not is_changed else result.failure


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
    order: TrialOrder, failure: FailureClass, detail: str, spent: TrialSpending, seconds: float
) -> TrialResult:
    """Return the result of a trial that was ended from outside, with what it had spent."""
    return replace(
        _describe(order, failure, detail),
        tokens_in=spent.agent.input,
        tokens_cached=spent.agent.cached,
        tokens_out=spent.agent.output,
        cost=spent.agent.cost,
        user_tokens=spent.user.input + spent.user.output,
        user_cost=_find_cost(spent.user) if order.user_model else None,
        seconds=round(seconds, 3),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
