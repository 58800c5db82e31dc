"""Which family a model's name belongs to, and that each one can be worked with."""

from __future__ import annotations

import re

import pytest

from agent.model.providers.endpoints import DEFAULTS
from agent.model.providers.model_family import FAMILIES, UNKNOWN, find_family
from tests.support.cli import CHECKOUT
from tools.edit.format_registry import FORMATS, WAYS

NAMES = {
    "in this process": ["offline", "scripted:turns.yaml", "scripted:/tmp/claude.yaml"],
    "local": ["ollama/qwen3-coder", "ollama/gpt-oss:20b", "lmstudio/claude-ish", "vllm/deepseek", "litellm/ollama/x"],
    "small": [
        "groq/openai/gpt-oss-120b", "openrouter/qwen/qwen2.5-coder-32b-instruct", "openai/gpt-5-nano",
        "together/meta-llama/Llama-3.1-8B", "deepinfra/Qwen/Qwen3-0.6B", "qwen3:30b-a3b",
    ],
    "OpenAI, 4.1 and later": [
        "openai/gpt-5.5", "gpt-4.1", "gpt-4.1-mini", "o3", "o4-mini", "azure/gpt-5", "openrouter/openai/gpt-5.1-codex",
        "litellm/openai/gpt-10", "github_copilot/gpt-5", "codex-mini-latest",
    ],
    "OpenAI, before 4.1": ["openai/gpt-4o", "gpt-4-turbo", "gpt-3.5-turbo", "chatgpt-4o-latest", "o1", "openai/o1-pro"],
    "Anthropic": [
        "anthropic/claude-sonnet-5", "claude-opus-4", "bedrock/us.anthropic.claude-sonnet-4-v1:0",
        "openrouter/anthropic/claude-opus-4.6", "vertex_ai/claude-haiku-4-5",
    ],
    "Google": ["gemini/gemini-2.5-pro", "gemini-3-flash", "vertex_ai/gemini-2.5-flash"],
    "DeepSeek, Qwen, Mistral, Kimi, GLM, Grok, MiniMax": [
        "deepseek/deepseek-v4-pro", "openrouter/qwen/qwen3-235b-a22b", "mistral/devstral-medium", "kimi-k2.6",
        "zai/glm-5", "xai/grok-4.5", "minimax/minimax-m3",
    ],
    "unknown": ["openai/test", "openai/local", "cohere/command-a", "my-model", "openrouter/openrouter/auto"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "name"), [(each, name) for each, names in NAMES.items() for name in names]
)
def test_a_name_is_of_its_family(expected: str, name: str) -> None:
    assert find_family(name).name == expected


def test_every_family_is_tried_here_and_can_make_and_change_files() -> None:
    assert list(NAMES) == [each.name for each in (*FAMILIES, UNKNOWN)]
    for each in (*FAMILIES, UNKNOWN):
        assert len(set(each.formats)) == len(each.formats)
        assert set(each.formats) <= set(FORMATS)
        assert any(WAYS[form].creates for form in each.formats)
        assert "replace" in each.formats


def test_a_model_that_a_key_alone_chooses_is_known() -> None:
    unknown = {model for model in DEFAULTS.values() if find_family(model) is UNKNOWN}
    assert unknown == {"openrouter/openrouter/auto"}


def test_the_documents_table_is_this_one() -> None:
    text = (CHECKOUT / "docs/editing-models.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    told = {name: tuple(formats.split(", ")) for name, formats in rows}
    assert {each.name: each.formats for each in (*FAMILIES, UNKNOWN)}.items() <= told.items()
    assert {f"`{name}`": (f"`{way.tool}`",) for name, way in WAYS.items()}.items() <= told.items()
