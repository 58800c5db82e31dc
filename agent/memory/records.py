"""Records of the memory: cases, one a turn, and lessons, one claim each."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass

PAST_REPAIRS = "repairs of the past"
"""Fact of a workspace: a function that returns how often each kind of change mended something here."""

CaseSource = Literal["turn", "history"]

Origin = Literal["code", "person", "import", "repository"]
"""Who a lesson is from: code that compared runs, a person's own words, another agent's notes, the repository's files.

Only the words of a person may say what is wanted. All others are facts, and may be wrong.
"""

LessonKind = Literal["command", "contrast", "correction", "refusal", "tool-error", "note", "repair", "skill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCommand:
    """A command that ended well. purpose: test, build, lint, …; "" if nothing says it"""

    line: str
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCommand:
    """A command that failed. cause: the line of its output that says why, shortened"""

    line: str
    cause: str
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One turn, or one commit of the history: what was asked, where it led, how it was verified.

    event: of the turn's prompt; places: files that were changed, then those that were read; names: functions and
    classes that were changed, as far as the log names them
    time: seconds since the epoch; cost: dollars, None if unknown; verified: what showed that it holds, "" for nothing
    """

    id: int = 0
    session: str
    event: str
    time: float
    task: str
    source: CaseSource = "turn"
    outcome: str = ""
    verified: str = ""
    cost: float | None = None
    tokens: int = 0
    steps: int = 0
    places: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    commands: tuple[KnownCommand, ...] = ()
    failures: tuple[FailedCommand, ...] = ()


CheckKind = Literal["file", "symbol", "digest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition without which a lesson is not shown.

    kind: file: `value` is there; symbol: `value` is `PATH:NAME`, and the file has the name;
        digest: `value` is `PATH:SHA-256`, and the file is as it was
    """

    kind: CheckKind
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One claim about a repository.

    use: what to do, as a command or in words; avoid: what fails; purpose: see `KnownCommand`
    session, event: where it comes from; path, tool, language: where it holds, "" for everywhere
    good, bad: turns that it helped, and that contradicted it; misses: the last ones in a row that contradicted it
    replaced_by: id of the lesson that took its place, "" if none did
    seen: when it was last confirmed, in seconds since the epoch
    """

    id: str
    kind: LessonKind
    claim: str
    use: str = ""
    avoid: str = ""
    purpose: str = ""
    origin: Origin = "code"
    session: str = ""
    event: str = ""
    path: str = ""
    tool: str = ""
    language: str = ""
    checks: tuple[Check, ...] = ()
    created: float = 0.0
    seen: float = 0.0
    good: int = 0
    bad: int = 0
    misses: int = 0
    replaced_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One time that a lesson was shown. why: the reason; used: the model did what it says; outcome: of the turn"""

    lesson: str
    session: str
    time: float
    why: str
    used: bool = False
    outcome: str = ""
