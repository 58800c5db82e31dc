"""An answer that arrives in several replies, because the connection or the output limit cut the first ones."""

from __future__ import annotations

LEAST_OVERLAP = 12
"""Characters that a continuation has to repeat of the part before it, for the repetition to be dropped."""

MOST_OVERLAP = 4_000


class UnfinishedAnswer:
    """Parts of one answer, in the order in which they came."""

    def __init__(self) -> None:
        self._text = ""

    def add_part(self, text: str) -> None:
        """Append a part that the next reply goes on from."""
        self._text = join_parts(self._text, text)

    def complete(self, text: str) -> str:
        """Return the whole answer, `text` being its last part, and start anew."""
        whole, self._text = join_parts(self._text, text), ""
        return whole

    def discard(self) -> None:
        """Forget the parts: the model went on with actions."""
        self._text = ""

    @property
    def is_begun(self) -> bool:
        """Whether a part is kept."""
        return bool(self._text)


def join_parts(first: str, second: str) -> str:
    """Return both as one text; what the second repeats of the end of the first occurs once."""
    if not first.strip() or not second.strip():
        return first if first.strip() else second
    if overlap := _measure_overlap(first, second):
        return first + second[overlap:]
    # Servers trim the space at which a reply was cut, and a cut between words is likelier than one within a word.
    between = " " if first[-1].isalnum() and second[0].isalnum() else ""
    return first + between + second


def _measure_overlap(first: str, second: str) -> int:
    """Return the length of the longest end of `first` with which `second` begins; 0 below the least."""
    tail = first[-MOST_OVERLAP:]
    start = tail.find(second[:LEAST_OVERLAP]) if len(second) >= LEAST_OVERLAP else -1
    while start >= 0:
        if second.startswith(tail[start:]):
            return len(tail) - start
        start = tail.find(second[:LEAST_OVERLAP], start + 1)
    return 0
