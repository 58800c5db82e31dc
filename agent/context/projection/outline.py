"""An outline of a projection: the places of the events that its messages are made of, in the order of the messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One message: the first and last event that it stands for, and the compactions that made it what it is.

    fold: it is the record that the first of these put there
    """

    first: int
    last: int
    fold: bool
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """rows: the messages; open: the batch that has not ended: its message, observations, and what was said meanwhile"""

    rows: list[Row]
    open: list[int]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Outline:
        """From what `as_data` made. Raises ValueError, TypeError or KeyError if it did not."""
        rows = [
            Row(int(first), int(last), bool(fold), tuple(map(int, by)))
            for first, last, fold, by in data["rows"]
        ]
        if any(row.fold and not row.by for row in rows):
            raise ValueError("a record that nothing made")
        return cls(rows, [int(each) for each in data["open"]])

    def as_data(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {
            "rows": [[first, last, int(fold), by] for first, last, fold, by in self.rows],
            "open": self.open,
        }

    def list_places(self) -> list[int]:
        """Of all events that it takes to make the messages, each once, in their order."""
        found = {row.first for row in self.rows if not row.fold}
        return sorted(found.union(self.open, *(row.by for row in self.rows)))
