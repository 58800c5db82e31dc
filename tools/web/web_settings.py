"""Settings of the web tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

if TYPE_CHECKING:
    from sandbox.policy.rules import Rules


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

    def offers_fetch(self, rules: Rules, hosts: object) -> bool:
        """Return whether models are offered `web_fetch`: by the setting, else where the user lets a host be reached."""
        if self.fetch != "auto":
            return self.fetch == "on"
        return bool(hosts) or any(each.kind == "network" and each.verdict != "deny" for each in rules.rules)
