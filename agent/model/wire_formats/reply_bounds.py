"""Bounds of what an endpoint may send: it is no more trusted than any other server, and can be fast and endless.

Each is several times what any model writes: the longest outputs have 128,000 tokens, about half a megabyte.
"""

from __future__ import annotations

MOST_EVENT = 4 << 20
"""Bytes of one event, of one of its lines, and of an answer that is not streamed."""

MOST_REPLY = 2 << 20
"""Characters of a reply: its text, its thoughts, and the arguments of its calls."""

MOST_ARGUMENTS = 1 << 20
"""Characters of the arguments of one call."""

MOST_CALLS = 256


class ReplyTooLarge(Exception):
    """The endpoint sent more than any model writes. what: says of what, after "it sent" """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class ReplyBounds:
    """Counts what came of one reply. All methods raise ReplyTooLarge."""

    def __init__(self) -> None:
        self._size = 0
        self._calls = 0

    def add_part(self, size: int) -> None:
        """Count characters of a reply's part."""
        self._size += size
        if self._size > MOST_REPLY:
            raise ReplyTooLarge(f"a reply of more than {MOST_REPLY >> 20} MiB")

    def add_call(self) -> None:
        """Count a call."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise ReplyTooLarge(f"more than {MOST_CALLS} calls in one reply")


def check_event_size(size: int) -> None:
    """Raise ReplyTooLarge if an event of this many bytes is too large."""
    if size > MOST_EVENT:
        raise ReplyTooLarge(f"an event of more than {MOST_EVENT >> 20} MiB")


def check_arguments_size(size: int) -> None:
    """Raise ReplyTooLarge if arguments of this many characters are too large."""
    if size > MOST_ARGUMENTS:
        raise ReplyTooLarge(f"a call with arguments of more than {MOST_ARGUMENTS >> 20} MiB")
