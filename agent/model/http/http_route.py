"""Route to a URL: its host or a proxy, TLS and trusted certificates."""

from __future__ import annotations

import http.client
import os
from urllib.parse import SplitResult, unquote, urlsplit

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass


class _PlainConnection(http.client.HTTPConnection):
    """A connection without TLS, to a host that is looked up by its bytes: a text is encoded by `encodings.idna`, which
    with its tables is a twentieth of a start."""

    def connect(self) -> None:
        host = self.host
        try:
            if host.isascii():
                self.host = host.encode()  # type: ignore[assignment]
            super().connect()
        finally:
            self.host = host


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Route to a URL: the host to connect to, and the request target."""

    secure: bool
    host: str
    port: int | None
    target: str
    proxy: SplitResult | None
    connect_timeout: float
    idle_timeout: float

    def create_connection(self) -> http.client.HTTPConnection:
        """Create a connection that is not connected yet. Raises UserError for a bad CA file."""
        proxy = self.proxy
        host, port = (proxy.hostname or "", proxy.port or 80) if proxy else (self.host, self.port)
        if not self.secure:
            return _PlainConnection(host, port, timeout=self.connect_timeout)
        from sandbox.network.tls_context import create_tls_context

        connection = http.client.HTTPSConnection(
            host, port, timeout=self.connect_timeout, context=create_tls_context()
        )
        if proxy:
            connection.set_tunnel(self.host, self.port or 443, _build_proxy_authorization(proxy))
        return connection

    def proxy_headers(self) -> dict[str, str]:
        """Return additional headers of a request: for HTTPS the proxy gets its credentials with the tunnel request."""
        return _build_proxy_authorization(self.proxy) if self.proxy and not self.secure else {}


def resolve_route(url: str, connect_timeout: float, idle_timeout: float) -> Route:
    """Return the route to a URL. Raises UserError.

    `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are respected; timeouts in seconds.
    """
    parts = _parse_url(url, "the model's address")
    if parts.scheme not in ("http", "https"):
        raise UserError(
            Fault.CONFIGURATION,
            f"the model's address {url!r} is not an http:// or https:// URL",
            "Give one such as https://api.example.com/v1",
        )
    host, proxy = parts.hostname or "", _find_proxy(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    secure = parts.scheme == "https"
    return Route(
        secure=secure,
        host=host,
        port=parts.port,
        # A proxy for plain HTTP gets the whole URL; for HTTPS it only sees a tunnel.
        target=path if secure or proxy is None else f"http://{parts.netloc.rpartition('@')[2]}{path}",
        proxy=proxy,
        connect_timeout=connect_timeout,
        idle_timeout=idle_timeout,
    )


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's own."""
    if host in ("localhost", "::1") or host.endswith(".localhost"):
        return True
    return host.startswith("127.") and host.replace(".", "").isdecimal()  # 127.0.0.1.example.org is a name


def _parse_url(url: str, what: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (checked when it is looked at)
    except ValueError as error:
        message = f"{what} {url!r} cannot be read: {error}"
        raise UserError(Fault.CONFIGURATION, message, "Write it as http://host:port/path") from None
    if not (url.isprintable() and parts.path.isascii() and " " not in url):
        message = f"{what} {url!r} holds characters that no address has"
        raise UserError(Fault.CONFIGURATION, message, "Write it as http://host:port/path")
    if "://" not in url:
        message = f"{what} {url!r} does not say how to reach it"
        raise UserError(Fault.CONFIGURATION, message, "Write http:// or https:// before it")
    if not parts.hostname:
        message = f"{what} {url!r} names no host"
        raise UserError(Fault.CONFIGURATION, message, "Write it as http://host:port/path")
    return parts


def _find_proxy(url: SplitResult) -> SplitResult | None:
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # urllib.request takes 20 ms to import
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    proxies = getproxies_environment()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass_environment(url.netloc.rpartition("@")[2]):
        return None
    parts = _parse_url(proxy if "://" in proxy else f"http://{proxy}", "the proxy")
    if parts.scheme != "http":
        raise UserError(
            Fault.CONFIGURATION,
            f"the proxy's kind, {parts.scheme!r}, cannot be used",
            f"Name an http:// proxy in {url.scheme.upper()}_PROXY, or set NO_PROXY={url.hostname}",
        )
    return parts


def _build_proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    from base64 import b64encode

    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
