"""What the model asks (`Action`), what that would touch (`Effect`), and what comes back (`Observation`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from sandbox.policy.effects import Effect, EffectKind

__all__ = ["Action", "Effect", "EffectKind", "Observation", "ToolFailure", "current_action"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool call asked for by a model.

    id: the provider's id for it (ours when the provider gave none)
    arguments: parsed arguments; empty when `problem` says why they could not be parsed
    raw: the arguments' JSON text exactly as the model wrote it
    within: id of the running action whose code asked for this one, "" if a model did
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    raw: str = ""
    problem: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What came back from an action.

    text: for the model: bounded, numbered, saying what was cut and how to get it
    data: JSON-able facts for views, verifiers and in-process models; never sent to a provider
    ref: artifact that holds the whole ("out:12"), "" if the text is the whole
    failed: the action did not do what was asked
    value: what code that called the tool gets, where the text is not it; neither logged nor sent
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    ref: str = ""
    failed: bool = False
    value: Any = None


current_action: ContextVar[str] = ContextVar("current_action", default="")
"""Id of the action that runs: what it starts in turn is recorded under it."""


class ToolFailure(Exception):
    """Raised by a tool that changed nothing: its text tells the model what happened and what to do."""

    def __init__(self, text: str, **data: Any) -> None:
        super().__init__(text)
        self.data = data
