"""Tab in the prompt: select the next completion, or the first as soon as there is one."""

from __future__ import annotations

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyPressEvent


class TabCompletion:
    """A Tab key that is not lost while completions are being gathered. prompt_toolkit's own would be: it starts a new
    completion, which is ignored while one is running."""

    def __init__(self) -> None:
        self._wanted: Document | None = None
        self._known: Buffer | None = None

    def press(self, event: KeyPressEvent) -> None:
        """Select the next completion, now or when it is available."""
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
        """Cancel a pending Tab."""
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
