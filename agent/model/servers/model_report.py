"""What is known of a model before it is used: its address, window, tools and price, each with its source."""

from __future__ import annotations

import asyncio
import http.client
from typing import Any

from agent.model.model_factory import ModelConfig, create_model, find_listing
from agent.model.protocol import Model, prepare_model
from agent.model.providers.model_catalog import DEFAULT_WINDOW, FREE
from agent.model.servers.server_facts import ServerFacts, ServerMemory
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """Facts about a model.

    url: "" for a model that is not reached by HTTP directly; reachable: None where nothing was tried
    tools: whether the endpoint takes tools, None if not known
    format: of calls that the model got right (`agent.model.call_format`), "" if none is remembered; learned: when,
        in seconds since the epoch
    input, output: US dollars per million tokens, None if not known
    reads, writes: tokens a second of a server on this machine, as measured once; 0 if not known
    fills: how it fills gaps in code, "none" if it does not, "" if not known
    effort, cache, service: what the settings ask of the provider, "" for its defaults
    """

    name: str
    url: str
    reachable: bool | None
    program: str
    window: int
    window_source: str
    tools: bool | None
    tools_source: str
    format: str
    learned: float
    input: float | None
    output: float | None
    reads: float = 0.0
    writes: float = 0.0
    fills: str = ""
    effort: str = ""
    cache: str = ""
    service: str = ""


async def build_report(name: str, config: ModelConfig) -> ModelReport:
    """Ask the model's server, if it is not a provider of the catalog. Raises UserError as `create_model` does."""
    model = create_model(name, config)
    try:
        await prepare_model(model)
        return await _build_report(name, model, config)
    finally:
        await model.close()


async def _build_report(name: str, model: Model, config: ModelConfig) -> ModelReport:
    inner = getattr(model, "inner", model)
    url = str(getattr(inner, "url", ""))
    address = getattr(inner, "address", None)
    known = find_listing(name, config) if url else None
    facts = await _learn_facts(inner, config) if address is not None else None
    window, source = model.window, "assumed: nobody says"
    if known is not None and known.window:
        window, source = known.window, "your settings" if name in config.listings else "litellm's data file"
    elif facts is not None and facts.window:
        window, source = facts.window, facts.window_source
    elif not url or window != DEFAULT_WINDOW:
        source = "the model itself"
    wire = getattr(inner, "wire", None)
    prices = known.tiers.get(wire.tier, known.prices) if known is not None and wire is not None else ()
    price = prices[0] if prices else None
    tools = facts.tools if facts is not None else None
    if tools is None and known is not None and known is not FREE:
        tools = known.tools
    return ModelReport(
        name=name,
        url=url,
        reachable=await asyncio.to_thread(_is_reachable, url) if url else None,
        program=facts.program if facts is not None else "",
        window=window,
        window_source=source,
        tools=tools,
        tools_source=facts.tools_source if facts is not None and facts.tools is not None else "",
        format=facts.format if facts is not None else "",
        learned=facts.learned if facts is not None else 0.0,
        input=price.input * 1e6 if price is not None else None,
        output=price.output * 1e6 if price is not None else None,
        reads=facts.reads if facts is not None else 0.0,
        writes=facts.writes if facts is not None else 0.0,
        fills=str(getattr(inner, "fills", "")),
        effort=config.effort,
        cache="long" if config.keep_cache else "",
        service=config.service,
    )


async def _learn_facts(model: object, config: ModelConfig) -> ServerFacts | None:
    """Return what is remembered of the model's server; first asked once for its speed and fillings."""
    from agent.model.infill.fill_forms import has_fill_host
    from agent.model.infill.filler import find_filler, is_local

    address: Any = getattr(model, "address", None)
    memory = ServerMemory(config.cache)
    facts = memory.find(address.base, address.model)
    is_near = facts is not None and is_local(model)
    if facts is not None and is_near and not facts.writes:
        from agent.model.servers.server_speed import measure_speed

        speed = await measure_speed(address.base, address.model, address.key, facts.program)
        memory.remember(address.base, address.model, speed)
    filler = find_filler(model)
    if filler is not None and (is_near or has_fill_host(address.base)):
        await filler.probe()
    return memory.find(address.base, address.model)


def _is_reachable(url: str) -> bool:
    """Return whether a connection to the host of `url` can be opened; nothing is sent."""
    from agent.model.http.http_route import resolve_route

    try:
        connection = resolve_route(url, 3.0, 3.0).create_connection()
        connection.connect()
    except (UserError, OSError, http.client.HTTPException):
        return False
    connection.close()
    return True
