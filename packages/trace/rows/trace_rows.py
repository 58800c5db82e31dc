"""The rows of a trace, and the sessions below it."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from agent.monitor.signals.signal_detectors import FoundSignal
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True)
class Row:
    """One row of the timeline.

    number: that of a step, counted from 1; 0 for other rows. event: id in the log; kind: "step" or that of the event
    off: left by a rewind; failed: something in it went wrong; parts: tokens of the window's `PARTS`
    tree: that of the files after a step, "" if none was taken
    detail: what is shown when it is chosen; its `calls` are the actions of a step
    revision: grows with each change, so that a reader can ask for what is new; signals: seen at its end
    """

    number: int
    event: str
    kind: str
    title: str
    time: float
    detail: dict[str, Any]
    seconds: float = 0.0
    failed: bool = False
    off: bool = False
    usage: dict[str, Any] | None = None
    model: str = ""
    parts: list[int] | None = None
    tests: list[int] | None = None
    tree: str = ""
    revision: int = 0
    signals: list[FoundSignal] = field(default_factory=list)


@dataclass(slots=True)
class Branch:
    """A session, an attempt or an agent below the traced one, with what became of it."""

    child: str
    label: str
    prompt: str = ""
    outcome: str = ""
    exit_code: int | None = None
    report: str = ""
    attempt: int = 0
    chosen: bool = False
    cost: float | None = None
    seconds: float = 0.0
    row: int = 0
    verdicts: list[list[str]] | None = None
