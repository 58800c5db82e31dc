"""From a model's name, as users know it, to a `Model` that is ready to be asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.model.base import Model
from agent.model.providers import BARE, DEFAULTS, ENDPOINTS, LITELLM, REASONING, Endpoint
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.model.catalog import Listing
    from agent.model.wire import Wire

Notice = Callable[[str], None]

_FORMS = "openai/NAME, anthropic/NAME, ollama/NAME, NAME --api-base URL, scripted:FILE, offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model is made with, whatever its name.

    api_base: where it is, if not where its provider usually is; then no key is needed
    env: variables that hold keys and addresses
    cache: folder for what can be made again
    on_notice: told in one line when a request waits before another try
    effort: how much to think: "low", "medium", "high", or "" for what the provider does by itself
    listings: what the user says of models by name
    apply_doubtful: the offline engine writes changes of low confidence, too
    """

    api_base: str | None
    env: Mapping[str, str]
    cache: Path
    on_notice: Notice = lambda text: None
    effort: str = ""
    listings: Mapping[str, Listing] = field(default_factory=dict)
    apply_doubtful: bool = False


def resolve(
    name: str,
    api_base: str | None,
    env: Mapping[str, str],
    cache: Path,
    on_notice: Notice = lambda text: None,
) -> Model:
    """The model called `name`; see `make` and `Context`."""
    return make(name, Context(api_base=api_base, env=env, cache=cache, on_notice=on_notice))


def make(name: str, context: Context) -> Model:
    """The model called `name`.

    Raises UserError: CONFIGURATION for a name that nobody knows, CREDENTIALS for a missing key.
    """
    if name == "offline":
        from agent.model.offline import OfflineModel

        return OfflineModel(apply_doubtful=context.apply_doubtful)
    if name.startswith("scripted:"):
        from agent.model.scripted import ScriptedModel

        return ScriptedModel(Path(name.removeprefix("scripted:")).expanduser())
    if name.startswith("cassette:"):
        from agent.model.cassette import Cassette

        return Cassette(Path(name.removeprefix("cassette:")).expanduser())
    provider, model = _provider(name, context.api_base)
    if provider == "litellm":
        provider, _, _ = model.partition("/")
        return _through_litellm(name, model, provider, context)
    if provider in ENDPOINTS:
        return _direct(name, provider, model, context)
    if provider in LITELLM:
        return _through_litellm(name, f"{provider}/{model}", provider, context)
    if context.api_base:  # any other name is the server's own, slashes included
        return _direct(name, "openai", name, context)
    raise _unknown(name)


def find_listing(name: str, context: Context) -> Listing | None:
    """What is known of the model called `name`, which is not made for it. Raises UserError for an unknown name."""
    from agent.model.catalog import Catalog

    provider, model = _provider(name, context.api_base)
    if provider != "litellm" and provider not in ENDPOINTS and provider not in LITELLM:
        if not context.api_base:
            raise _unknown(name)
        provider, model = "openai", name
    return Catalog(context.cache, context.listings).find(_spellings(name, provider, model))


def _spellings(name: str, provider: str, model: str) -> tuple[str, ...]:
    """Names under which the catalog may know a model."""
    if provider == "litellm":
        return (name, model, model.partition("/")[2])
    listed = ENDPOINTS[provider].listed if provider in ENDPOINTS else ""
    return (name, f"{listed or provider}/{model}", model)


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


