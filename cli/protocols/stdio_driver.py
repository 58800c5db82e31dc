"""`--input stream-json`: a program drives a session, a JSON object per line in, events out."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from agent.events import End, encode_line
from agent.exit_codes import Exit
from agent.turn.loop import HarnessText
from agent.turn.runtime import Runtime
from cli.output.standard_streams import write_line
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect

if TYPE_CHECKING:
    from agent.model.protocol import Delta
    from agent.verify.answer_schema import AnswerSchema
    from cli.protocols.program_person import ProgramPerson
    from cli.protocols.program_tools import ProgramTools

LONGEST = 16 << 20
"""Limit on the bytes of one line: more is not a prompt."""

KINDS = ("prompt", "steer", "interrupt", "stop", "decision", "configure", "tool-result", "answer")
"""Valid values of a line's field `kind`."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A prompt that waits. schema: of its answer, None for any"""

    text: str
    schema: AnswerSchema | None = None


class StdioDriver:
    """Driver of a session by lines of input; the session ends with the input.

    open_call: yields the prompt that a line calls by a command's name, else the line's own
    """

    def __init__(
        self, runtime: Runtime, open_call: Callable[[str], AbstractAsyncContextManager[str]] = nullcontext
    ) -> None:
        self._runtime = runtime
        self._open_call = open_call
        self._prompts: asyncio.Queue[_Prompt | None] = asyncio.Queue()
        self._tools: ProgramTools | None = None
        self._person: ProgramPerson | None = None
        self._questions: dict[str, asyncio.Future[Decision]] = {}
        self._asked = 0
        self._closed = False
        self._ended = False

    async def run(self) -> int:
        """Run prompts one after the other; return the exit code of the last turn."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read_lines, args=(loop, self._handle_line), daemon=True).start()
        code = int(Exit.DONE)
        while (prompt := await self._prompts.get()) is not None and not self._ended:
            while prompt is not None:
                try:
                    async with self._open_call(prompt.text) as expanded:
                        end = await self._run_turn(expanded, prompt.schema)
                except UserError as error:  # a command that cannot be called: no turn began
                    _write_input_error(error.message)
                    break
                code = end.exit_code
                late = self._take_late_texts(end)
                prompt = _Prompt(late) if late else None
        return code

    async def _run_turn(self, text: str, schema: AnswerSchema | None) -> End:
        """Run a turn; where its answer has a schema, a line of kind `structured` follows its end."""
        if schema is None:
            return await self._runtime.run_turn(text)
        from agent.verify.answer_schema import AnswerVerifier
        from cli.output.output_schema import read_structured_answer

        conclusion = self._runtime.conclusion
        verifier = AnswerVerifier(schema=schema)
        conclusion.verifiers.append(verifier)
        try:
            end = await self._runtime.run_turn(schema.extend_prompt(text))
        finally:
            conclusion.verifiers.remove(verifier)
        value = read_structured_answer(schema, end, conclusion.answer)
        write_line(encode_line({"kind": "structured", "value": value}))
        return end

    def _take_late_texts(self, end: End) -> str:
        """Return text that arrived too late for the turn, while the tests ran at its end, as the next prompt.

        After a turn that was stopped, or reached a limit, it is reported as not delivered instead.
        """
        inbox = self._runtime.loop.inbox
        left = [text for text in inbox if not isinstance(text, HarnessText)]
        inbox.clear()
        if not left or (end.exit_code not in (Exit.INTERRUPTED, Exit.LIMIT) and not self._ended):
            return "\n".join(left)
        for text in left:
            _write_input_error(f"not delivered: {text}")
        return ""

    def end_session(self) -> None:
        """End the running turn and the session, on a signal."""
        self._ended = True
        self._runtime.stop()
        self._handle_line(None)

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        """Ask for approval (an `Approver`): write a line of kind `question`; one of kind `decision` with its
        id is the answer."""
        if self._closed:
            return Decision(verdict="deny", reason=f"{question.reason}, and nobody can be asked")
        self._asked += 1
        name = f"q{self._asked}"
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._questions[name] = answer
        fields = {
            "kind": "question",
            "id": name,
            "tool": tool,
            "effect": effect.kind,
            "reason": question.reason,
        }
        write_line(
            encode_line(
                {
                    **fields,
                    "argv": effect.argv,
                    "paths": effect.paths,
                    "hosts": effect.hosts,
                    "rules": question.always,
                }
            )
        )
        try:
            return await answer
        finally:
            self._questions.pop(name, None)

    def _handle_line(self, line: bytes | None) -> None:
        if line is None:
            self._closed = True
            for each in self._questions.values():
                if not each.done():
                    each.set_result(Decision(verdict="deny", reason="the input ended"))
            if self._tools is not None:
                self._tools.close()
            if self._person is not None:
                self._person.close()
            self._prompts.put_nowait(None)
            return
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            _write_input_error(f"not JSON: {error}")
            return
        if not isinstance(fields, dict) or fields.get("kind") not in KINDS:
            _write_input_error(
                f'no kind of line that is known: one of {", ".join(KINDS)} is wanted in "kind"'
            )
            return
        self._dispatch_line(fields)

    def _dispatch_line(self, fields: Mapping[str, Any]) -> None:
        match fields["kind"]:
            case "prompt" | "steer":
                self._take_text(fields)
            case "interrupt":
                self._runtime.interrupt()
            case "stop":
                self._runtime.stop()
            case "configure":
                self._configure(fields)
            case "tool-result":
                if self._tools is None or not self._tools.take_result(fields):
                    _write_input_error(f"no call {fields.get('id')!r} waits for a result")
            case "answer":
                if self._person is None or not self._person.take_answer(fields):
                    _write_input_error(f"no question {fields.get('id')!r} waits for an answer")
            case _:
                self._answer_question(fields)

    def _take_text(self, fields: Mapping[str, Any]) -> None:
        kind, text = fields["kind"], str(fields.get("text", ""))
        if not text.strip():
            _write_input_error(f"a {kind} without a text")
        elif kind == "steer" and self._runtime.is_turn_running:
            self._runtime.loop.inbox.append(text)
        elif fields.get("schema") is None:
            self._prompts.put_nowait(_Prompt(text))
        else:
            from agent.verify.answer_schema import AnswerSchema

            try:
                schema = AnswerSchema.from_value(fields["schema"], "`schema`")
            except UserError as problem:
                _write_input_error(problem.message)
            else:
                self._prompts.put_nowait(_Prompt(text, schema))

    def _configure(self, fields: Mapping[str, Any]) -> None:
        """Offer the program's tools, stream texts as they come, let the model ask; a line of kind `configured` says
        that it is so."""
        if fields.get("tools") and not self._offer_tools(fields["tools"]):
            return
        if fields.get("deltas") is True:
            self._runtime.on_delta = _write_delta
        if fields.get("answers") is True and self._person is None:
            from agent.team.attach import attach_person
            from cli.protocols.program_person import ProgramPerson

            self._person = ProgramPerson(_write_fields)
            attach_person(self._runtime, self._person)
        _write_fields({"kind": "configured", "session": self._runtime.session.id})

    def _offer_tools(self, described: object) -> bool:
        from cli.protocols.program_tools import ProgramTools

        self._tools = self._tools or ProgramTools(_write_fields)
        try:
            tools = self._tools.make_tools(described)
        except UserError as problem:
            _write_input_error(problem.message)
            return False
        toolbox = self._runtime.toolbox
        if taken := [each.name for each in tools if toolbox.get(each.name) is not None]:
            _write_input_error(f"there is a tool of this name already: {', '.join(taken)}")
            return False
        toolbox.add(tools)
        return True

    def _answer_question(self, fields: Mapping[str, Any]) -> None:
        waiting = self._questions.get(str(fields.get("id", "")))
        if waiting is None or waiting.done():
            _write_input_error(f"no question {fields.get('id')!r} waits for a decision")
            return
        allowed = fields.get("verdict") == "allow"
        reason = str(fields.get("reason") or ("the user allowed it" if allowed else "the user refused it"))
        waiting.set_result(Decision(verdict="allow" if allowed else "deny", reason=reason))


def _write_fields(fields: Mapping[str, Any]) -> None:
    write_line(encode_line(fields))


def _write_delta(delta: Delta) -> None:
    from agent.model.protocol import ReasoningDelta, TextDelta

    match delta:
        case TextDelta():
            _write_fields({"kind": "delta", "text": delta.text})
        case ReasoningDelta():
            _write_fields({"kind": "delta", "reasoning": delta.text})


def _write_input_error(what: str) -> None:
    """Report an invalid line and continue: a driver that runs for hours must not fail because of one."""
    write_line(encode_line({"kind": "input-error", "message": what}))


def _read_lines(loop: asyncio.AbstractEventLoop, put: Callable[[bytes | None], None]) -> None:
    """Pass lines of standard input to the event loop; None at its end.

    A thread blocked in `sys.stdin` would hold its lock when Python exits.
    """
    rest = b""
    while True:
        try:
            piece = os.read(0, 65536)
        except OSError:
            piece = b""
        *whole, rest = (rest + piece).split(b"\n")
        if len(rest) > LONGEST:
            whole, rest = [*whole, rest[:200]], b""
        try:
            for line in whole + ([rest] if not piece else []):
                if line.strip():
                    loop.call_soon_threadsafe(put, line)
            if not piece:
                loop.call_soon_threadsafe(put, None)
                return
        except RuntimeError:  # the loop is closed: the session has ended
            return
