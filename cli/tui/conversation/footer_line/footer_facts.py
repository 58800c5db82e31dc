"""What a conversation tells its footer."""

from __future__ import annotations

import time
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.session.usage_report import UsageReport
from cli.output.amounts import format_price
from cli.output.style.terminal import Terminal
from cli.settings.key_actions import ACTIONS, format_key
from cli.tui.conversation.access_cycle import describe_access
from cli.tui.conversation.footer_line.footer import FooterFacts, measure_context
from sandbox.fs.repository import read_branch
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import Event
    from cli.tui.conversation.conversation import Conversation

FRESH = 2.0
"""Seconds for which the branch is not read again: the footer is drawn far more often than branches change."""


@dataclass(slots=True)
class FooterSource:
    """Facts of one conversation; it follows the session's events for their cost."""

    chat: Conversation
    _spent: UsageReport = field(default_factory=UsageReport)
    _branch: str = ""
    _read: float = float("-inf")

    def handle_event(self, event: Event) -> None:
        """Count what the next event cost."""
        self._spent.handle_event(event)

    @property
    def tokens(self) -> int:
        """Tokens used since the conversation was opened."""
        used = self._spent.total.usage
        return used.input + used.output

    def collect(self, *, is_working: bool) -> FooterFacts:
        """Return the facts of now."""
        runtime = self.chat.runtime
        if time.monotonic() > self._read + FRESH:
            self._branch, self._read = read_branch(Path(runtime.workspace.root)), time.monotonic()
        total = self._spent.total
        cost = format_price(total.usage, unpriced=total.has_unpriced_calls) if self.tokens else ""
        return FooterFacts(
            model=sanitize_text(runtime.model.name),
            access=describe_access(self.chat),
            danger="no sandbox" if runtime.workspace.sandbox.name == "unconfined" else "",
            branch=sanitize_text(self._branch),
            context=measure_context(runtime),
            cost="" if total.usage.cost is None else cost,
            hint=self._choose_hint(is_working=is_working),
        )

    def _choose_hint(self, *, is_working: bool) -> str:
        if self.chat.front.waiting.is_running:
            return ""  # the question says its keys
        return "esc stops" if is_working else self._format_mode_key(self.chat.front.terminal)

    def _format_mode_key(self, terminal: Terminal) -> str:
        keys = {**ACTIONS, **self.chat.settings.terminal.keys}["plan"]
        if not keys or not self.chat.front.redraws:
            return ""
        key = "⇧⇥" if keys[0] == "s-tab" and terminal.unicode else format_key(keys[0])
        return f"{key} mode"
