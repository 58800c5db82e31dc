"""Observations of a run of a draft, as the probe reports them. The report is untrusted: it is checked here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ErrorSeen(BaseModel):
    """An exception. frames: path (relative to the project where it is inside), line, function, is inside"""

    model_config = ConfigDict(frozen=True, extra="ignore")
    type: str
    types: list[str] = Field(default_factory=list)
    message: str = ""
    frames: list[tuple[str, int, str, bool]] = Field(default_factory=list)
    syntax: bool = False

    @property
    def is_inside(self) -> bool:
        """Whether code of the project was running."""
        return any(each[3] for each in self.frames)


class StepSeen(BaseModel):
    """What one statement did. shows: way → text of its value; calls: functions of the project: path, line, name"""

    model_config = ConfigDict(frozen=True, extra="ignore")
    stdout: str = ""
    shows: dict[str, str] = Field(default_factory=dict)
    error: ErrorSeen | None = None
    calls: list[tuple[str, int, str]] = Field(default_factory=list)

    def as_comparable(self) -> tuple[Any, ...]:
        """Return what has to be the same in each run."""
        error = (self.error.type, self.error.message) if self.error else None
        return self.stdout, tuple(sorted(self.shows.items())), error


class RunSeen(BaseModel):
    """A run: imports that were needed, names that nothing defines, and a step for each statement."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    imports: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    setup_error: ErrorSeen | None = None
    steps: list[StepSeen] = Field(default_factory=list)


class RunFailed(Exception):
    """The probe gave no result: it was killed, or the project cannot be imported."""
