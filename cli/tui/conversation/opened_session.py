"""Start and end of the conversation about an opened session."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path

from agent.app_dirs import Home
from agent.events import End, MessageEvent, ObservationEvent, Prompt
from agent.model.protocol import Model
from agent.turn.runtime import Runtime
from cli.output.notices import read_resume_notice
from cli.output.style.path_links import PathLinks, can_link, can_link_lines
from cli.settings.settings_types import Settings
from cli.tui.conversation.chat import Chat
from cli.tui.conversation.cut_off_turn import SHOWN_EVENTS, list_turn_events
from cli.tui.conversation.header import choose_tip, format_facts
from cli.tui.conversation.session_history import has_unfinished_turn
from cli.tui.frontend import Frontend
from sandbox.fs.installation import build_exposure_warning
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """Inputs of a conversation.

    make_model: makes a model from the name that a user gives to /model; raises UserError
    notice: line shown first when no model was named
    runner: of the project's tests, "" for none
    is_first: whether the user has set up nothing yet, and is offered what there is
    """

    runtime: Runtime
    make_model: Callable[[str], Model]
    settings: Settings
    home: Home
    notice: str = ""
    runner: str = ""
    is_first: bool = False


def start_chat(opened: OpenedSession, front: Frontend) -> Chat:
    """Start the conversation: show the last turn and the warnings, offer to continue an unfinished turn."""
    runtime = opened.runtime
    chat = Chat(front, runtime, home=opened.home, make_model=opened.make_model, settings=opened.settings)
    unnamed = not opened.is_first and not chat.settings.session.model and runtime.model.name == "offline"
    if front.redraws and front.terminal.colour and chat.settings.terminal.links and can_link():
        chat.view.use_links(PathLinks(Path(runtime.workspace.root), lines=can_link_lines()).link)
    chat.show_message(format_facts(runtime, opened.runner), "dim")
    if prompts := runtime.session.list_prompts():
        chat.show_message(f"session {runtime.session.id}, turn {len(prompts) + 1}", "dim")
        chat.view.echo_prompt(prompts[-1].text)
        if has_unfinished_turn(runtime.session):
            for event in list_turn_events(runtime.session)[-SHOWN_EVENTS:]:
                chat.view.show_event(event)
        else:
            chat.view.show_last_answer(*_find_last_answer(chat))
    elif not unnamed and not opened.is_first:
        chat.show_message(choose_tip(datetime.date.today()), "dim")
    if cut_off := read_resume_notice(runtime):
        chat.show_message(cut_off, "yellow")
    if opened.is_first:
        from cli.tui.start.first_run import FirstRun

        chat.setup = FirstRun(chat)
        chat.setup.start()
    warnings = (runtime.workspace.sandbox.warning, build_exposure_warning(runtime.workspace.root))
    for line in filter(None, (opened.notice if unnamed else "", *warnings, *opened.settings.notices)):
        chat.show_message(line, "yellow")
    if runtime.session.replayed.find_newest_place("signal"):
        from cli.tui.commands.attempts.session_strategy import restore_strategy

        restore_strategy(chat)
    chat.resume_session()
    return chat


def print_resume_hint(chat: Chat) -> None:
    """Print how to resume the session, if it has a prompt."""
    if chat.runtime.session.list_prompts():
        with contextlib.suppress(OSError):  # the terminal is gone: no reader
            print(f"go on later: patchwright resume {chat.runtime.session.id}", flush=True)


def _find_last_answer(chat: Chat) -> tuple[str, End | None]:
    """Return the answer and the end event of the last turn; the log is read backwards, only as far as needed."""
    end: End | None = None
    for event in reversed(chat.runtime.session.replayed):
        match event:
            case End():
                end = end or event
            case ObservationEvent() if event.data.get("summary"):
                return str(event.data["summary"]), end
            case MessageEvent() if event.text.strip():
                return event.text, end
            case Prompt():
                break
    return "", end
