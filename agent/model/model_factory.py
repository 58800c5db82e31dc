"""Factory of models: from a name, as users write it, to a `Model` ready for requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.model.protocol import UNPAID, Model
from agent.model.providers.endpoints import (
    BARE,
    DEFAULTS,
    ENDPOINTS,
    LITELLM,
    REASONING,
    Endpoint,
    complete_base,
    find_base,
)
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.http.http_model import HttpModel, ModelAddress
    from agent.model.model_settings import RateLimitSettings
    from agent.model.providers.model_catalog import Listing
    from agent.model.rate_limits.rate_gate import RateGate
    from agent.model.wire_formats.wire_protocol import Wire

Notice = Callable[[str], None]

GGUF = "gguf:"
"""Prefix of models that are a file (`agent.model.gguf`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Configuration of a model, whatever its name.

    api_base: address, if not the provider's usual one; then no key is needed
    env: variables that hold keys and addresses
    cache: folder for data that can be recreated
    on_notice: receives one line when a request waits before a retry
    effort: reasoning effort (see `agent.model.model_settings`), "" for the provider's default
    temperature: of the sampling, None for the provider's default
    keep_cache: the provider keeps its cache for long (an hour, a day)
    service: class of its service: "standard", "flex", "priority", or "" for the account's
    listings: the user's entries for models, by name
    limits: of calls and tokens a minute, by provider or name of a model
    apply_doubtful: the offline engine writes changes of low confidence, too
    commits: the offline engine commits a repair without being asked
    """

    api_base: str | None
    env: Mapping[str, str]
    cache: Path
    on_notice: Notice = lambda text: None
    effort: str = ""
    temperature: float | None = None
    keep_cache: bool = False
    service: str = ""
    listings: Mapping[str, Listing] = field(default_factory=dict)
    limits: Mapping[str, RateLimitSettings] = field(default_factory=dict)
    apply_doubtful: bool = False
    commits: bool = True


def resolve_model(
    name: str,
    api_base: str | None,
    env: Mapping[str, str],
    cache: Path,
    on_notice: Notice = lambda text: None,
) -> Model:
    """Return the model called `name`; see `create_model` and `ModelConfig`."""
    return create_model(name, ModelConfig(api_base=api_base, env=env, cache=cache, on_notice=on_notice))


def create_model(name: str, context: ModelConfig) -> Model:
    """Return the model called `name`.

    Raises UserError: CONFIGURATION for an unknown name, CREDENTIALS for a missing key.
    """
    if name == "offline":
        from sandbox.extensions import load_extension

        make_offline = load_extension("models", "offline")
        offline: Model = make_offline(apply_doubtful=context.apply_doubtful, commits=context.commits)
        return offline
    if name.startswith("scripted:"):
        from agent.model.scripted.scripted_model import ScriptedModel

        return ScriptedModel(Path(name.removeprefix("scripted:")).expanduser())
    if name.startswith("cassette:"):
        from agent.model.scripted.cassette import Cassette

        return Cassette(Path(name.removeprefix("cassette:")).expanduser())
    if name.startswith(GGUF):
        return _create_gguf_model(name, context)
    provider, model = _parse_model_name(name, context.api_base)
    if provider == "litellm":
        provider, _, _ = model.partition("/")
        return _create_litellm_model(name, model, provider, context)
    if provider in ENDPOINTS:
        return _create_http_model(name, provider, model, context)
    if provider in LITELLM:
        return _create_litellm_model(name, f"{provider}/{model}", provider, context)
    if context.api_base:  # any other name is the server's own, including slashes
        return _create_http_model(name, "openai", name, context)
    from agent.model.providers.name_errors import build_unknown_model_error

    raise build_unknown_model_error(name)


def identify_model(name: str, context: ModelConfig) -> str:
    """Return provider, name and address of the model called `name`: equal for names that mean the same model."""
    if name.startswith((*UNPAID, GGUF)):
        return name
    provider, model = _parse_model_name(name, context.api_base)
    if context.api_base and provider not in (*ENDPOINTS, *LITELLM, "litellm"):
        provider, model = "openai", name
    endpoint = ENDPOINTS.get(provider)
    base = context.api_base or (find_base(endpoint, context.env) if endpoint else "")
    return f"{provider}/{model} {complete_base(endpoint, base) if endpoint else base}"


def find_listing(name: str, context: ModelConfig) -> Listing | None:
    """Return the catalog entry of the model called `name`, without creating it. Raises UserError for an
    unknown name."""
    from agent.model.providers.model_catalog import FREE, Catalog

    if name.startswith(GGUF):
        return context.listings.get(name, FREE)
    provider, model = _parse_model_name(name, context.api_base)
    if provider != "litellm" and provider not in ENDPOINTS and provider not in LITELLM:
        if not context.api_base:
            from agent.model.providers.name_errors import build_unknown_model_error

            raise build_unknown_model_error(name)
        provider, model = "openai", name
    return Catalog(context.cache, context.listings).find(_list_spellings(name, provider, model))


def _list_spellings(name: str, provider: str, model: str) -> tuple[str, ...]:
    """Return the names under which the catalog may list a model."""
    if provider == "litellm":
        return (name, model, model.partition("/")[2])
    listed = ENDPOINTS[provider].listed if provider in ENDPOINTS else ""
    return (name, f"{listed or provider}/{model}", model)


def choose_default_model(env: Mapping[str, str]) -> str | None:
    """Return the default model for the keys in the environment, None without any."""
    return next((model for key, model in DEFAULTS.items() if env.get(key)), None)


def _parse_model_name(name: str, api_base: str | None) -> tuple[str, str]:
    provider, slash, model = name.partition("/")
    if slash and provider and model:
        return provider.lower(), model
    if api_base:  # whoever made the model, the given server serves it
        return "", name
    return next((provider for start, provider in BARE.items() if name.startswith(start)), ""), name


def _create_http_model(name: str, provider: str, model: str, context: ModelConfig) -> Model:
    from agent.model.providers.model_catalog import Catalog

    endpoint = ENDPOINTS[provider]
    base = complete_base(endpoint, context.api_base or find_base(endpoint, context.env))
    at_home = base == endpoint.base
    variable, key = _find_key(endpoint.keys, context.env)
    if at_home and endpoint.keys and not key:
        from agent.model.providers.name_errors import build_missing_key_error

        raise build_missing_key_error(name, endpoint.keys)
    from agent.model.http.http_model import HttpModel, ModelAddress

    names = _list_spellings(name, provider, model)
    catalog = Catalog(context.cache, context.listings)
    known = catalog.find_cached(names) if at_home else catalog.find_cached((name,))
    place = ModelAddress(name=name, model=model, base=base, key=key, key_variable=variable or "the API key")
    wire = endpoint.wire
    if provider == "openai" and at_home and REASONING.match(model):
        wire = "responses"
    sticky = _build_cache_key(context) if at_home and endpoint.sticky else ""
    makers = {
        "chat": lambda: _create_chat_wire(model, provider, context, sticky, at_home=at_home),
        "responses": lambda: _create_responses_wire(model, endpoint, context, sticky),
        "anthropic": lambda: _create_anthropic_wire(model, context, token=variable in endpoint.tokens),
    }
    window = (known.window or None) if known else None
    if wire != "chat" or (endpoint.keys and at_home):
        made = HttpModel(
            place,
            wire=makers[wire](),
            window=window,
            listing=lambda: catalog.find(names),
            on_notice=context.on_notice,
            instead=(lambda: _create_responses_wire(model, endpoint, context)) if wire == "chat" else None,
            gate=_open_gate(name, context),
        )
        if wire != "chat" or endpoint.listed == "openai":
            return made
        from agent.model.text_tools import TextTools

        return TextTools(made, always=known is not None and not known.tools, on_notice=context.on_notice)
    return _create_server_model(place, makers["chat"](), known, lambda: catalog.find(names), context)


def _create_gguf_model(name: str, context: ModelConfig) -> Model:
    from functools import partial

    from agent.model.gguf.gguf_model import GgufModel, build_address
    from agent.model.gguf.own_server import plan_server

    server = plan_server(name.removeprefix(GGUF), context.env)
    wire = _create_chat_wire(server.weights.stem, "llamacpp", context, "", at_home=True)
    make = partial(GgufModel, server=server)
    place = build_address(name, server, server.file.read())
    return _create_server_model(place, wire, None, lambda: find_listing(name, context), context, make)


def _create_server_model(
    place: ModelAddress,
    wire: Wire,
    known: Listing | None,
    listing: Callable[[], Listing | None],
    context: ModelConfig,
    make: Callable[..., HttpModel] | None = None,
) -> Model:
    """Create a model on a server of which only its answers tell what it is.

    It may serve anything, including models that were never trained to call tools, in any window.
    """
    from agent.model.http.http_model import HttpModel
    from agent.model.servers.server_facts import ServerFacts, ServerMemory
    from agent.model.text_tools import TextTools

    memory = ServerMemory(context.cache)
    facts = memory.find(place.base, place.model) or ServerFacts()

    async def ask_server() -> ServerFacts | None:
        from agent.model.servers.server_probe import probe_server

        return await probe_server(made.address.base, place.model, made.address.key)

    def remember(facts: ServerFacts) -> None:
        memory.remember(made.address.base, place.model, facts)

    made = (make or HttpModel)(
        place,
        wire=wire,
        window=(known.window or None) if known else None,
        listing=listing,
        on_notice=context.on_notice,
        instead=lambda: _create_responses_wire(place.model, ENDPOINTS["openai"], context),
        ask_server=ask_server,
        on_learned=remember,
        gate=_open_gate(place.name, context),
    )
    if facts.window and known is None:
        made.window = facts.window  # until the server is asked, or if it does not say
    made.program, made.fills = facts.program, facts.fills
    always = (known is not None and not known.tools) or facts.tools is False
    return TextTools(
        made,
        always=always,
        on_notice=context.on_notice,
        on_refusal=lambda: remember(ServerFacts(tools=False, tools_source="a refusal")),
        start=facts.format,
        on_kept=lambda form: remember(ServerFacts(program=made.program, format=form)),
    )


def _create_chat_wire(model: str, provider: str, context: ModelConfig, sticky: str, *, at_home: bool) -> Wire:
    from agent.model.wire_formats.chat_completions import ChatDialect, ChatWire

    endpoint = ENDPOINTS[provider]
    tier, retention = _choose_service(endpoint, context)
    dialect = ChatDialect(
        # Another server under the same name may not support the newer parameters of the real one.
        limit=endpoint.limit if at_home else "max_tokens",
        reasoning=endpoint.reasoning,
        effort=context.effort,
        temperature=context.temperature,
        mark=provider == "openrouter" and "claude" in model,
        sticky=sticky,
        tier=tier,
        retention=retention,
        splits=not (endpoint.keys and at_home),
    )
    return ChatWire(model, dialect)


def _create_responses_wire(model: str, endpoint: Endpoint, context: ModelConfig, sticky: str = "") -> Wire:
    from agent.model.wire_formats.openai_responses import ResponsesDialect, ResponsesWire

    tier, retention = _choose_service(endpoint, context)
    dialect = ResponsesDialect(
        effort=context.effort, temperature=context.temperature, sticky=sticky, tier=tier, retention=retention
    )
    return ResponsesWire(model, dialect)


def _choose_service(endpoint: Endpoint, context: ModelConfig) -> tuple[str, str]:
    """Return OpenAI's words for the class of its service and for how long it keeps its cache, "" for its defaults."""
    if not endpoint.sticky:  # the others have neither, or in another form
        return "", ""
    tier = "default" if context.service == "standard" else context.service
    return tier, "24h" if context.keep_cache else ""


def _create_anthropic_wire(model: str, context: ModelConfig, *, token: bool) -> Wire:
    from agent.model.wire_formats.anthropic_messages import AnthropicDialect, AnthropicWire

    dialect = AnthropicDialect(
        effort={"none": "", "minimal": "low"}.get(context.effort, context.effort),
        temperature=context.temperature,
        long=context.keep_cache,
        tier={"standard": "standard_only", "priority": "auto"}.get(context.service, ""),
    )
    return AnthropicWire(model, dialect, token=token)


def _build_cache_key(context: ModelConfig) -> str:
    """Return the same key for all requests of this user, so that a resumed session hits its cache."""
    import zlib

    return f"patchwright-{zlib.crc32(str(context.cache).encode()):08x}"


def _create_litellm_model(name: str, model: str, provider: str, context: ModelConfig) -> Model:
    api_base = context.api_base
    variables = LITELLM.get(provider, ENDPOINTS[provider].keys if provider in ENDPOINTS else ())
    from agent.model.providers.name_errors import build_missing_key_error, build_unknown_model_error

    if "/" not in model:
        raise build_unknown_model_error(name)
    variable, key = _find_key(variables, context.env)
    if variables and not key and not api_base:
        raise build_missing_key_error(name, variables)
    from agent.model.litellm_backend import LiteLLMModel
    from agent.model.text_tools import TextTools

    given: str | None = key
    if variable not in variables[:1]:
        # litellm knows which of the other variables is a key and which a token. Without any, the given server
        # needs none, but litellm's clients require one.
        given = None if variable or not api_base else "none"
    made = LiteLLMModel(
        name,
        model,
        api_base,
        given,
        key_variable=variable,
        listing=lambda: find_listing(name, context),
        temperature=context.temperature,
        effort=context.effort,
        service=context.service,
        on_notice=context.on_notice,
        gate=_open_gate(name, context),
    )
    return TextTools(made, on_notice=context.on_notice)  # it may serve models that write their calls as text


def _open_gate(name: str, context: ModelConfig) -> RateGate | None:
    """Return the gate of a model: by its name, and by its provider; None without a limit for either."""
    if not context.limits:
        return None
    from agent.model.rate_limits.rate_gate import open_gate

    provider, model = _parse_model_name(name, context.api_base)
    if provider == "litellm":
        provider = model.partition("/")[0]
    # Anthropic's limits leave out what is read from its cache.
    is_uncached = provider in ENDPOINTS and ENDPOINTS[provider].wire == "anthropic"
    return open_gate((name, provider), context.limits, context.cache, counts_cached=not is_uncached)


def _find_key(variables: tuple[str, ...], env: Mapping[str, str]) -> tuple[str, str]:
    """Return (variable, key) of the first that is set."""
    return next(((name, env[name].strip()) for name in variables if env.get(name, "").strip()), ("", ""))
