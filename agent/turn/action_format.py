"""Action format of a model: tool calls, code, or both."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

ActionMode = Literal["tools", "code", "hybrid"]
"""tools: calls only; code: fenced blocks only, with the tools as functions; hybrid: calls, one of which runs code."""

Modes = ActionMode | Mapping[str, ActionMode]
"""One for all models, or by pattern of the model's name (`ollama/*`); the first match counts."""

DEFAULT: ActionMode = "hybrid"


def resolve_action_mode(model: str, modes: Modes) -> ActionMode:
    """Return the action format of the model with this name."""
    if isinstance(modes, str):
        return modes
    return next((mode for pattern, mode in modes.items() if fnmatchcase(model, pattern)), DEFAULT)
