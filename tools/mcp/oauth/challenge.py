"""The answer by which a server asks for a sign-in, and the rights that it asks for."""

from __future__ import annotations

from typing import Any

import httpx2
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth

from patchwright.version import VERSION
from sandbox.lazy_pattern import compile_lazily
from tools.mcp.oauth.addresses import get_origin
from tools.mcp.oauth.judged_requests import JudgedRequests
from tools.mcp.oauth.sign_in_error import NoSignInAskedError, SignInError

PROTOCOL_VERSION = "2025-06-18"
"""In the requests that a server answers by asking for a sign-in; every later server knows it, too."""

_INITIALIZE = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "patchwright", "version": VERSION},
}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "patchwright", "version": VERSION},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_REQUESTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("initialize", PROTOCOL_VERSION, _INITIALIZE),
    ("tools/list", PROTOCOL_VERSION, {}),
    ("tools/list", "2026-07-28", {"_meta": _META}),
)
"""Some servers let everybody in, and ask for a sign-in before they show a tool; some know only the last revision."""


async def find_challenge(requests: JudgedRequests, url: str) -> tuple[httpx2.Request, httpx2.Response]:
    """Return a request that the server answers by asking for a sign-in, and the answer. Raises SignInError."""
    session, statuses = "", list[int]()
    for number, (method, version, parameters) in enumerate(_REQUESTS, 1):
        content = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": version,  # the SDK adds the resource indicator from 2025-06-18 on
            "Mcp-Method": method,
            **({"Mcp-Session-Id": session} if session else {}),
        }
        request = httpx2.Request("POST", url, json=content, headers=headers)
        response = await requests.send(request, reads_body=False)
        if response.status_code == 401:
            _check_challenge(url, response)
            return request, response
        if 300 <= response.status_code < 400:
            target = response.headers.get("location", "")
            raise SignInError(f"it has moved to {target!r:.100}: add it by that address, if you trust it")
        statuses.append(response.status_code)
        session = response.headers.get("mcp-session-id", session)
    if min(statuses) >= 400:
        raise SignInError(f"it asks for no sign-in, and answers with status {statuses[0]}")
    raise NoSignInAskedError("it asks for no sign-in")


def add_scope(challenge: httpx2.Response, scope: str) -> httpx2.Response:
    """Return the challenge with more rights to ask for; "" for no more. Words that are no scope are left out."""
    scope = " ".join(each for each in scope.split() if _SCOPE_WORD.fullmatch(each))
    if not scope:
        return challenge
    address = extract_resource_metadata_from_www_auth(challenge)
    place = f', resource_metadata="{address}"' if address else ""
    return httpx2.Response(
        challenge.status_code,
        headers={"WWW-Authenticate": f'Bearer scope="{scope}"{place}'},
        request=challenge.request,
    )


def read_demanded_scope(response: httpx2.Response) -> str | None:
    """Return the scope that a refusal asks for (RFC 6750, 3.1); None if it is refused for another reason."""
    header = response.headers.get("www-authenticate", "")
    if response.status_code != 403 or "insufficient_scope" not in header:
        return None
    found = _SCOPE.search(header)
    return found[1] if found else ""


_SCOPE_WORD = compile_lazily(r"[!#-\[\]-~]+")
_SCOPE = compile_lazily(r'\bscope="([!#-\[\]-~ ]{1,1000})"')
"""Only characters that a scope may have (RFC 6749, 3.3)."""


def _check_challenge(server: str, challenge: httpx2.Response) -> None:
    """Raise SignInError for a server whose metadata would be another one's (RFC 9728, 5.1)."""
    address = extract_resource_metadata_from_www_auth(challenge)
    if address is not None and get_origin(address) != get_origin(server):
        raise SignInError(f"it says that its metadata are elsewhere: {address!r:.100}")
