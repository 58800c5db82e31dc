"""A conversation: prompts, steering, interrupts and slash commands, over any frontend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from agent.events import End, Event, Prompt, Rewind, Steer
from agent.model.protocol import Model
from agent.session_settings import StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.team.attach import attach_person, attach_team
from agent.turn.runtime import Runtime
from cli.output.style.paint import Style, make_painter
from cli.output.style.terminal import wrap_words
from cli.settings.settings_types import Settings
from cli.tui.conversation.access_cycle import cycle_access
from cli.tui.conversation.cut_off_turn import has_work_to_resume, resume_work
from cli.tui.conversation.footer_line.footer import format_footer, list_end_facts
from cli.tui.conversation.footer_line.footer_facts import FooterSource
from cli.tui.conversation.footer_line.footer_template import format_own_footer
from cli.tui.conversation.plan_mode import ChatPlanMode
from cli.tui.conversation.returned_prompt import ReturnedPrompt
from cli.tui.conversation.session_history import SessionHistory
from cli.tui.conversation.work_task import WorkTask
from cli.tui.frontend import Frontend, Styled
from cli.tui.questions.after_turn import ask_after_turn
from cli.tui.questions.approval_prompt import TerminalApprover
from cli.tui.questions.change_editor import ChangeEditor
from cli.tui.questions.person_channel import TerminalPerson
from cli.tui.screen.session_view import SessionView
from cli.tui.screen.turn_activity import THINKING
from cli.tui.screen.working_line import WAITING
from sandbox.extensions import load_extension
from sandbox.sanitize import sanitize_text
from sandbox.secrets.child_environment import redact

if TYPE_CHECKING:
    from cli.tui.commands.command_table import Command
    from cli.tui.start.first_run import FirstRun

MakeModel = Callable[[str], Model]


class Chat:
    """One session in one terminal. `submit`, `interrupt` etc. are called by the frontend, in its event loop.

    next: the session to open when this conversation ends: its id, "" for a new one; None to leave
    note: text sent to the model with the next prompt
    setup: offer to a user who has set up nothing yet
    """

    def __init__(
        self, front: Frontend, runtime: Runtime, *, home: Home, make_model: MakeModel, settings: Settings
    ) -> None:
        self.front = front
        self.runtime = runtime
        self.home = home
        self.settings = settings
        self._ledger: SessionHistory | None = None
        self.view = SessionView(front, lambda end: list_end_facts(self.runtime, end))
        self.planning = ChatPlanMode(self)
        self.note = ""
        self.next: str | None = None
        self.setup: FirstRun | None = None
        self._make_model = make_model
        self._queued: list[str] = []
        # Commands submitted while another one ran, and texts submitted after them.
        self._later: list[str] = []
        self._work = WorkTask(front, self.show_message, self._finish_work)
        self._footer = FooterSource(self)
        self._returned = ReturnedPrompt(front)
        self._hung_up = False
        self._asker = TerminalApprover(
            front=front,
            policy=runtime.policy,
            home=home,
            pause=runtime.purse.pause,
            editor=ChangeEditor(front=front, files=runtime.workspace.files) if front.redraws else None,
        )
        self._person = TerminalPerson(front, self.view.show_question, runtime.purse.pause)
        attach_person(runtime, self._person)
        runtime.session.subscribe(self._handle_event)
        runtime.on_delta = self.view.show_delta
        runtime.workspace.progress = self.view.show_progress
        if runtime.loop.gateway.approver is None:
            runtime.loop.gateway.approver = self._asker
        load_extension("questions", "meaning")(self)
        if runtime.settings.verify.spec_check != "off":
            load_extension("questions", "spec_check")(front, runtime)

    @property
    def history(self) -> SessionHistory:
        """Changes and cost of the turns. The log is read on first use, so that opening a long session does not wait
        for it."""
        if self._ledger is None:
            self._ledger = SessionHistory()
            for event in self.runtime.session.replayed:
                self._ledger.handle_event(event)
        return self._ledger

    @property
    def is_working(self) -> bool:
        """Whether a turn or a command is running."""
        return self._work.is_running

    def submit(self, text: str) -> None:
        """Handle the user's input: a command, a prompt, or steering of the running turn."""
        # a pasted API key is neither logged nor sent; the echo shows the redaction
        text = redact(text.strip())
        if not text:
            return
        self.runtime.typed.append(text)
        if text.startswith("/") and self._run_command(text):
            return
        if self._person.take_answer(text) or self._takes_setup(text):
            self._echo_input(text)
            return
        if text.startswith("!") and text[1:].strip():
            from cli.tui.conversation.prefix_commands import run_shell_command

            self._start_unless_working(
                "a command of yours", text, lambda: run_shell_command(self, text[1:].strip())
            )
        elif text.startswith("#") and text[1:].strip() and "\n" not in text:
            from cli.tui.conversation.prefix_commands import append_note

            self._echo_input(text)
            self._work.start_beside(append_note(self, text.lstrip("#").strip()))
        elif self._later:  # after the commands submitted before it
            self._later.append(text)
            self._show_queued()
        elif self.is_working:
            self._queued.append(text)
            self.runtime.loop.inbox.append(text)
            self._show_queued()
        else:
            self._echo_input(text)
            self._start_prompt(text)

    def _takes_setup(self, text: str) -> bool:
        return self.setup is not None and not self.is_working and self.setup.take_answer(text)

    def resume_session(self) -> None:
        """Return to plan mode, and offer to go on with the interrupted turn, if the session ended in one."""
        if has_work_to_resume(self):
            self._start_work(resume_work(self), WAITING)

    def interrupt(self) -> bool:
        """Stop the step, then the turn; return False if there was nothing to stop."""
        if not self._work.is_running:
            return False
        if self.runtime.loop.is_stepping:
            acting = self.runtime.loop.is_acting
            self.front.show_activity(
                "Stopping this step (Ctrl-C again ends the turn)" if acting else "Stopping"
            )
            self.runtime.interrupt()
        elif self.runtime.is_turn_running:
            self.runtime.interrupt()
        else:
            self._work.cancel()
        return True

    def pop_queued(self) -> str:
        """Remove and return the last queued text, to edit it; "" if there is none."""
        if not self._queued and not self._later:
            return ""
        text = (self._later or self._queued).pop()
        if text in self.runtime.loop.inbox:
            self.runtime.loop.inbox.remove(text)
        self._show_queued()
        return text

    def offer_rewind(self) -> None:
        """Offer the earlier prompts to go back to."""
        from cli.tui.conversation.rewind_picker import offer_rewind

        if not self.is_working:
            self._start_work(offer_rewind(self), "rewind")

    def show_transcript(self) -> None:
        """Show the whole session, nothing folded."""
        self._run_command("/trace", shown=False)

    def cycle_access(self) -> None:
        """Go on to the next of plan, ask and auto; during a turn, say that it has to wait."""
        if not self.is_working:
            self._start_work(cycle_access(self), "Switching")
        elif self.runtime.is_turn_running:
            self.show_message("the mode can be changed when this turn is over; Ctrl-C stops it.", "yellow")

    def quit(self) -> None:
        """Leave, ending the work in progress; the log is complete."""
        self._hung_up = True
        if not self._work.is_running:
            self.front.close()
        elif self.runtime.is_turn_running:
            self.runtime.stop()
        elif not self._work.is_current:  # a user command, a picker
            self._work.cancel()

    def switch_session(self, session: str) -> None:
        """Leave this session for another one, "" for a new one."""
        self.next = session
        self.quit()

    async def wait_until_idle(self) -> None:
        """Wait for the work in progress to end."""
        await self._work.wait()

    def show_message(self, text: str, style: Style | None = None) -> None:
        """Print lines of the program itself; untrusted text is sanitized here."""
        terminal = self.front.terminal
        text = wrap_words(sanitize_text(text), terminal.columns)
        self.view.show_note(make_painter(colour=terminal.colour)(text, style) if style else text)

    async def run_turn(
        self, prompt: str | None, *, shown: str | None = None, strategy: StrategySettings | None = None
    ) -> End:
        """Run a turn on behalf of a command, as if the user had typed its prompt (None: the interrupted turn).

        shown: text to print instead of the prompt; "" for none, if it is already on the screen
        strategy: makes the turn, None for the loop alone
        """
        if shown != "" and prompt is not None:
            self.view.echo_prompt(prompt if shown is None else shown)
        return await self._run_turns(prompt, strategy)

    @asynccontextmanager
    async def use_model(self, name: str) -> AsyncIterator[None]:
        """Use another model inside the context, then the session's own again."""
        own, other = self.runtime.model, self._make_model(name)
        self.runtime.model = self.runtime.loop.model = other
        try:
            yield
        finally:
            self.runtime.model = self.runtime.loop.model = own
            await other.close()

    async def switch_model(self, name: str) -> None:
        """Use another model from the next turn on. Raises UserError."""
        await self.runtime.switch_model(self._make_model(name))
        if self.runtime.team is None:  # of the offline engine, which starts no agents
            attach_team(self.runtime, self.home)
            attach_person(self.runtime, self._person)

    def format_footer(self, columns: int) -> Styled:
        """Return the footer of the screen."""
        facts = self._footer.collect(is_working=self.is_working)
        if template := self.settings.terminal.footer:
            return format_own_footer(self, template, facts, columns)
        return format_footer(facts, columns)

    def describe_input(self) -> str:
        """Return what an empty prompt is for."""
        if self._person.is_asking:
            return "your answer"
        if self.is_working:
            return "say more; it is told after this step"
        return "say what to plan" if self.planning.on else "say what to do, or / for commands"

    def _run_command(self, text: str, *, shown: bool = True) -> bool:
        """Run a slash command; return False if the text is none."""
        from cli.tui.commands.command_table import Command, parse_command

        command = parse_command(text, self)
        if command is None:
            return False
        argument = text.partition(" ")[2].strip()
        waits = isinstance(command, Command) and self._has_to_wait(command, argument)
        if waits and not self.runtime.is_turn_running:
            self._later.append(text)  # commands end soon
            self._show_queued()
            return True
        if shown:
            self._echo_input(text)
        if not isinstance(command, Command):
            self.show_message(command, "yellow")
            return True
        if argument in ("--help", "-h"):
            self.show_message(command.usage)
        elif waits:
            self.show_message(
                f"{command.name} has to wait until this turn is over; Ctrl-C stops it.", "yellow"
            )
        elif self.is_working:
            self._work.start_beside(command.run(self, argument))
        else:
            self._returned.hold(text)
            self._start_work(command.run(self, argument), command.name)
        return True

    def _has_to_wait(self, command: Command, argument: str) -> bool:
        return self.is_working and not (command.while_working or command.runs_beside(argument))

    def _show_queued(self) -> None:
        self.front.show_queued([*self._queued, *self._later])

    def _start_unless_working(
        self, what: str, text: str, work: Callable[[], Coroutine[Any, Any, object]]
    ) -> None:
        self._echo_input(text)
        if self.is_working:
            self.show_message(f"{what} has to wait until this turn is over; Ctrl-C stops it.", "yellow")
        else:
            self._start_work(work(), what)

    def _echo_input(self, text: str) -> None:
        """Print the input permanently, unless the terminal has echoed it."""
        if not self.front.echoes:
            self.view.echo_prompt(text)

    def _start_prompt(self, text: str) -> None:
        self._returned.hold(text)
        self._start_work(self._run_turns(text, self._strategy), THINKING)

    def _start_work(self, work: Coroutine[Any, Any, object], doing: str) -> None:
        """Start the work in a task, and show the activity."""
        self._asker.forget_last_answer()  # a new request does not repeat an earlier refusal
        self._work.start(work, doing)

    def _finish_work(self, completed: bool) -> None:
        self._returned.hold("")
        if self._hung_up:
            self.front.close()
        elif self._queued:  # submitted while a command ran, which takes no steering
            left, self._queued = "\n".join(self._queued), []
            self.runtime.loop.inbox.clear()
            self._show_queued()
            if completed:
                self.view.echo_prompt(left)
                self._start_prompt(left)
            else:
                self.front.restore_input(left)
        elif self._later and completed:
            text = self._later.pop(0)
            self._show_queued()
            self.submit(text)
        elif self._later:  # they assumed that the command before would succeed
            left, self._later = "\n".join(self._later), []
            self._show_queued()
            self.front.restore_input(left)

    @property
    def _strategy(self) -> StrategySettings | None:
        """The strategy of the settings, for a prompt of the user; a plan is made by the loop alone."""
        return None if self.planning.on else self.settings.session.strategy

    async def _run_turns(self, prompt: str | None, strategy: StrategySettings | None = None) -> End:
        """Run turns until no text is queued: text that came too late to steer one turn starts the next."""
        while True:
            notes = self._take_notes() if prompt is not None else []
            self._asker.forget_last_answer()
            asked = (
                "\n\n".join([prompt, *notes]) if prompt is not None else None
            )  # an attempt has no other notes
            work = choose_work(self.runtime, strategy or StrategySettings(), asked)
            end = await self.runtime.run_turn(prompt, work, notes)
            self.runtime.loop.inbox.clear()
            left, self._queued = self._queued, []
            self._show_queued()
            if not left:
                break
            if end.outcome != "done" or self._hung_up:
                self.front.restore_input("\n".join(left))
                break
            prompt, strategy = "\n".join(left), self._strategy
            self._returned.hold(prompt)
            self.view.echo_prompt(prompt)
        if not self._hung_up:
            await self.planning.handle_turn_end(end)
            await ask_after_turn(self)
        return end

    def _take_notes(self) -> list[str]:
        """Return what the model has to know beside the next prompt; it is not part of the user's words."""
        notes, self.note = [self.note, self.planning.instructions], ""
        return [each for each in notes if each]

    def _handle_event(self, event: Event) -> None:
        self._footer.handle_event(event)
        if not self._hung_up:
            self._returned.handle_event(event)
        if isinstance(event, Rewind):
            self._ledger = None  # its turns are no longer those of the branch
        elif self._ledger is not None:
            self._ledger.handle_event(event)
        if isinstance(event, Prompt):
            self._asker.forget_last_answer()
        if not isinstance(event, Steer):
            self.view.show_event(event)
        elif event.text in self._queued:  # otherwise it comes from the harness, which also sent a signal
            self._queued.remove(event.text)
            self._show_queued()
            self.view.echo_prompt(event.text)
