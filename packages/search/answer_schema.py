"""Schemas of typed answers in the form that providers enforce: every property named, and no other allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_CHECKED_LATER = frozenset(
    {"title", "default", "pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
     "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)  # fmt: skip
"""Keywords that some provider refuses. The answer is checked against them when it is read."""


def build_answer_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a typed answer in the form that providers enforce."""
    return build_strict_schema(kind.model_json_schema())


def build_strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema in the subset that OpenAI and Anthropic enforce."""
    found = {key: _convert(key, value) for key, value in schema.items() if key not in _CHECKED_LATER}
    if "properties" in found:
        found |= {"required": list(found["properties"]), "additionalProperties": False}
    return found


def _convert(key: str, value: Any) -> Any:
    if key in ("properties", "$defs") and isinstance(value, Mapping):
        return {name: build_strict_schema(each) for name, each in value.items()}
    if isinstance(value, Mapping):
        return build_strict_schema(value)
    if isinstance(value, list):
        return [build_strict_schema(each) if isinstance(each, Mapping) else each for each in value]
    return value
