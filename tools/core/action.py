"""Tool call of a model (`Action`), its resources (`Effect`), and its result (`Observation`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect, EffectKind

__all__ = ["Action", "Effect", "EffectKind", "Observation", "ToolFailure", "current_action"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One tool call requested by a model.

    id: the provider's id (generated if the provider gave none)
    arguments: parsed arguments; empty if they could not be parsed, with the reason in `problem`
    raw: the arguments' JSON text exactly as the model wrote it
    within: id of the running action whose code requested this one, "" if a model did
    """

    id: str
    tool: str
    arguments: Mapping[str, Any]
    raw: str = ""
    problem: str = ""
    within: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Result of an action.

    text: for the model: bounded, numbered, with a note on omitted parts and how to get them
    data: JSON-able facts for views, verifiers and in-process models; never sent to a provider
    ref: artifact with the full output ("out:12"), "" if the text is complete
    failed: the action did not do what was asked
    value: return value for code that called the tool, if other than the text; neither logged nor sent
    pictures: contents of image files, kept beside the log and sent behind the results to a model that can see
    """

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    ref: str = ""
    failed: bool = False
    value: Any = None
    pictures: tuple[bytes, ...] = ()


current_action: ContextVar[str] = ContextVar("current_action", default="")
"""Id of the running action: actions that it starts are recorded under it."""


class ToolFailure(Exception):
    """Raised by a tool that changed nothing. Its text is for the model: the problem, and how to continue."""

    def __init__(self, text: str, **data: Any) -> None:
        super().__init__(text)
        self.data = data
