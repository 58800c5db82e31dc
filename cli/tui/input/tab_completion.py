"""Tab in the prompt: the next completion, or the first as soon as there is one."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyPressEvent


class TabCompletion:
    """Its Tab is not lost while completions are being gathered. The line editor's own would be: it asks for them anew,
    which is passed over as long as they come."""

    def __init__(self) -> None:
        self._wanted: Document | None = None
        self._known: Buffer | None = None

    def press(self, event: KeyPressEvent) -> None:
        """Choose the next completion, now or when it has come."""
        buffer = event.current_buffer
        state = buffer.complete_state
        if state is not None and state.completions:
            buffer.complete_next()
            return
        if self._known is not buffer:
            self._known = buffer
            buffer.on_completions_changed += self._take_first_completion
        self._wanted = buffer.document
        buffer.start_completion()

    def forget(self) -> None:
        """Completions are not wanted any more."""
        self._wanted = None

    def _take_first_completion(self, buffer: Buffer) -> None:
        if self._wanted is None:
            return
        state = buffer.complete_state
        if buffer.document != self._wanted:
            self._wanted = None
        elif state is not None and state.completions:
            self._wanted = None
            if state.complete_index is None:
                buffer.complete_next()
