"""Models that a user can choose now, each with its source, window and price."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.model.model_factory import find_listing
from agent.model.providers.endpoints import BARE, DEFAULTS, ENDPOINTS, LITELLM
from agent.model.servers.local_servers import LocalServer, find_local_servers, list_ports
from agent.model.servers.server_probe import probe_server
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.providers.model_catalog import Listing
    from agent.model_selection import ModelSelection

PROBED = 4
"""Models of a local server that are asked for their windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """A model that can be chosen.

    source: why it can be used: a setting, a variable with a key, a server
    is_listed: known by the price file alone: nobody named it, and it is no provider's default
    window: tokens, 0 if not known; input, output: US dollars per million tokens, None if not known
    """

    name: str
    source: str
    window: int = 0
    input: float | None = None
    output: float | None = None
    is_listed: bool = False


OFFLINE = ModelOffer(name="offline", source="the engine that needs no model")


def list_known_offers(selection: ModelSelection, used: Iterable[str] = ()) -> list[ModelOffer]:
    """Return the models of the settings, those used before, and those of providers whose key is in the environment.

    Of each provider its default comes first. Nothing is sent; the first call may parse the price file.
    """
    settings = selection.settings
    models = settings.models
    named = (
        settings.model,
        models.fast,
        models.plan,
        models.judge,
        *models.fallback,
        *models.catalog,
    )
    keys = find_key_variables(selection.env)
    known = [
        *((each, "your settings") for each in named),
        *((model, f"key in {variable}") for variable, model in DEFAULTS.items() if variable in keys.values()),
        *((each, "used here before") for each in used),
    ]
    found = {name: _build_offer(name, source, selection) for name, source in reversed(known) if name}
    offers = {name: found[name] for name, _ in known if name}
    for offer in _iter_catalog_offers(selection, keys):
        offers.setdefault(offer.name, offer)
    offers.pop(OFFLINE.name, None)
    return list(offers.values())


def find_key_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that holds the key, by provider, for each provider that has one in `env`."""
    tables = ((name, endpoint.keys) for name, endpoint in ENDPOINTS.items())
    return {
        provider: variable
        for provider, variables in (*tables, *LITELLM.items())
        if (variable := next((each for each in variables if env.get(each, "").strip()), ""))
    }


async def find_server_offers(env: Mapping[str, str]) -> list[ModelOffer]:
    """Return the models of the servers that are found on this machine, within about a second."""
    servers = await find_local_servers(list_ports(env))
    offers = await asyncio.gather(*(_list_server_offers(each) for each in servers))
    return [offer for each in offers for offer in each]


async def _list_server_offers(server: LocalServer) -> list[ModelOffer]:
    base = f"http://127.0.0.1:{server.port}/v1"
    facts = await asyncio.gather(*(probe_server(base, each) for each in server.models[:PROBED]))
    windows = [each.window if each is not None else 0 for each in facts]
    windows += [0] * (len(server.models) - len(windows))
    return [
        ModelOffer(name=name, source=f"server on port {server.port}", window=window)
        for name, window in zip(server.names, windows, strict=True)
    ]


def _build_offer(name: str, source: str, selection: ModelSelection) -> ModelOffer:
    listing = None
    with suppress(UserError):  # an unknown name in the settings: said when it is chosen
        listing = find_listing(name, selection.build_config(name))
    return _describe_listing(name, source, listing)


def _describe_listing(name: str, source: str, listing: Listing | None) -> ModelOffer:
    if listing is None:
        return ModelOffer(name=name, source=source)
    price = listing.prices[0] if listing.prices else None
    return ModelOffer(
        name=name,
        source=source,
        window=listing.window,
        input=price.input * 1e6 if price else None,
        output=price.output * 1e6 if price else None,
    )


def _iter_catalog_offers(selection: ModelSelection, keys: Mapping[str, str]) -> Iterator[ModelOffer]:
    from agent.model.providers.model_catalog import Catalog

    catalog = Catalog(selection.cache)
    for listed, _ in catalog.iter_tool_models() if keys else ():
        bare = next((each for start, each in BARE.items() if listed.startswith(start)), "")
        provider = listed.partition("/")[0] if "/" in listed else bare
        if provider in keys:
            name = listed if "/" in listed else f"{provider}/{listed}"
            offer = _describe_listing(name, f"key in {keys[provider]}", catalog.find((listed,)))
            yield replace(offer, is_listed=True)
