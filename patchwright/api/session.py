"""A session of a program: prompts in, typed events and results out."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from patchwright.api.errors import PatchwrightError
from patchwright.api.events import End, Event, parse_event
from patchwright.api.process import SessionProcess
from patchwright.api.tools import FunctionTool, build_schema, convert_value, make_tool

PATIENCE = 20.0
"""Seconds that a session has to end in, once its program leaves it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An action that waits for approval. argv, paths, hosts: what it is about, as far as known"""

    tool: str
    effect: str
    reason: str
    argv: Sequence[str] = ()
    paths: Sequence[str] = ()
    hosts: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion:
    """A question of the model. options: answers that it thinks of; several: more than one may be chosen"""

    text: str
    options: Sequence[str] = ()
    several: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The result of a prompt. answer: the value that its schema asked for, None without one or if it does not fit"""

    outcome: str
    exit_code: int
    summary: str
    files: Sequence[str]
    commit: str
    steps: int
    cost: float | None
    usage: Mapping[str, Any]
    answer: Any = None

    @property
    def is_done(self) -> bool:
        """Whether the work is done, and checked where there are tests."""
        return self.exit_code == 0


Approve = Callable[[Question], "bool | str | Awaitable[bool | str]"]
"""True allows the action, False denies it, a text denies it and tells the model why."""

Answer = Callable[[UserQuestion], "str | Awaitable[str]"]


class _RunningTurn:
    """What has come of a turn, and whether it has ended. last: kind of its last line"""

    def __init__(self, last: str) -> None:
        self.last = last
        self.lines: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        self.has_ended = asyncio.Event()

    def take_line(self, line: Mapping[str, Any] | None) -> None:
        """Take a line of the session; None: there are no more."""
        self.lines.put_nowait(line)
        if line is None or line.get("kind") in (self.last, "input-error"):
            self.has_ended.set()


