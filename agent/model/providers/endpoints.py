"""Providers by name: address, wire format, and variables that hold their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider that is called directly.

    wire: its wire format
    base: its address; keys: variables that may hold the key, none if it needs none
    base_variables: variables that may hold another base
    listed: its prefix in the price catalog, if not the provider's name
    limit: its parameter for the output limit
    reasoning: refuses a model's messages without their reasoning
    tokens: those of `keys` that hold a bearer token
    sticky: accepts a key that routes requests to the same cache
    """

    base: str
    wire: Literal["chat", "responses", "anthropic"] = "chat"
    keys: tuple[str, ...] = ()
    base_variables: tuple[str, ...] = ()
    listed: str = ""
    limit: str = "max_tokens"
    reasoning: bool = False
    tokens: tuple[str, ...] = ()
    sticky: bool = False


_OLLAMA = Endpoint(base="http://localhost:11434/v1", base_variables=("OLLAMA_API_BASE", "OLLAMA_HOST"))
_LMSTUDIO = Endpoint(base="http://localhost:1234/v1", base_variables=("LM_STUDIO_API_BASE",))
_VLLM = Endpoint(base="http://localhost:8000/v1", base_variables=("HOSTED_VLLM_API_BASE", "VLLM_API_BASE"))
_TOGETHER = Endpoint(
    base="https://api.together.xyz/v1", keys=("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"), listed="together_ai"
)
_FIREWORKS = Endpoint(
    base="https://api.fireworks.ai/inference/v1",
    keys=("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    listed="fireworks_ai",
)

_OPENAI = Endpoint(
    base="https://api.openai.com/v1",
    keys=("OPENAI_API_KEY",),
    base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    listed="openai",
    limit="max_completion_tokens",
    sticky=True,
)

ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": _OPENAI,
    "openai_chat": _OPENAI,
    "openai_responses": replace(_OPENAI, wire="responses"),
    "anthropic": Endpoint(
        base="https://api.anthropic.com/v1",
        wire="anthropic",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        base_variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
        tokens=("ANTHROPIC_AUTH_TOKEN",),
    ),
    "openrouter": Endpoint(base="https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY",)),
    "deepseek": Endpoint(base="https://api.deepseek.com/v1", keys=("DEEPSEEK_API_KEY",), reasoning=True),
    "moonshot": Endpoint(base="https://api.moonshot.ai/v1", keys=("MOONSHOT_API_KEY",), reasoning=True),
    "groq": Endpoint(base="https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",)),
    "mistral": Endpoint(base="https://api.mistral.ai/v1", keys=("MISTRAL_API_KEY",)),
    "xai": Endpoint(base="https://api.x.ai/v1", keys=("XAI_API_KEY",)),
    "zai": Endpoint(base="https://api.z.ai/api/paas/v4", keys=("ZAI_API_KEY",)),
    "cerebras": Endpoint(base="https://api.cerebras.ai/v1", keys=("CEREBRAS_API_KEY",)),
    "sambanova": Endpoint(base="https://api.sambanova.ai/v1", keys=("SAMBANOVA_API_KEY",)),
    "deepinfra": Endpoint(base="https://api.deepinfra.com/v1/openai", keys=("DEEPINFRA_API_KEY",)),
    "hyperbolic": Endpoint(base="https://api.hyperbolic.xyz/v1", keys=("HYPERBOLIC_API_KEY",)),
    "nebius": Endpoint(base="https://api.studio.nebius.ai/v1", keys=("NEBIUS_API_KEY",)),
    "nvidia_nim": Endpoint(
        base="https://integrate.api.nvidia.com/v1", keys=("NVIDIA_NIM_API_KEY", "NVIDIA_API_KEY")
    ),
    "together": _TOGETHER,
    "together_ai": _TOGETHER,
    "fireworks": _FIREWORKS,
    "fireworks_ai": _FIREWORKS,
    "ollama": _OLLAMA,
    "ollama_chat": _OLLAMA,
    "lmstudio": _LMSTUDIO,
    "lm_studio": _LMSTUDIO,
    "vllm": _VLLM,
    "hosted_vllm": _VLLM,
    "llamacpp": Endpoint(base="http://localhost:8080/v1", base_variables=("LLAMACPP_API_BASE",)),
}

