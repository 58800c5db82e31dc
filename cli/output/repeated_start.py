"""The beginning of a reply that repeats an interrupted one: it is on the screen, and not shown again."""

from __future__ import annotations

from agent.events import MessageEvent


class RepeatedStart:
    """Filter of streamed text. A model that is asked to go on after a broken connection often begins anew."""

    def __init__(self) -> None:
        self._shown = ""  # text of the replies that broke off
        self._held = ""  # text of the running reply, so far the beginning of that
        self._is_past = False

    @property
    def holds_all(self) -> bool:
        """Whether all text of the running reply so far is on the screen already."""
        return bool(self._held) and not self._is_past

    def feed(self, text: str) -> str:
        """Return what of the next text is to be shown."""
        if not self._shown or self._is_past:
            return text
        self._held += text
        if self._shown.startswith(self._held):
            return ""
        self._is_past = True
        if not self._held.startswith(self._shown):
            return self._held  # another answer
        return self._held[self._find_resumption() :]

    def end_reply(self, event: MessageEvent) -> None:
        """Handle the end of a reply; text of a partial one is expected again."""
        if not event.partial:
            self._shown = ""
        elif not self._shown.startswith(event.text):
            self._shown = event.text
        self._held, self._is_past = "", False

    def _find_resumption(self) -> int:
        """Return where the new text begins: with the word in whose middle the other one broke off."""
        end = len(self._shown)
        if self._held[end].isspace() or self._shown[-1].isspace():
            return end
        return max(self._shown.rfind(" "), self._shown.rfind("\n")) + 1
