"""`run`: a whole task, by the same runtime as the terminal's sessions."""

from __future__ import annotations

from pydantic import BaseModel, Field

from agent.events import End, ErrorEvent, Event
from agent.exit_codes import Exit
from agent.session.images import defuse_mentions
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import OpenedRun, RunOrder, ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from sandbox.secrets.child_environment import redact

LONGEST_PROMPT = 200_000
LONGEST_ANSWER = 24_000
LONGEST_LINE = 200
"""Characters of a prompt, of an answer, and of a line of progress."""

MOST_FILES = 500

_FAILURES = frozenset(
    {
        Exit.USAGE,
        Exit.CONFIGURATION,
        Exit.MODEL_UNREACHABLE,
        Exit.CREDENTIALS,
        Exit.STORAGE_FULL,
        Exit.READ_ONLY,
        Exit.INTERNAL,
    }
)
"""Ends of a turn that are errors of the call; others are results."""


class RunArguments(Arguments):
    """Arguments of `run`."""

    prompt: str = Field(
        default="",
        max_length=LONGEST_PROMPT,
        description="The task. Empty only with a session whose last turn was cut off: goes on with it",
    )
    session: str = Field(default="", max_length=200, description="Id of a session to go on with")
    offline: bool = Field(
        default=False, description="Work without a model, by the offline engine: for failing tests"
    )
    commit: bool = Field(default=False, description="Commit the work once its tests pass")


class RunReport(BaseModel):
    """Result of a run. exit_code: as of `patchwright run`; session: to go on with it"""

    session: str
    outcome: str
    exit_code: int
    answer: str = ""
    files: list[str] = []
    commit: str = ""
    verification: str = ""
    steps: int = 0
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


async def run(arguments: RunArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Run a task to its end. Raises UserError if its session cannot be opened."""
    if not arguments.prompt.strip() and not arguments.session:
        raise UserError(Fault.USAGE, "run: prompt is missing", "Say what to do.")
    order = RunOrder(session=arguments.session, offline=arguments.offline, commit=arguments.commit)
    async with repository.write_in_turn(call):
        opened = repository.open_run(order, call)
        try:
            return await _run_turn(opened, arguments.prompt, repository, call)
        finally:
            call.stop = None
            await opened.runtime.close()


async def _run_turn(
    opened: OpenedRun, prompt: str, repository: ServedRepository, call: OpenCall
) -> ToolResult:
    runtime = opened.runtime
    if not prompt.strip() and not opened.unfinished:
        raise UserError(
            Fault.USAGE, f"session {runtime.session.id!r} has no unfinished turn", "Say what to do."
        )
    if call.can_ask:
        from agent.team.attach import attach_person
        from cli.protocols.mcp_server.client_approver import ClientPerson

        attach_person(runtime, ClientPerson(call), stays_open=False)
    call.stop = lambda: stop_turn(runtime)
    call.report(f"session {runtime.session.id}")
    for notice in opened.notices:
        call.report(notice)
    problem = _follow_session(runtime, call)
    if prompt.strip():
        prompt = defuse_mentions(prompt)  # of another agent, which may not have the user's pictures read
        work = choose_work(runtime, opened.settings.session.strategy, prompt)
        end = await runtime.run_turn(prompt, work)
    else:
        end = await runtime.run_turn(None)
    return _build_result(runtime, end, "\n".join(problem))


def stop_turn(runtime: Runtime) -> None:
    """End a turn now; its log is complete."""
    if runtime.loop.is_stepping:
        runtime.stop()
    elif runtime.is_turn_running:  # a stop of the loop would outlive this turn
        runtime.interrupt()


def _follow_session(runtime: Runtime, call: OpenCall) -> list[str]:
    """Report the session's events as progress; return the list in which its error will be."""
    from cli.output.lines.event_lines import LineView

    problem: list[str] = []

    def write(text: str) -> None:
        for line in text.splitlines():
            if shown := redact(line.strip())[:LONGEST_LINE]:
                call.report(shown)

    view = LineView(write, colour=False, width=LONGEST_LINE, texts="none", brief=True)

    def handle_event(event: Event) -> None:
        if isinstance(event, ErrorEvent):
            problem[:] = [event.message, *filter(None, [event.hint])]
        if not isinstance(event, End):
            view.show_event(event)

    runtime.session.subscribe(handle_event)
    return problem


def _build_result(runtime: Runtime, end: End, problem: str) -> ToolResult:
    answer = sanitize_text(redact(problem or end.summary))[:LONGEST_ANSWER]
    report = RunReport(
        session=runtime.session.id,
        outcome=end.outcome,
        exit_code=end.exit_code,
        answer=answer,
        files=end.files[:MOST_FILES],
        commit=end.commit,
        verification=end.verification,
        steps=end.steps,
        model=runtime.model.name,
        input_tokens=end.usage.input,
        output_tokens=end.usage.output,
        cost=end.usage.cost,
    )
    facts = [f"outcome: {end.outcome}", f"session: {runtime.session.id}"]
    if end.files:
        facts.append(f"files: {', '.join(map(sanitize_text, end.files[:40]))}")
    if end.commit:
        facts.append(f"commit: {end.commit}")
    if end.verification:
        facts.append(f"verification: {end.verification}")
    return ToolResult(
        text="\n\n".join(filter(None, (answer, "\n".join(facts)))),
        data=report,
        failed=end.exit_code in _FAILURES,
    )


RUN = ServedTool(
    name="run",
    title="Run a task",
    description=(
        "Give a whole task to Patchwright: it reads, edits, runs the tests and reports. Works with the configured"
        " model, or without one on failing tests. Returns the id of its session, with which a later"
        " call goes on. Commits only if commit is set."
    ),
    arguments=RunArguments,
    result=RunReport,
    run=run,
    destructive=True,
    open_world=True,
)
