"""From a model's name, as users know it, to a `Model` that is ready to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.model.base import Model
from sandbox.errors import Fault, UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider that speaks chat completions.

    base: where it is; keys: variables that may hold the key, none if it needs none
    base_variables: variables that may hold another base
    listed: its prefix in the catalog of prices, where that is not the provider's name
    limit: what it calls the output limit
    reasoning: refuses a model's messages without their reasoning
    """

    base: str
    keys: tuple[str, ...] = ()
    base_variables: tuple[str, ...] = ()
    listed: str = ""
    limit: str = "max_tokens"
    reasoning: bool = False


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

ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint(
        base="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        base_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        limit="max_completion_tokens",
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
    "llamacpp": Endpoint(base="http://localhost:8080/v1"),
}

LITELLM: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
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
"""Providers that litellm reaches for us, with the variables that may hold their key."""

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
"""How names start that people write without the provider."""

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
"""What a key alone chooses, in this order: a capable model with tools that its provider still serves."""

Notice = Callable[[str], None]

_FORMS = "openai/NAME, anthropic/NAME, ollama/NAME, NAME --api-base URL, scripted:FILE, offline"


def resolve(
    name: str,
    api_base: str | None,
    env: Mapping[str, str],
    cache: Path,
    on_notice: Notice = lambda text: None,
) -> Model:
    """The model called `name`.

    api_base: where it is, if not where its provider usually is; then no key is needed
    cache: folder for what can be made again
    on_notice: told in one line when a request waits before another try
    Raises UserError: CONFIGURATION for a name that nobody knows, CREDENTIALS for a missing key.
    """
    if name == "offline":
        from agent.model.offline import OfflineModel

        return OfflineModel()
    if name.startswith("scripted:"):
        from agent.model.scripted import ScriptedModel

        return ScriptedModel(Path(name.removeprefix("scripted:")).expanduser())
    provider, model = _provider(name, api_base)
    if provider == "litellm":
        provider, _, _ = model.partition("/")
        return _through_litellm(name, model, provider, api_base, env, on_notice)
    if provider in ENDPOINTS:
        return _chat(name, provider, model, api_base, env, cache, on_notice)
    if provider in LITELLM:
        return _through_litellm(name, f"{provider}/{model}", provider, api_base, env, on_notice)
    if api_base:  # any other name is the server's own, slashes included
        return _chat(name, "openai", name, api_base, env, cache, on_notice)
    raise _unknown(name)


def default_model(env: Mapping[str, str]) -> str | None:
    """The model that the keys in the environment choose, None without any."""
    return next((model for key, model in DEFAULTS.items() if env.get(key)), None)


def _provider(name: str, api_base: str | None) -> tuple[str, str]:
    provider, slash, model = name.partition("/")
    if slash and provider and model:
        return provider.lower(), model
    if api_base:  # whoever's model it is, the server at hand serves it
        return "", name
    return next((provider for start, provider in BARE.items() if name.startswith(start)), ""), name


def _chat(
    name: str,
    provider: str,
    model: str,
    api_base: str | None,
    env: Mapping[str, str],
    cache: Path,
    on_notice: Notice,
) -> Model:
    from agent.model.catalog import Catalog
    from agent.model.openai_http import Dialect, OpenAIChat

    endpoint = ENDPOINTS[provider]
    base = api_base or _base(endpoint, env)
    at_home = base == endpoint.base
    variable, key = _key(endpoint.keys, env)
    if at_home and endpoint.keys and not key:
        raise _missing_key(name, endpoint.keys)
    names = (f"{endpoint.listed or provider}/{model}", model)
    catalog = Catalog(cache)
    known = catalog.find_quickly(names) if at_home else None
    return OpenAIChat(
        name,
        model,
        base,
        key,
        (known.window or None) if known else None,
        # Another server behind the same name may not know the newer words of the real one.
        dialect=Dialect(limit=endpoint.limit if at_home else "max_tokens", reasoning=endpoint.reasoning),
        key_variable=variable or "the API key",
        listing=lambda: catalog.find(names),
        on_notice=on_notice,
    )


def _base(endpoint: Endpoint, env: Mapping[str, str]) -> str:
    for variable in endpoint.base_variables:
        if value := env.get(variable, "").strip():
            return _as_client(value) if endpoint is _OLLAMA else value
    return endpoint.base


def _as_client(host: str) -> str:
    """Ollama's own variable names a host, or what its server listens on: made the URL that a client asks."""
    from urllib.parse import urlsplit

    parts = urlsplit(host if "://" in host else f"http://{host}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 11434)
    except ValueError:  # no number: reported, as it stands, when the address is used
        return host
    name = parts.hostname or "localhost"
    name = "localhost" if name in ("0.0.0.0", "::") else f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/') or '/v1'}"


def _through_litellm(
    name: str,
    model: str,
    provider: str,
    api_base: str | None,
    env: Mapping[str, str],
    on_notice: Notice,
) -> Model:
    variables = LITELLM.get(provider, ENDPOINTS[provider].keys if provider in ENDPOINTS else ())
    if "/" not in model:
        raise _unknown(name)
    variable, key = _key(variables, env)
    if variables and not key and not api_base:
        raise _missing_key(name, variables)
    from agent.model.litellm_backend import LiteLLMModel

    given: str | None = key
    if variable not in variables[:1]:
        # Which of the other variables is a key and which a token, litellm knows. Where there is none,
        # the server at hand needs none, but the clients that litellm uses insist on one.
        given = None if variable or not api_base else "none"
    return LiteLLMModel(name, model, api_base, given, key_variable=variable, on_notice=on_notice)


def _key(variables: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, str]:
    """(variable, key) of the first that is set."""
    return next(((name, env[name].strip()) for name in variables if env.get(name, "").strip()), ("", ""))


def _missing_key(name: str, variables: tuple[str, ...]) -> UserError:
    return UserError(
        Fault.CREDENTIALS,
        f"{name!r} needs a key, and {' or '.join(variables)} is not set",
        f"export {variables[0]}=…, or give --api-base URL for a server that needs none, or --model offline",
    )


def _unknown(name: str) -> UserError:
    return UserError(Fault.CONFIGURATION, f"unknown model {name!r}", f"Name one as {_FORMS}")
