"""How a model acts: by calls of tools, by code, or by both."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

ActionMode = Literal["tools", "code", "hybrid"]
"""tools: calls only; code: fenced blocks only, with the tools as functions; hybrid: calls, one of which runs code."""

Modes = ActionMode | Mapping[str, ActionMode]
"""One for all models, or by pattern of the model's name (`ollama/*`); the first that fits counts."""

DEFAULT: ActionMode = "hybrid"


def resolve_action_mode(model: str, modes: Modes) -> ActionMode:
    """How the model of this name acts."""
    if isinstance(modes, str):
        return modes
    return next((mode for pattern, mode in modes.items() if fnmatchcase(model, pattern)), DEFAULT)
