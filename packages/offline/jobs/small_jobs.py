"""The monitor that does a small model's job for it, but for the one thing that is asked of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import Event, MessageEvent, Prompt
from agent.monitor.answers import RequestAnswer, StopTurn, TurnEnd
from agent.monitor.monitor import Monitor
from sandbox.errors import UserError
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from packages.offline.jobs.desk import Desk, Outcome
    from packages.offline.jobs.job_reader import Job


class SmallJobs(Monitor):
    """Does the jobs of a session's prompts, each before the first request of its turn."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._prompt = ""

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Prompt):
            self._prompt = event.text

    async def before_request(self) -> Sequence[RequestAnswer]:
        prompt, self._prompt = self._prompt, ""
        if not prompt or self._runtime.profile.profile.name == "generic":
            return ()
        from packages.offline.jobs.job_reader import read_job

        job = read_job(prompt)
        if job is None or (job.kind != "question" and not self._may_write(job)):
            return ()
        try:
            outcome = await _do_job(self._runtime, job)
        except UserError:  # the model fails: the loop meets the same, and has its ways with it
            return ()
        if outcome is None:
            return ()
        model = self._runtime.loop.model.name
        self._runtime.session.append(MessageEvent(text=outcome.text, model=model))
        return [StopTurn(TurnEnd(reason="answer" if outcome.is_done else "empty", text=outcome.text))]

    def _may_write(self, job: Job) -> bool:
        return job.kind == "message" or self._runtime.policy.mode is not Mode.READ_ONLY


async def _do_job(runtime: Runtime, job: Job) -> Outcome | None:
    """Return how a job ended; None if the ordinary loop is to take it. Raises UserError."""
    from packages.offline.jobs.desk import Desk, NotDone, Outcome

    try:
        return await _run_job(Desk(runtime), job)
    except NotDone as reason:
        return Outcome(text=f"Not done: {reason}.", is_done=False)


async def _run_job(desk: Desk, job: Job) -> Outcome | None:
    """Run the function of a job's kind; modules are imported when their job comes."""
    match job.kind:
        case "question":
            from packages.offline.jobs.answer_job import answer

            return await answer(desk, job)
        case "docstring":
            from packages.offline.jobs.function_jobs import write_docstring

            return await write_docstring(desk, job)
        case "change":
            from packages.offline.jobs.function_jobs import change_function

            return await change_function(desk, job)
        case "test":
            from packages.offline.jobs.new_test_job import write_test

            return await write_test(desk, job)
        case "message":
            from packages.offline.jobs.message_job import suggest_message

            return await suggest_message(desk, job)
        case "rename":
            from packages.offline.jobs.symbol_jobs import rename

            return await rename(desk, job)
        case "parameter":
            from packages.offline.jobs.symbol_jobs import add_parameter

            return await add_parameter(desk, job)
