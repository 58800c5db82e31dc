"""Families of models by name, and the edit formats that each writes well (reasons: docs/editing-models.md)."""

from __future__ import annotations

import re

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.tool_settings import Format
from tools.edit.format_registry import FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models with the same edit formats.

    words: parts of the lower-case name, as the user writes it; pattern: found anywhere in a name with one of them
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    formats: tuple[Format, ...]


def find_family(model: str) -> Family:
    """Return the first family that matches the name."""
    name = model.lower()
    likely = (each for each in FAMILIES if any(word in name for word in each.words))
    return next((each for each in likely if each.pattern.search(name)), UNKNOWN)


def _define_family(name: str, words: str, pattern: str, *formats: Format) -> Family:
    return Family(name=name, words=tuple(words.split()), pattern=compile_lazily(pattern), formats=formats)


_AT_HOME = r"^gguf:|^(?:litellm/)?(?:ollama|ollama_chat|lmstudio|lm_studio|vllm|hosted_vllm|llamacpp)/"
"""Local servers: the name says nothing of a model's size, and its precision is often reduced."""

_SMALL = r"(?<![0-9a-z.])(?:[0-9]|[12][0-9]|3[0-4])(?:\.[0-9])?b\b|[-_]nano\b|gpt-oss"
"""Up to 34 billion parameters, according to the name."""

_OTHERS = "deepseek qwen qwq mistral codestral devstral magistral kimi glm- grok minimax"

FAMILIES = (
    _define_family("in this process", "scripted: offline", r"^(?:scripted:|offline$)", *FORMATS),
    _define_family("local", "gguf: ollama lmstudio lm_studio vllm llamacpp", _AT_HOME, "replace", "whole"),
    _define_family("small", "b nano gpt-oss", _SMALL, "replace", "whole"),
    _define_family("OpenAI, 4.1 and later", "gpt- o3 o4 o5 o6 o7 o8 o9 codex",
            r"(?:^|[/.])(?:gpt-4\.1|gpt-[5-9]|gpt-[1-9][0-9]|o[3-9]\b|codex)", "patch", "replace", "whole"),
    _define_family("OpenAI, before 4.1", "gpt-4 gpt-3 chatgpt- o1",
            r"(?:^|[/.])(?:gpt-4|gpt-3|chatgpt-|o1\b)", "replace", "blocks", "whole"),
    _define_family("Anthropic", "claude", r"claude", "replace", "symbol", "whole"),
    _define_family("Google", "gemini", r"gemini", "replace", "blocks", "whole"),
    _define_family("DeepSeek, Qwen, Mistral, Kimi, GLM, Grok, MiniMax", _OTHERS,
            _OTHERS.replace(" ", "|").replace("glm-", r"\bglm-"), "replace", "blocks", "whole"),
)  # fmt: skip

UNKNOWN = _define_family("unknown", "", r"", "replace", "whole")
