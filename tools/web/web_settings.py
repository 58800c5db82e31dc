"""Settings of the web tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sandbox.settings_validation import FORBID_UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """Access of a session to the web.

    fetch: whether models are offered `web_fetch`: "auto" where the user lets commands or a rule reach some host
    search: the engine of `web_search`, "" for none; a key is taken from its variable
    search_url: address of the engine, "" for its own
    search_tool: for "mcp" the server's tool, as `server.tool`
    """

    __pydantic_config__ = FORBID_UNKNOWN

    fetch: Literal["auto", "on", "off"] = "auto"
    search: Literal["", "searxng", "brave", "tavily", "mcp"] = ""
    search_url: str = ""
    search_tool: str = ""
