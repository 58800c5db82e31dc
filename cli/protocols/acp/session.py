"""One session of a client: its prompts, its updates, and what the client may change of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import field

from acp.helpers import update_agent_message_text
from acp.schema import (
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PromptResponse,
    SessionInfoUpdate,
    StopReason,
    Usage,
    UsageUpdate,
)

from agent.app_dirs import Home
from agent.events import End, ErrorEvent, Event, MessageEvent, Prompt, SideCall
from agent.exit_codes import Exit
from agent.model.protocol import Delta
from agent.session.usage_report import UsageReport
from agent.session_settings import StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.loop import HarnessText
from cli.invocation import NO_MODEL
from cli.protocols.acp.asking.permissions import ClientApprover
from cli.protocols.acp.asking.plan_approval import ask_about_plan
from cli.protocols.acp.command_offers import list_commands
from cli.protocols.acp.config_options import ConfigOptions
from cli.protocols.acp.content.live_updates import SessionNotice
from cli.protocols.acp.content.prompt_content import ContentBlock, read_prompt
from cli.protocols.acp.content.updates import SessionUpdate, UpdateMapper, map_history
from cli.protocols.acp.editor_client import EditorClient
from cli.protocols.acp.request_errors import make_request_error
from cli.protocols.acp.session_modes import SessionModes
from cli.protocols.acp.session_opening import OpenedRuntime
from cli.tui.conversation.plan_mode import has_plan
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

REPLAYED_AT_ONCE = 200
"""Updates of a session's past between which other sessions have their turn."""

LONGEST_SESSION_TITLE = 100

MOST_WAITING_PROMPTS = 32
"""Prompts that wait for the end of a turn as its steering."""

_STOP_REASONS: dict[str, StopReason] = {"refusal": "refusal", "length": "max_tokens"}
"""Stop reasons by the end of the model's last reply."""

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
"""Ends of a turn that the client gets as an error of its prompt."""


@dataclass(slots=True)
class _Turn:
    """A prompt at work, with those that came while it was. texts: of the latter, not yet delivered"""

    done: asyncio.Future[End | None]
    is_cancelled: bool = False
    error: ErrorEvent | None = None
    last_stop: str = ""
    texts: list[str] = field(default_factory=list)


