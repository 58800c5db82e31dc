"""How a diff is drawn."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLayout:
    """Colours, width and indentation of a diff.

    colour: without it, lines have only their signs: for a pipe, a log, a screen reader
    width: columns of a row; 0: no limit, lines are not wrapped
    fill: backgrounds reach the end of the row by an erase sequence, or by spaces where that is not understood
    rest: how to see the lines beyond the limit
    exact: for an approval: every character is shown, none cut or replaced, unusual spaces and tabs escaped
    """

    colour: bool
    width: int = 0
    indent: int = 0
    unicode: bool = True
    fill: Literal["erase", "spaces"] = "erase"
    rest: str = "git diff shows all"
    exact: bool = False
