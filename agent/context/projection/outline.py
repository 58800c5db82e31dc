"""Outline of a projection: positions of the source events of its messages, in message order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sandbox.lazy_dataclass import dataclass


class Row(NamedTuple):
    """One message: the first and last event that it represents, and the compactions that changed it.

    fold: it is the record made by the first of these
    """

    first: int
    last: int
    fold: bool
    by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """rows: the messages; open: events of the unfinished batch: message, observations, and steers in between"""

    rows: list[Row]
    open: list[int]

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Outline:
        """Build an outline from the result of `as_data`. Raises ValueError, TypeError or KeyError for other data."""
        rows = [
            Row(int(first), int(last), bool(fold), tuple(map(int, by)))
            for first, last, fold, by in data["rows"]
        ]
        if any(row.fold and not row.by for row in rows):
            raise ValueError("a record that nothing made")
        return cls(rows, [int(each) for each in data["open"]])

    def as_data(self) -> dict[str, Any]:
        """Return the outline as JSON-able values."""
        return {
            "rows": [[first, last, int(fold), by] for first, last, fold, by in self.rows],
            "open": self.open,
        }

    def list_places(self) -> list[int]:
        """Return the positions of all events needed to build the messages, each once, in order."""
        found = {row.first for row in self.rows if not row.fold}
        return sorted(found.union(self.open, *(row.by for row in self.rows)))