class ClientSession:
    """A session that a client has opened."""

    def __init__(self, opened: OpenedRuntime, home: Home, client: EditorClient) -> None:
        self.runtime = runtime = opened.runtime
        self.id = runtime.session.id
        self._settings = opened.settings
        self._notices = list(opened.notices)
        self._has_server_prompts = False
        self._home = home
        self._client = client
        self._mapper = UpdateMapper(runtime.workspace.root, runtime.session.folder)
        self._spent = UsageReport()
        self._turn: _Turn | None = None
        self._changing = asyncio.Lock()  # held while a mode or an option is changed
        self._files = None
        self.modes = SessionModes(runtime, opened.settings.session.access)
        self.options = ConfigOptions(runtime, opened.settings.session, home)
        self._approver = ClientApprover(client, self.id, lambda: self._mapper)
        runtime.loop.gateway.approver = self._approver
        if client.can_read_files:
            from cli.protocols.acp.editor_files import EditorFiles

            self._files = EditorFiles(client, self.id, runtime.workspace, runtime.session.append)
            runtime.loop.monitors.add_monitor(self._files)
        self._attach_person()
        runtime.session.subscribe(self._handle_event)
        runtime.on_delta = self._handle_delta
        runtime.workspace.progress = self._handle_progress

    @property
    def is_working(self) -> bool:
        """Whether a prompt is at work."""
        return self._turn is not None

    async def prompt(self, blocks: list[ContentBlock]) -> PromptResponse:
        """Take a prompt through a turn; one that comes during a turn is told to the model in it.

        Raises RequestError for a turn that failed, UserError for a prompt that cannot be used.
        """
        text = read_prompt(blocks)
        self.runtime.typed.append(text)
        if self._turn is not None:
            return await self._steer(self._turn, text)
        turn = self._turn = _Turn(asyncio.get_running_loop().create_future())
        end: End | None = None
        try:
            end = await self._run_turns(turn, text)
        finally:
            self._turn = None
            turn.done.set_result(end)
        return self._answer(turn, end)

    def cancel(self) -> None:
        """End the prompt at work, if there is one; its log is complete, and it is answered as cancelled."""
        if self._turn is None:
            return
        self._turn.is_cancelled = True
        if self.runtime.loop.is_stepping:
            self.runtime.stop()
        elif self.runtime.is_turn_running:  # a stop of the loop would outlive this turn
            self.runtime.interrupt()

    async def replay(self) -> None:
        """Send the whole past of the session as updates."""
        mapper = UpdateMapper(self.runtime.workspace.root, self.runtime.session.folder)
        for number, update in enumerate(map_history(mapper, iter(self.runtime.session.replayed)), 1):
            self._send(update)
            if number % REPLAYED_AT_ONCE == 0:
                await asyncio.sleep(0)
        if self._turn is None:
            for update in mapper.end_open_calls():
                self._send(update)
        self._send_usage()

    def announce(self) -> None:
        """Send the commands that the user can call."""
        self._send(list_commands(self.runtime, self._home))

    def _announce_server_prompts(self) -> None:
        """Send the commands again once MCP servers that were started have prompts."""
        servers = self.runtime.mcp
        if servers is not None and not self._has_server_prompts and any(each.prompts for each in servers):
            self._has_server_prompts = True
            self.announce()

    async def set_mode(self, mode_id: str) -> None:
        """Use another mode; during a turn, from its end on. Raises UserError."""
        async with self._change():
            await self.modes.enter(mode_id)
        self._tell_mode()

    async def set_option(self, option: str, value: str | bool) -> None:
        """Change an option; during a turn, from its end on. Raises UserError."""
        async with self._change():
            await self.options.set_value(option, value)
        if self.runtime.team is None:  # of the offline engine, which starts no agents
            from agent.team.attach import attach_team

            attach_team(self.runtime, self._home)
            self._attach_person()
        self._send(
            ConfigOptionUpdate(
                session_update="config_option_update", config_options=list(self.options.describe())
            )
        )

    async def close(self) -> None:
        """End the prompt at work and release the session."""
        turn = self._turn
        self.cancel()
        if turn is not None:
            await asyncio.wait([turn.done])
        await self.runtime.close()

    @asynccontextmanager
    async def _change(self) -> AsyncIterator[None]:
        """Wait for the end of the turn, and keep the next one waiting."""
        while self._turn is not None:
            await asyncio.shield(self._turn.done)
        async with self._changing:
            yield

    async def _steer(self, turn: _Turn, text: str) -> PromptResponse:
        if len(turn.texts) >= MOST_WAITING_PROMPTS:
            raise make_request_error("usage", "too many prompts wait for this turn", "Wait for its end.")
        turn.texts.append(text)
        self.runtime.loop.inbox.append(text)
        return self._answer(turn, await asyncio.shield(turn.done))

    async def _run_turns(self, turn: _Turn, text: str) -> End | None:
        """Run turns until no text is left that came too late for one. Returns None if it was cancelled before."""
        async with self._changing:  # a change that was asked for before
            self._tell_notices()
        self._approver.forget_last_answer()
        own = self.runtime.model.name
        text, model = await self._expand_call(text)
        if not model or model == own:
            return await self._run_each(turn, text)
        await self.options.use_model(model)
        try:
            return await self._run_each(turn, text)
        finally:
            await self.options.use_model(own)

    async def _run_each(self, turn: _Turn, text: str) -> End | None:
        end: End | None = None
        while text and not turn.is_cancelled:
            note = self.modes.note
            strategy = StrategySettings() if note else self._settings.session.strategy
            work = choose_work(self.runtime, strategy, text)
            turn.error, turn.last_stop = None, ""
            end = await self.runtime.run_turn(text, work, [note] if note else [])
            if self._files is not None:
                await self._files.finish_turn()
            self._announce_server_prompts()
            self._send_usage()
            text = self._take_late_texts(end)
            if not text and self.modes.is_planning and has_plan(self.runtime, end):
                text = await self._offer_plan()
        return end

    async def _offer_plan(self) -> str:
        """Return the prompt that carries out the plan, if the user agrees to it, in the mode before it."""
        text = await ask_about_plan(self._client, self.runtime)
        if text:
            await self.modes.leave_plan()
            self._tell_mode()
        return text

    def _tell_mode(self) -> None:
        mode = self.modes.current
        self._send(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))

    def _take_late_texts(self, end: End) -> str:
        """Return text that came too late for a turn as the next prompt, unless the turn was stopped."""
        inbox = self.runtime.loop.inbox
        left = [text for text in inbox if not isinstance(text, HarnessText)]
        inbox.clear()
        return "" if end.exit_code in (Exit.INTERRUPTED, *_FAILURES) else "\n".join(left)

    async def _expand_call(self, text: str) -> tuple[str, str]:
        """Return the prompt that a command or a skill makes, and its model, "" for the session's own."""
        if not text.startswith("/"):
            return text, ""
        from agent.extension.commands.command_prompt import expand_call

        called = await expand_call(self.runtime, self._home, text)
        return (called.prompt, called.model) if called is not None else (text, "")

    def _answer(self, turn: _Turn, end: End | None) -> PromptResponse:
        """Return the answer to a prompt. Raises RequestError for a turn that failed."""
        if end is None or turn.is_cancelled or end.exit_code == Exit.INTERRUPTED:
            reason: StopReason = "cancelled"
        elif end.exit_code in _FAILURES:
            error = turn.error
            if error is None:
                raise make_request_error("internal", end.summary or end.outcome)
            raise make_request_error(error.fault, error.message, error.hint)
        elif end.exit_code == Exit.LIMIT:
            reason = "max_turn_requests"
        else:
            reason = _STOP_REASONS.get(turn.last_stop, "end_turn")
        if end is None:
            return PromptResponse(stop_reason=reason)
        used = end.usage
        usage = Usage(
            input_tokens=used.input,
            output_tokens=used.output,
            total_tokens=used.input + used.output,
            cached_read_tokens=used.cached,
            thought_tokens=used.reasoning,
        )
        return PromptResponse(stop_reason=reason, usage=usage)

    def _tell_notices(self) -> None:
        """Tell the user once what is not as they may expect."""
        for notice in self._notices:
            if notice == NO_MODEL and self.runtime.model.name != "offline":  # the client has chosen one
                continue
            told = sanitize_text(notice)
            if self._client.shows_notices:
                self._send(SessionNotice(severity="warning", title=told))
            else:
                self._send(update_agent_message_text(f"patchwright: {told}\n\n"))
        self._notices.clear()

    def _attach_person(self) -> None:
        """Let models ask the user where the client has forms; agents may work on between the turns in any case."""
        from agent.team.attach import attach_person, find_session_team

        if (team := find_session_team(self.runtime)) is None:
            return
        team.stays_open = True
        if self._client.can_ask_forms:
            from cli.protocols.acp.asking.elicitation import ClientPerson

            attach_person(self.runtime, ClientPerson(self._client, self.id))

    def _handle_event(self, event: Event) -> None:
        self._spent.handle_event(event)
        if self._turn is not None:
            if isinstance(event, ErrorEvent):
                self._turn.error = event
            elif isinstance(event, MessageEvent):
                self._turn.last_stop = event.stop
        if isinstance(event, Prompt):
            self._approver.forget_last_answer()
            self._tell_title(event)
        for update in self._mapper.map_event(event):
            self._send(update)
        if isinstance(event, MessageEvent | SideCall):
            self._send_usage()

    def _tell_title(self, event: Prompt) -> None:
        """Name the session by its first prompt."""
        if self.runtime.session.replayed.count_marked("prompt") == 1:
            title = sanitize_text(event.text.strip().partition("\n")[0])[:LONGEST_SESSION_TITLE]
            self._send(SessionInfoUpdate(session_update="session_info_update", title=title))

    def _handle_delta(self, delta: Delta) -> None:
        for update in self._mapper.map_delta(delta):
            self._send(update)

    def _handle_progress(self, line: str) -> None:
        for update in self._mapper.map_progress(line):
            self._send(update)

    def _send_usage(self) -> None:
        cost = self._spent.total.usage.cost
        self._send(
            UsageUpdate(
                session_update="usage_update",
                used=max(self.runtime.loop.compressor.total_tokens, 0),
                size=max(self.runtime.loop.compressor.find_window(), 0),
                cost=None if cost is None else Cost(amount=cost, currency="USD"),
            )
        )

    def _send(self, update: SessionUpdate) -> None:
        with suppress(UserError):
            self._client.send_update(self.id, update)
