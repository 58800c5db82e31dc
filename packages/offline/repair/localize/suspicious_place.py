"""A place in a source file that may be at fault."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspiciousPlace:
    """A statement, or in other languages than Python a function, with its suspiciousness, from 0 to a little over 1.

    failing, passing: number of tests of each kind that run it
    """

    path: str
    line: int
    end_line: int
    function: str
    code: str
    score: float
    failing: int
    passing: int