def _direct(name: str, provider: str, model: str, context: Context) -> Model:
    from agent.model.catalog import Catalog

    endpoint = ENDPOINTS[provider]
    base = _whole_base(endpoint, context.api_base or _base(endpoint, context.env))
    at_home = base == endpoint.base
    variable, key = _key(endpoint.keys, context.env)
    if at_home and endpoint.keys and not key:
        raise _missing_key(name, endpoint.keys)
    from agent.model.http_model import HttpModel, Place

    names = _spellings(name, provider, model)
    catalog = Catalog(context.cache, context.listings)
    known = catalog.find_quickly(names) if at_home else catalog.find_quickly((name,))
    place = Place(name=name, model=model, base=base, key=key, key_variable=variable or "the API key")
    wire = endpoint.wire
    if provider == "openai" and at_home and REASONING.match(model):
        wire = "responses"
    sticky = _sticky(context) if at_home and endpoint.sticky else ""
    makers = {
        "chat": lambda: _chat(model, provider, context, sticky, at_home=at_home),
        "responses": lambda: _responses(model, context, sticky),
        "anthropic": lambda: _anthropic(model, context, token=variable in endpoint.tokens),
    }
    made = HttpModel(
        place,
        wire=makers[wire](),
        window=(known.window or None) if known else None,
        listing=lambda: catalog.find(names),
        on_notice=context.on_notice,
        instead=(lambda: _responses(model, context)) if wire == "chat" else None,
    )
    if wire != "chat" or (endpoint.listed == "openai" and at_home):
        return made
    from agent.model.text_tools import TextTools

    # Anything may stand behind such a server, models that were never taught to call tools included.
    return TextTools(made, always=known is not None and not known.tools, on_notice=context.on_notice)


def _chat(model: str, provider: str, context: Context, sticky: str, *, at_home: bool) -> Wire:
    from agent.model.openai_http import ChatWire, Dialect

    endpoint = ENDPOINTS[provider]
    dialect = Dialect(
        # Another server behind the same name may not know the newer words of the real one.
        limit=endpoint.limit if at_home else "max_tokens",
        reasoning=endpoint.reasoning,
        effort=context.effort,
        mark=provider == "openrouter" and "claude" in model,
        sticky=sticky,
    )
    return ChatWire(model, dialect)


def _responses(model: str, context: Context, sticky: str = "") -> Wire:
    from agent.model.openai_responses import ResponsesDialect, ResponsesWire

    return ResponsesWire(model, ResponsesDialect(effort=context.effort, sticky=sticky))


def _anthropic(model: str, context: Context, *, token: bool) -> Wire:
    from agent.model.anthropic_http import AnthropicDialect, AnthropicWire

    return AnthropicWire(model, AnthropicDialect(effort=context.effort), token=token)


def _sticky(context: Context) -> str:
    """The same for all requests of this user, so that a session that is resumed finds its cache again."""
    import zlib

    return f"patchwright-{zlib.crc32(str(context.cache).encode()):08x}"


def _whole_base(endpoint: Endpoint, base: str) -> str:
    """Anthropic's own client adds the version to the base; so do those who set its variable."""
    if endpoint.wire != "anthropic" or base.rstrip("/").endswith(("/v1", "/messages")):
        return base
    return base.rstrip("/") + "/v1"


def _base(endpoint: Endpoint, env: Mapping[str, str]) -> str:
    for variable in endpoint.base_variables:
        if value := env.get(variable, "").strip():
            return _as_client(value) if "OLLAMA_HOST" in endpoint.base_variables else value
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


def _through_litellm(name: str, model: str, provider: str, context: Context) -> Model:
    api_base = context.api_base
    variables = LITELLM.get(provider, ENDPOINTS[provider].keys if provider in ENDPOINTS else ())
    if "/" not in model:
        raise _unknown(name)
    variable, key = _key(variables, context.env)
    if variables and not key and not api_base:
        raise _missing_key(name, variables)
    from agent.model.litellm_backend import LiteLLMModel

    given: str | None = key
    if variable not in variables[:1]:
        # Which of the other variables is a key and which a token, litellm knows. Where there is none,
        # the server at hand needs none, but the clients that litellm uses insist on one.
        given = None if variable or not api_base else "none"
    return LiteLLMModel(
        name,
        model,
        api_base,
        given,
        key_variable=variable,
        listing=lambda: find_listing(name, context),
        on_notice=context.on_notice,
    )


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
