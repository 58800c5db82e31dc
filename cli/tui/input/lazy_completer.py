"""A completer that is made when it is first asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document


class LazyCompleter(Completer):
    """Completer created on first use, so that drawing the prompt does not wait for it. None: not available yet.

    asked: number of calls
    """

    def __init__(self, make: Callable[[], Completer | None]) -> None:
        self.asked = 0
        self._make = make
        self._completer: Completer | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """See `Completer`."""
        self.asked += 1
        if self._completer is None:
            self._completer = self._make()
        if self._completer is not None:
            yield from self._completer.get_completions(document, complete_event)
