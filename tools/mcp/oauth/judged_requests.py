"""Requests of a sign-in: to judged addresses only, redirects within one origin only, answers of bounded size."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Sequence

import httpx2

from sandbox.network.tls_context import create_tls_context
from tools.mcp.oauth.addresses import Resolve, check_address, check_reach, get_origin, is_loopback
from tools.mcp.oauth.sign_in_error import SignInError, UnreachableError

MOST_BYTES = 1 << 20
"""Bytes of an answer: metadata and tokens are a few kilobytes."""

SECONDS = 30.0
"""Time limit of a request with its redirects."""

MOST_REDIRECTS = 5


_TRIED = 3
"""Addresses of one name that are tried: one of each kind, and another one."""


class JudgedRequests:
    """Sends the requests that belong to the sign-in to one server. resolve: the resolver"""

    def __init__(self, server: str, resolve: Resolve | None = None) -> None:
        self._server = server
        self._resolve = resolve

    async def send(self, request: httpx2.Request, *, reads_body: bool = True) -> httpx2.Response:
        """Return the answer with its whole body, or with none. Raises SignInError."""
        host = request.url.host
        try:
            async with asyncio.timeout(SECONDS):
                for _ in range(MOST_REDIRECTS + 1):
                    response = await self._send_once(request, reads_body)
                    follow = _find_next(request, response)
                    if follow is None:
                        return response
                    request = follow
        except TimeoutError:
            raise UnreachableError(f"{host} did not answer within {SECONDS:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise UnreachableError(f"{host}: {str(error) or type(error).__name__}") from None
        raise SignInError(f"{host}: more than {MOST_REDIRECTS} redirects")

    async def _send_once(self, request: httpx2.Request, reads_body: bool) -> httpx2.Response:
        address = str(request.url)
        parts = check_address(address, "a part of the sign-in")
        found = await check_reach(self._server, address, "a part of the sign-in", self._resolve)
        host = parts.hostname or ""
        # Proxies of the environment are for the network: what is sent to this machine stays on it.
        by_proxy = not is_loopback(host) and _has_proxy(parts.scheme, host)
        if not (found or by_proxy):
            raise UnreachableError(f"{host}: the name could not be resolved")
        client = httpx2.AsyncClient(
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=by_proxy,
            verify=create_tls_context() if parts.scheme == "https" else False,
        )
        async with client:
            # A proxy resolves names itself, in its own network.
            pinned = [request] if by_proxy else [_pin(request, each) for each in found[:_TRIED]]
            response = await _send_to_first(client, pinned)
            try:
                content = await _read_bounded(response) if reads_body else b""
            finally:
                await response.aclose()
        headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _OF_TRANSFER]
        return httpx2.Response(response.status_code, headers=headers, content=content, request=request)


def _has_proxy(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool(proxies.get(scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(host)


def _pin(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request to one address of its host. The certificate is still the host's."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        content=request.read(),
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )


async def _send_to_first(client: httpx2.AsyncClient, requests: Sequence[httpx2.Request]) -> httpx2.Response:
    """Return the answer of the first address that can be reached."""
    for request in requests[:-1]:
        try:
            return await client.send(request, stream=True, auth=None)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            continue
    return await client.send(requests[-1], stream=True, auth=None)


_OF_TRANSFER = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that describe a body as it was sent, not as it was read."""


async def _read_bounded(response: httpx2.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MOST_BYTES:
            raise SignInError(f"{response.request.url.host} answered with more than {MOST_BYTES >> 20} MiB")
    return bytes(content)


def _find_next(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """Return the request to which a redirect leads, if it takes nothing to another origin."""
    target = response.headers.get("location")
    if request.method != "GET" or target is None or response.status_code not in (301, 302, 303, 307, 308):
        return None
    url = request.url.join(target)
    if get_origin(str(url)) != get_origin(str(request.url)):
        return None
    return httpx2.Request("GET", url, headers=request.headers)
