"""Families of models by name, and the edit formats that each writes well (reasons: docs/editing-models.md)."""

from __future__ import annotations

import re

from sandbox.lazy_dataclass import dataclass
from tools.core.tool_settings import Format
from tools.edit.format_registry import FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models with the same edit formats. pattern: found anywhere in the lower-case name, as the user writes it"""

    name: str
    pattern: re.Pattern[str]
    formats: tuple[Format, ...]


def find_family(model: str) -> Family:
    """Return the first family that matches the name."""
    name = model.lower()
    return next((each for each in FAMILIES if each.pattern.search(name)), UNKNOWN)


def _define_family(name: str, pattern: str, *formats: Format) -> Family:
    return Family(name=name, pattern=re.compile(pattern), formats=formats)


_AT_HOME = r"^(?:litellm/)?(?:ollama|ollama_chat|lmstudio|lm_studio|vllm|hosted_vllm|llamacpp)/"
"""Local servers: the name says nothing of a model's size, and its precision is often reduced."""

_SMALL = r"(?<![0-9a-z.])(?:[0-9]|[12][0-9]|3[0-4])(?:\.[0-9])?b\b|[-_]nano\b|gpt-oss"
"""Up to 34 billion parameters, according to the name."""

_OTHERS = r"deepseek|qwen|qwq|mistral|codestral|devstral|magistral|kimi|\bglm-|grok|minimax"

FAMILIES = (
    _define_family("in this process", r"^(?:scripted:|offline$)", *FORMATS),
    _define_family("local", _AT_HOME, "replace", "whole"),
    _define_family("small", _SMALL, "replace", "whole"),
    _define_family("OpenAI, 4.1 and later", r"(?:^|[/.])(?:gpt-4\.1|gpt-[5-9]|gpt-[1-9][0-9]|o[3-9]\b|codex)",
            "patch", "replace", "whole"),
    _define_family("OpenAI, before 4.1", r"(?:^|[/.])(?:gpt-4|gpt-3|chatgpt-|o1\b)", "replace", "blocks", "whole"),
    _define_family("Anthropic", r"claude", "replace", "symbol", "whole"),
    _define_family("Google", r"gemini", "replace", "blocks", "whole"),
    _define_family("DeepSeek, Qwen, Mistral, Kimi, GLM, Grok, MiniMax", _OTHERS, "replace", "blocks", "whole"),
)  # fmt: skip

UNKNOWN = _define_family("unknown", r"", "replace", "whole")
