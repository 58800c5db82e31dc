"""Types of a bug report: its code with told results, its told errors, its expectations."""

from __future__ import annotations

from typing import Any, Literal

from sandbox.lazy_dataclass import dataclass

Role = Literal["actual", "expected", "unknown"]
"""Whether a told result is what happens, what should happen, or the text does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A place in a told stack trace."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldError:
    """An exception that the report tells of. has_trace: with its stack; message: "" if only the type is told."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    has_trace: bool = False
    role: Role = "actual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Statements and the result that the report tells for the last of them.

    output: told text, "" for none; role: of the output; error: told exception instead of an output
    expected: text of the result that there should be, "" if none is told
    """

    source: str
    output: str = ""
    role: Role = "unknown"
    error: ToldError | None = None
    expected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Code that stands together in the report. lead: the prose before it"""

    exchanges: tuple[Exchange, ...]
    origin: Literal["transcript", "code", "inline"]
    lead: str = ""

    @property
    def source(self) -> str:
        """The code alone."""
        return "\n".join(each.source for each in self.exchanges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A bug report.

    errors: all that it tells of, in its order; versions: as written, "Django 3.0.7"
    wants_error: another exception should be raised instead
    is_order: it is a request to mend the bug, so that its assertions state what should be
    """

    title: str
    snippets: tuple[Snippet, ...] = ()
    errors: tuple[ToldError, ...] = ()
    steps: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    actual: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    wants_error: bool = False
    is_order: bool = False

    @property
    def has_code(self) -> bool:
        """Whether it holds a snippet or a trace."""
        told = any(
            each.origin != "inline" or any(e.output or e.expected for e in each.exchanges)
            for each in self.snippets
        )
        return told or any(each.has_trace for each in self.errors) or bool(self.snippets and self.errors)

    def as_data(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return {
            "title": self.title,
            "snippets": [each.source for each in self.snippets],
            "errors": [{"type": each.type, "message": each.message} for each in self.errors],
            "steps": list(self.steps),
            "expected": list(self.expected),
            "actual": list(self.actual),
            "versions": list(self.versions),
        }
