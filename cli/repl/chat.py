"""A conversation: prompts, steering, interrupts and slash commands, in whatever terminal it is held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from agent.events import Event, Steer
from agent.home import Home
from agent.model.base import Model
from agent.runtime import Runtime
from cli.render.paint import Style, painter
from cli.repl.front import Front
from cli.repl.ledger import Ledger
from cli.repl.view import View
from sandbox.errors import UserError
from sandbox.inert import exact, inert, name
from sandbox.policy import Decision, Effect, Policy
from sandbox.secrets import redact

MakeModel = Callable[[str], Model]


class Chat:
    """One session in one terminal. `submit` and `interrupt` are called by the terminal, in its event loop."""

    def __init__(self, front: Front, runtime: Runtime, *, home: Home, make_model: MakeModel) -> None:
        self.front = front
        self.runtime = runtime
        self.home = home
        self.ledger = Ledger()
        self.view = View(front, lambda: inert(runtime.model.name))
        self.note = ""
        """Told to the model in front of the next prompt."""
        self._make_model = make_model
        self._queued: list[str] = []
        self._work: asyncio.Task[None] | None = None
        self._asides: set[asyncio.Task[None]] = set()
        self._hung_up = False
        for event in runtime.session.replayed:
            self.ledger.see(event)
        runtime.session.subscribe(self._event)
        runtime.on_delta = self.view.delta
        if runtime.loop.gateway.approver is None:
            runtime.loop.gateway.approver = _Asker(front, runtime.policy, home)

    @property
    def working(self) -> bool:
        """Whether a turn or a command is running."""
        return self._work is not None

    def submit(self, text: str) -> None:
        """The user pressed Enter: a command, a prompt, or steering of the turn that is running."""
        from cli.repl.commands import Command, parse

        text = redact(
            text.strip()
        )  # a key that is pasted is neither logged nor sent: the user sees so at once
        if not text:
            return
        command = parse(text)
        if isinstance(command, Command):
            self.view.said(text)
            argument = text.partition(" ")[2].strip()
            if self.working and not command.while_working:
                self.tell(f"{command.name} has to wait until this turn is over; Ctrl-C stops it.", "yellow")
            elif self.working:
                self._aside(command.run(self, argument))
            else:
                self._start(command.run(self, argument))
        elif command:
            self.view.said(text)
            self.tell(command, "yellow")
        elif self.working:
            self._queued.append(text)
            self.runtime.loop.inbox.append(text)
            self.front.queued(self._queued)
        else:
            self.view.said(text)
            self._start(self._turn(text))

    def resume(self) -> None:
        """Go on with a turn that was cut off, if the session ended in one."""
        if not self.ledger.ended:
            self.tell("going on with the unfinished turn", "dim")
            self._start(self._turn(None))

    def interrupt(self) -> bool:
        """Ctrl-C: stop the step, then the turn. False if there was nothing to stop."""
        if self._work is None:
            return False
        if self.runtime.loop.stepping:
            self.front.busy("stopping this step (Ctrl-C again ends the turn)")
        self.runtime.interrupt()
        return True

    def quit(self) -> None:
        """Leave, ending a turn that is running; the log keeps all of it."""
        self._hung_up = True
        if self._work is None:
            self.front.close()
        else:
            self.runtime.stop()

    async def finished(self) -> None:
        """Wait for the turn that is running to reach its last event."""
        if self._work is not None:
            await asyncio.wait([self._work])

    def tell(self, text: str, style: Style | None = None) -> None:
        """A line or more from the program itself; untrusted parts are made inert here."""
        columns = self.front.terminal.columns
        text = "\n".join(_wrapped(line, columns) for line in inert(text).split("\n"))
        self.view.note(painter(colour=self.front.terminal.colour)(text, style) if style else text)

    async def switch_model(self, name: str) -> None:
        """Use another model from the next turn on, in the same session. Raises UserError."""
        await self.runtime.switch_model(self._make_model(name))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._work = asyncio.create_task(self._guarded(work))
        self._work.add_done_callback(self._over)

    def _aside(self, work: Coroutine[None, None, None]) -> None:
        """A command beside the running turn."""
        task = asyncio.create_task(self._guarded(work))
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    def _over(self, work: asyncio.Task[None]) -> None:
        self._work = None
        self.front.busy("")
        if self._hung_up:
            self.front.close()

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except UserError as error:
            self.tell(f"patchwright: {error.message}" + (f"\n  {error.hint}" if error.hint else ""), "red")
        except asyncio.CancelledError:
            self.tell("stopped", "yellow")
        except OSError as error:  # a file or disk that a command needs: the conversation goes on
            self.tell(f"patchwright: {error}", "red")

    async def _turn(self, prompt: str | None) -> None:
        """Turns, as long as there is something to do: text that came too late for one starts the next."""
        while True:
            if prompt is not None and self.note:
                prompt, self.note = f"{self.note}\n\n{prompt}", ""
            end = await self.runtime.turn(prompt)
            self.runtime.loop.inbox.clear()
            left, self._queued = self._queued, []
            self.front.queued([])
            if not left:
                return
            if end.outcome != "done" or self._hung_up:
                self.front.refill("\n".join(left))
                return
            prompt = "\n".join(left)
            self.view.said(prompt)

    def _event(self, event: Event) -> None:
        self.ledger.see(event)
        if not isinstance(event, Steer):
            self.view.event(event)
        elif event.text in self._queued:  # else it is the harness that speaks; a signal has told of it
            self._queued.remove(event.text)
            self.front.queued(self._queued)
            self.view.said(event.text)


def _wrapped(line: str, columns: int) -> str:
    """A line of prose broken between words; its indentation is kept."""
    import textwrap

    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(textwrap.wrap(line, columns, subsequent_indent=indent, break_on_hyphens=False)) or line


class _Asker:
    """Asks the person at the terminal when the policy says so."""

    def __init__(self, front: Front, policy: Policy, home: Home) -> None:
        self._front = front
        self._policy = policy
        self._home = home

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        shown = f"Allow {inert(tool)}: {exact(_what(effect))}\n({inert(question.reason)})"
        rules = ", ".join(f"shell({exact(each)})" for each in question.always)
        answer = await self._front.ask(shown, f"always: stores {rules}" if rules else "")
        if answer == "no":
            return Decision(verdict="deny", reason="the user refused it")
        if answer == "always" and rules:
            return self._stored(question.always)
        return Decision(verdict="allow", reason="the user allowed it")

    def _stored(self, patterns: tuple[str, ...]) -> Decision:
        from cli.settings import store_rules

        self._policy.rules = self._policy.rules.allowing(patterns)
        try:
            store_rules(self._home, patterns)
        except UserError as error:  # it holds for this session at least
            self._front.print(inert(f"not stored: {error.message}") + "\n")
        return Decision(verdict="allow", reason="the user allows it always")


def _what(effect: Effect) -> str:
    """All that would run or be touched, as it stands."""
    if effect.argv:
        import shlex

        return effect.argv[2] if effect.argv[:2] == ("bash", "-c") else shlex.join(effect.argv)
    return ", ".join(name(each) for each in effect.paths or effect.hosts)