LITELLM: Mapping[str, tuple[str, ...]] = {
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "azure": ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN"),
    "azure_ai": ("AZURE_AI_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "minimax": ("MINIMAX_API_KEY",),
    "ai21": ("AI21_API_KEY",),
    "volcengine": ("VOLCENGINE_API_KEY", "ARK_API_KEY"),
    "codestral": ("CODESTRAL_API_KEY",),
    "vercel_ai_gateway": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    # These take their credentials from a file, a login or a cloud's own chain.
    "bedrock": (),
    "vertex_ai": (),
    "sagemaker_chat": (),
    "databricks": (),
    "watsonx": (),
    "snowflake": (),
    "oci": (),
    "huggingface": (),
    "github": (),
    "github_copilot": (),
    "chatgpt": (),
    "cloudflare": (),
    "friendliai": (),
    "featherless_ai": (),
    "novita": (),
    "meta_llama": (),
    "nscale": (),
    "scaleway": (),
    "ovhcloud": (),
    "wandb": (),
    "baseten": (),
    "lambda_ai": (),
    "gigachat": (),
    "litellm_proxy": (),
    "custom_openai": (),
    "openai_like": (),
}
"""Providers that are reached through litellm, with the variables that may hold their key."""

BARE: Mapping[str, str] = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "chatgpt-": "openai",
    "claude-": "anthropic",
    "gemini-": "gemini",
    "deepseek-": "deepseek",
    "grok-": "xai",
    "kimi-": "moonshot",
    "glm-": "zai",
}
"""Prefixes of model names that users write without the provider."""

DEFAULTS: Mapping[str, str] = {
    "OPENAI_API_KEY": "openai/gpt-5.5",
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5",
    "GEMINI_API_KEY": "gemini/gemini-2.5-pro",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-v4-pro",
    "MISTRAL_API_KEY": "mistral/mistral-medium-latest",
    "XAI_API_KEY": "xai/grok-4.5",
    "MOONSHOT_API_KEY": "moonshot/kimi-k2.6",
    "ZAI_API_KEY": "zai/glm-5",
    "CEREBRAS_API_KEY": "cerebras/gpt-oss-120b",
    "GROQ_API_KEY": "groq/openai/gpt-oss-120b",
    "OPENROUTER_API_KEY": "openrouter/openrouter/auto",
}
"""Default model for each key, in this order: a capable model with tools that its provider still serves."""

REASONING = compile_lazily(r"^(?:gpt-(?:[5-9]|[1-9][0-9])|o[1-9]\b|codex)")
"""OpenAI's reasoning models; only the responses endpoint preserves their reasoning from one step to the next."""


def complete_base(endpoint: Endpoint, base: str) -> str:
    """Add the version to the base, as Anthropic's own client does; users set its variable without it."""
    if endpoint.wire != "anthropic" or base.rstrip("/").endswith(("/v1", "/messages")):
        return base
    return base.rstrip("/") + "/v1"


def find_base(endpoint: Endpoint, env: Mapping[str, str]) -> str:
    """Return the address of a provider: that of its variable in `env`, else its usual one."""
    for variable in endpoint.base_variables:
        if value := env.get(variable, "").strip():
            return _normalize_ollama_host(value) if "OLLAMA_HOST" in endpoint.base_variables else value
    return endpoint.base


def _normalize_ollama_host(host: str) -> str:
    """Convert OLLAMA_HOST, a host or the address that the server listens on, to a client's URL."""
    from urllib.parse import urlsplit

    parts = urlsplit(host if "://" in host else f"http://{host}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 11434)
    except ValueError:  # not a number: reported unchanged when the address is used
        return host
    name = parts.hostname or "localhost"
    name = "localhost" if name in ("0.0.0.0", "::") else f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/') or '/v1'}"
