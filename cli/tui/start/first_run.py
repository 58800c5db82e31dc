"""Offer of a first run: a model whose key is there, one of a local server, or none; nothing is stored unasked.

It is printed, and answered by a line in the prompt, so that whoever begins to type at once is not interrupted:
any other text is a prompt, and ends the offer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.app_dirs import SETTINGS_FILE, Home
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from cli.settings.settings_types import Settings
    from cli.tui.conversation.conversation import Conversation

STORED = ("y", "yes")
NOT_STORED = ("n", "no")


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the offer. name: of the model; why: how it can be reached"""

    name: str
    why: str


OFFLINE = Option("offline", "no model: mends failing tests")

MOST_KEYS = 3
"""Providers with a key that are offered; /model lists all."""


def is_first_run(home: Home, settings: Settings, session: Path, env: Mapping[str, str]) -> bool:
    """Return whether a person starts with nothing set up: no option, no setting, no earlier session, not in CI."""
    has_set = bool(set(settings.flags) - {"plain"}) or bool(settings.session.model)
    if has_set or env.get("CI") or (home.config / SETTINGS_FILE).exists():
        return False
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    others = (home.data / "projects").glob("*/sessions/*/log.jsonl")
    return all(each.parent == session for each in others)


class FirstRun:
    """The offer in one conversation. `take_answer` gets each line that is sent, before it counts as a prompt."""

    def __init__(self, chat: Conversation) -> None:
        self._chat = chat
        self._options: list[Option] = []
        self._chosen: Option | None = None
        self._over = False
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Look for models and for what is missing on this machine, and print both; nothing waits for it."""
        self._start(self._offer())
        self._start(self._report_obstacles())

    def take_answer(self, text: str) -> bool:
        """Return whether a line answered the offer, or the question whether to remember it."""
        word = text.strip().lower()
        if self._over:
            return False
        if self._chosen is not None:
            chosen, self._over = self._chosen, True
            if word in STORED:
                self._start(self._store(chosen))
            elif word in NOT_STORED:
                self._chat.show_message("not stored", "dim")
            return word in (*STORED, *NOT_STORED)
        if word.isdecimal() and 1 <= int(word) <= len(self._options):
            self._chosen = self._options[int(word) - 1]
            self._start(self._use(self._chosen))
            return True
        self._over = True
        return False

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _offer(self) -> None:
        from agent.model.model_offers import find_server_offers
        from agent.model.providers.endpoints import DEFAULTS

        keys = {
            variable: model for variable, model in DEFAULTS.items() if os.environ.get(variable, "").strip()
        }
        options = [Option(model, f"key in {variable}") for variable, model in list(keys.items())[:MOST_KEYS]]
        servers = await find_server_offers(os.environ)
        first = {
            each.source: each for each in reversed(servers)
        }  # of each server the model that it lists first
        options += [Option(each.name, each.source) for each in servers if first[each.source] is each]
        if self._over:
            return
        self._options = [*options, OFFLINE]
        width = max(len(each.name) for each in self._options)
        rows = [
            f"  {number}  {each.name:<{width}}  {each.why}" for number, each in enumerate(self._options, 1)
        ]
        more = (
            ""
            if options
            else "\nTo use a model: export ANTHROPIC_API_KEY=…, or start a local server, then /model."
        )
        self._chat.show_message(
            "\nNothing is set up yet. Which model?\n"
            + "\n".join(rows)
            + more
            + "\nA number and Enter chooses; any other text is a prompt"
            + f" for {self._chat.runtime.model.name}. /model lists all."
        )

    async def _use(self, option: Option) -> None:
        if option.name != self._chat.runtime.model.name:
            try:
                await self._chat.switch_model(option.name)
            except UserError as error:
                self._over = True
                self._chat.show_message(f"patchwright: {error.message}\n  {error.hint}", "red")
                return
        path = self._chat.home.config / SETTINGS_FILE
        self._chat.show_message(
            f'{option.name} it is. Remember it? y and Enter stores model = "{option.name}" in {path};'
            " anything else does not."
        )

    async def _store(self, option: Option) -> None:
        from cli.settings.setting_sources import store_setting

        try:
            path = await asyncio.to_thread(store_setting, self._chat.home, "model", option.name)
        except UserError as error:
            self._chat.show_message(f"patchwright: {error.message}", "red")
            return
        self._chat.show_message(f"stored in {path}; patchwright config set model NAME changes it")

    async def _report_obstacles(self) -> None:
        """Print a line for each part that is missing on this machine or in this project."""
        from cli.commands.setup.doctor import collect_findings

        root = Path(self._chat.runtime.workspace.root)
        found = await asyncio.to_thread(collect_findings, root, self._chat.home, os.environ)
        for each in found:
            if each.verdict == "bad" or (each.verdict == "warn" and each.name in _TOLD):
                detail = _LISTED.sub("", each.detail)
                self._chat.show_message(_join_lines(f"! {each.name}: {detail}. {each.hint}"), "yellow")


_LISTED = compile_lazily(r" \(looked for .*?\)")
"""What was looked for in vain: too long for one line."""

_TOLD = ("identity", "tests")
"""Warnings of `doctor` that a first session should know of; the others are told by the session itself."""


def _join_lines(text: str) -> str:
    return " ".join(text.split())