class Session:
    """A session in a process of its own. Made by `session`. id: for `resume`"""

    def __init__(
        self,
        process: SessionProcess,
        tools: Mapping[str, FunctionTool],
        approve: Approve | None,
        answer: Answer | None,
    ) -> None:
        self.id = ""
        self._process = process
        self._tools = tools
        self._approve = approve
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._turn = _RunningTurn(last="configured")
        self._reading = asyncio.create_task(self._read_lines())

    async def run(self, prompt: str, *, schema: Any = None) -> Turn:
        """Run a prompt to its end. schema: a JSON schema, or a dataclass, for the value `Turn.answer`.

        Raises PatchwrightError if the session ends before, or the schema is none.
        """
        end, value = None, None
        async for line in self._follow_turn(prompt, schema):
            if line.get("kind") == "structured":
                value = line.get("value")
            elif isinstance(event := parse_event(line), End):
                end = event
        assert end is not None
        wanted = schema if isinstance(schema, type) and value is not None else Any
        return _make_turn(end, convert_value(value, wanted))

    async def stream(self, prompt: str) -> AsyncIterator[Event]:
        """Run a prompt, and yield its events as they happen; the last one is its `End`.

        A turn that is not followed to its end goes on; `stop` ends it. Raises PatchwrightError if the session ends
        before.
        """
        async for line in self._follow_turn(prompt, None):
            yield parse_event(line)

    async def steer(self, text: str) -> None:
        """Add a text to the running turn; it is delivered after the present actions."""
        await self._process.write(kind="steer", text=text)

    async def interrupt(self) -> None:
        """Stop the running actions, or the reply and with it the turn."""
        await self._process.write(kind="interrupt")

    async def stop(self) -> None:
        """End the running turn, and wait until it has ended."""
        if not self._turn.has_ended.is_set():
            await self._process.write(kind="stop")
            await self._turn.has_ended.wait()

    async def close(self) -> int:
        """End the session; return the exit code of its last turn. What is still running is stopped."""
        if not self._turn.has_ended.is_set():
            with suppress(PatchwrightError):
                await self._process.write(kind="stop")
        code = await self._process.close(PATIENCE)
        for each in [*self._tasks]:
            each.cancel()
        await asyncio.gather(self._reading, *self._tasks, return_exceptions=True)
        return code

    async def configure(self, *, deltas: bool) -> None:
        """Tell the session of the program's tools and of what it can do. Called once, by `session`.

        Raises PatchwrightError if the session could not be opened, or a tool not be added.
        """
        tools = [each.describe() for each in self._tools.values()]
        answers = self._answer is not None
        await self._process.write(
            kind="configure", deltas=deltas, answers=answers, **({"tools": tools} if tools else {})
        )
        while (line := await self._turn.lines.get()) is not None:  # a resumed session's past comes first
            if line.get("kind") == "input-error":
                raise PatchwrightError(str(line.get("message")))
            if line.get("kind") == "configured":
                self.id = str(line.get("session"))
                return
        raise await self._process.explain_end()

    async def _follow_turn(self, prompt: str, schema: Any) -> AsyncIterator[Mapping[str, Any]]:
        """Send a prompt; yield all that comes until its end, and the value after it if a schema asks for one."""
        if not self._turn.has_ended.is_set():
            raise PatchwrightError("a turn is running: wait for its end, `steer` or `stop` it")
        if isinstance(schema, type):
            schema = build_schema(schema)
        asked = {"schema": schema} if schema is not None else {}
        turn = _RunningTurn(last="structured" if asked else "end")
        if not self._reading.done():
            self._turn = turn
        await self._process.write(kind="prompt", text=prompt, **asked)
        while (line := await turn.lines.get()) is not None:
            if line.get("kind") == "input-error":
                raise PatchwrightError(str(line.get("message")))
            yield line
            if line.get("kind") == turn.last:
                return
        raise await self._process.explain_end()

    async def _read_lines(self) -> None:
        try:
            async for line in self._process.read_lines():
                self._take_line(line)
        finally:
            self._turn.take_line(None)

    def _take_line(self, line: Mapping[str, Any]) -> None:
        number = str(line.get("id", ""))
        match line.get("kind"):
            case "question":
                self._begin(self._decide(line))
            case "user-question":
                self._begin(self._answer_user_question(line))
            case "tool-call":
                self._calls[number] = self._begin(self._call_tool(line))
            case "tool-cancel":
                if (call := self._calls.get(number)) is not None:
                    call.cancel()
            case _:
                self._turn.take_line(line)

    def _begin(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _decide(self, line: Mapping[str, Any]) -> None:
        verdict, reason = "deny", "the program does not allow it"
        called = self._tools.get(str(line.get("tool")))
        if called is not None and not called.asks:
            verdict, reason = "allow", "the program has this tool"
        elif self._approve is not None:
            question = Question(
                tool=str(line.get("tool", "")),
                effect=str(line.get("effect", "")),
                reason=str(line.get("reason", "")),
                argv=tuple(line.get("argv", ())),
                paths=tuple(line.get("paths", ())),
                hosts=tuple(line.get("hosts", ())),
            )
            try:
                allowed = self._approve(question)
                allowed = await allowed if inspect.isawaitable(allowed) else allowed
            except Exception as error:  # of the program: nothing is allowed by accident
                allowed = f"the program could not decide: {type(error).__name__}: {error}"
            verdict = "allow" if allowed is True else "deny"
            reason = allowed if isinstance(allowed, str) else ""
        await self._process.write(kind="decision", id=line.get("id"), verdict=verdict, reason=reason)

    async def _answer_user_question(self, line: Mapping[str, Any]) -> None:
        question = UserQuestion(
            text=str(line.get("text", "")),
            options=tuple(line.get("options", ())),
            several=line.get("several") is True,
        )
        answer: Any = ""
        if self._answer is not None:
            try:
                answer = self._answer(question)
                answer = await answer if inspect.isawaitable(answer) else answer
            except Exception:  # of the program: the model goes on as if nobody had answered
                answer = ""
        await self._process.write(kind="answer", id=line.get("id"), text=str(answer))

    async def _call_tool(self, line: Mapping[str, Any]) -> None:
        number = str(line.get("id"))
        called = self._tools.get(str(line.get("tool")))
        try:
            if called is None:
                text, failed = "the program has no such tool", True
            else:
                text, failed = await called.call(line.get("arguments", {}))
            await self._process.write(kind="tool-result", id=number, text=text, failed=failed)
        finally:
            self._calls.pop(number, None)


Mode = Literal["read-only", "workspace", "full"]


@asynccontextmanager
async def session(
    folder: str | Path = ".",
    *,
    model: str | None = None,
    mode: Mode | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    approve: Approve | None = None,
    answer: Answer | None = None,
    deltas: bool = False,
    resume: str = "",
    commit: bool = False,
    arguments: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Session]:
    """Open a session in a folder's project; it ends with the context.

    model, mode: as the options of `patchwright run`; None: as the user's settings say
    tools: functions that the model may call in this process; see `patchwright.tool`
    approve: decides about actions that the policy asks about; without it they are denied
    answer: answers the model's own questions; deltas: replies come in pieces, too (`Delta`)
    resume: id of a session to go on with; commit: verified work is committed
    arguments: further options of `patchwright run`; env: the environment of the session, instead of this process's

    Raises PatchwrightError if it cannot be started; TypeError for a function that cannot be a tool.
    """
    made = [make_tool(each) for each in tools]
    options = [*arguments]
    for name, value in (("--model", model), ("--mode", mode), ("--session", resume or None)):
        options += [name, value] if value is not None else []
    options += [] if commit else ["--no-commit"]
    process = await SessionProcess.start(options, folder=Path(folder), env=env)
    opened = Session(process, {each.name: each for each in made}, approve, answer)
    try:
        await opened.configure(deltas=deltas)
        yield opened
    finally:
        await opened.close()


def _make_turn(end: End, answer: Any) -> Turn:
    return Turn(
        outcome=end.outcome,
        exit_code=end.exit_code,
        summary=end.summary,
        files=end.files,
        commit=end.commit,
        steps=end.steps,
        cost=end.usage.get("cost"),
        usage=end.usage,
        answer=answer,
    )
