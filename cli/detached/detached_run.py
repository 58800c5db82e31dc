"""The side of a detached run: it reports its session, reads its mailbox, and asks by a file beside its log."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.events import End
from agent.exit_codes import Exit
from agent.team.attach import attach_person
from agent.team.person import UserQuestion
from agent.turn.loop import HarnessText
from agent.turn.runtime import Runtime
from cli.detached.mailbox import (
    OpenQuestion,
    clear_question,
    take_messages,
    write_question,
)
from cli.detached.reply_stream import ReplyWriter
from cli.detached.run_record import OUTPUT, RunRecord, write_record
from cli.invocation import Invocation
from cli.output.standard_streams import write_error
from cli.settings.terminal_settings import Notify
from cli.tui.frontend import Answer, Question
from cli.tui.questions.approval_prompt import TerminalApprover
from sandbox.errors import UserError
from sandbox.fs.private_files import open_private
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

INTERVAL = 0.25
"""Seconds between two looks into the mailbox: a message may take as long."""


@dataclass(slots=True, kw_only=True)
class DetachedRun:
    """A session without a terminal. Implements `Asker` and `Person`: a question waits until somebody answers it.

    terminal: path of the terminal that started it, "" for none; notify: how that one is called
    """

    runtime: Runtime
    terminal: str
    notify: Notify
    _waiting: asyncio.Future[Mapping[str, Any]] | None = None
    _question: str = ""
    _asked: int = 0
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _reading: asyncio.Future[None] | None = None

    @property
    def _folder(self) -> Path:
        return self.runtime.session.folder

    def print(self, text: str) -> None:
        """Print into the file of the run's output."""
        write_error(text)

    def alert(self, text: str) -> None:
        """Call the terminal that started the run, if it is still the user's and open."""
        if not self.terminal or self.notify == "off":
            return
        told = f"Patchwright {self._folder.name}: {sanitize_text(text)}"
        sign = f"\x1b]9;{told}\x07" if self.notify == "osc9" else "\a"
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        with suppress(OSError):
            descriptor = os.open(self.terminal, flags)
            try:
                if os.isatty(descriptor) and os.fstat(descriptor).st_uid == os.geteuid():
                    os.write(descriptor, sign.encode())
            finally:
                os.close(descriptor)

    async def ask(self, question: Question) -> Answer:
        """Ask for an approval; see `Frontend.ask`. Who asks has called the user."""
        options = [[o.name, o.key, o.label, o.about, o.line, o.text] for o in question.options]
        answer = await self._wait_for_answer(
            OpenQuestion(
                id=self._next_id(),
                kind="approval",
                title=question.title,
                what=question.what,
                change=question.change,
                why=question.why,
                otherwise=question.otherwise,
                options=options,
            )
        )
        name = str(answer.get("name", ""))
        known = {each.name for each in question.options}
        return Answer(name=name if name in known else question.otherwise, text=str(answer.get("text", "")))

    async def answer(self, question: UserQuestion) -> str:
        """Ask a model's question; see `Person.answer`."""
        self.alert("a question waits for your answer")
        answer = await self._wait_for_answer(
            OpenQuestion(
                id=self._next_id(),
                kind="question",
                title=question.question,
                several=question.several,
                options=list(question.options),
            )
        )
        return question.read_answer(str(answer.get("text", "")))

    def start(self) -> None:
        """Begin to read the mailbox."""
        self._reading = asyncio.ensure_future(self._read_mailbox())

    def close(self) -> None:
        """Stop reading; no question is left open."""
        if self._reading is not None:
            self._reading.cancel()
        clear_question(self._folder)

    async def finish(self, end: End) -> End:
        """Run texts that came too late to steer a turn as the next one; call the user, and return the last end."""
        inbox = self.runtime.loop.inbox
        while True:
            left = [text for text in inbox if not isinstance(text, HarnessText)]
            inbox.clear()
            if not left or end.exit_code in (Exit.INTERRUPTED, Exit.LIMIT):
                break
            end = await self.runtime.run_turn("\n".join(left))
        self.alert(f"done: {end.outcome}")
        return end

    async def _read_mailbox(self) -> None:
        while self._folder.is_dir():
            for message in take_messages(self._folder):
                self._handle_message(message)
            await asyncio.sleep(INTERVAL)
        self.runtime.stop()  # the session was deleted: nobody can answer, or stop, the run any more

    def _next_id(self) -> str:
        self._asked += 1
        return f"q{self._asked}-{os.getpid()}"

    async def _wait_for_answer(self, question: OpenQuestion) -> Mapping[str, Any]:
        """Show the question, and wait; the time does not count as the turn's."""
        async with self._one:
            self._waiting, self._question = asyncio.get_running_loop().create_future(), question.id
            write_question(self._folder, question)
            write_error(f"waits: {sanitize_text(question.line)}\n")
            try:
                with self.runtime.purse.pause():
                    return await self._waiting
            finally:
                clear_question(self._folder)
                self._waiting, self._question = None, ""

    def _handle_message(self, message: Mapping[str, Any]) -> None:
        match message.get("kind"):
            case "answer":
                waits = self._waiting is not None and not self._waiting.done()
                if waits and message.get("question") == self._question and self._waiting is not None:
                    self._waiting.set_result(message)
            case "steer" if str(message.get("text", "")).strip():
                self.runtime.loop.inbox.append(str(message["text"]))
            case "guidance" | "attempt-stop":
                self._direct_attempt(message)
            case "interrupt":
                self.runtime.interrupt()

    def _direct_attempt(self, message: Mapping[str, Any]) -> None:
        """Log a person's direction for an attempt; one that nothing could follow is named in the run's output."""
        from agent.strategy.person.attempt_tree import AttemptTree
        from agent.strategy.person.direction_check import check_direction, read_direction

        try:
            direction = read_direction(message)
            check_direction(AttemptTree.from_events(self.runtime.session.replayed), direction)
        except (UserError, ValueError) as error:
            write_error(f"patchwright: {sanitize_text(str(error))}\n")
            return
        self.runtime.session.append(direction)


async def open_detached_run(
    runtime: Runtime, home: Home, notify: Notify, invocation: Invocation
) -> DetachedRun:
    """Make a run of this process a detached one, and tell the process that started it."""
    session = runtime.session
    number, _, terminal = (invocation.detached or "").partition(":")
    record = RunRecord(
        pid=os.getpid(), began=time.time(), folder=str(runtime.workspace.root), terminal=terminal
    )
    clear_question(session.folder)
    take_messages(session.folder)  # those to a process before
    write_record(session.folder, record)
    _write_report(int(number), session.id)
    _redirect_output(session.folder / OUTPUT)
    run = DetachedRun(runtime=runtime, terminal=terminal, notify=notify)
    runtime.loop.gateway.approver = TerminalApprover(front=run, policy=runtime.policy, home=home)
    if invocation.answers is None:
        attach_person(runtime, run, stays_open=False)
    reply = ReplyWriter(session.folder)
    runtime.on_delta = reply.handle_delta
    session.subscribe(reply.handle_event)
    run.start()
    return run


def _write_report(descriptor: int, session: str) -> None:
    """Write the session's id to the process that started this one."""
    with suppress(OSError):  # it has ended
        os.write(descriptor, json.dumps({"session": session}).encode() + b"\n")
        os.close(descriptor)


def _redirect_output(path: Path) -> None:
    """Let this process print into a file beside the log from here on."""
    sys.stdout.flush()
    sys.stderr.flush()
    descriptor = open_private(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
