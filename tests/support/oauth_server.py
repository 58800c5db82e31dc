"""A real authorization server and a protected MCP server in one process on loopback, of the SDK's own parts."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCOPE, MORE_SCOPE = "tickets", "tickets:write"


@dataclass
class Conduct:
    """How the server behaves; the defaults are honest.

    metadata: values that replace those of the authorization server's metadata; None removes one
    resource: the same for the metadata of the protected resource
    redirect: values that replace those of the redirect to the client; None removes one
    moves: paths that are answered by a redirect to an address, with the method kept
    challenge: header with which the MCP server asks for a sign-in, "" for its own
    demands: scope without which each request is refused
    refuses: revision of the protocol that is refused before anything else
    is_open: everybody may open a connection, and only then is asked to sign in
    seconds: life of an access token
    is_down: the authorization server answers no request for tokens
    """

    metadata: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    redirect: dict[str, str | None] = field(default_factory=dict)
    moves: dict[str, str] = field(default_factory=dict)
    challenge: str = ""
    demands: str = ""
    refuses: str = ""
    is_open: bool = False
    seconds: int = 3600
    is_down: bool = False


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens in memory; every user agrees at once."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.conduct = Conduct()
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.refreshed = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        given = {"code": code, "state": params.state, "iss": self.issuer, **self.conduct.redirect}
        return construct_redirect_uri(str(params.redirect_uri), **given)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        self.refreshed += 1
        return self._issue(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.refresh.pop(token.token, None)
        self.access.pop(token.token, None)

    def revoke_all(self) -> None:
        """Take back every token, as an administrator does."""
        self.access.clear()
        self.refresh.clear()

    def _issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        ends = int(time.time()) + self.conduct.seconds
        access, refresh = (f"{kind}-{secrets.token_urlsafe(24)}" for kind in ("access", "refresh"))
        self.access[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=ends, resource=resource
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access,
            refresh_token=refresh,
            expires_in=self.conduct.seconds,
            scope=" ".join(scopes),
        )


@dataclass(kw_only=True)
class OAuthServer:
    """The running server. url: of the MCP server; requests: method and path of all that arrived, and what it had"""

    url: str
    issuer: str
    provider: Provider
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    @property
    def conduct(self) -> Conduct:
        return self.provider.conduct

    def behave(self, **conduct: Any) -> None:
        """Behave otherwise from now on; without words, honestly."""
        self.provider.conduct = replace(Conduct(), **conduct)

    async def browse(self, address: str) -> None:
        """Open a page as a browser does, and follow where it leads."""
        async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
            await browser.get(address)

    def list_paths(self) -> list[str]:
        """Return the paths of the requests, in their order."""
        return [path for _, path, _ in self.requests]


@contextmanager
def run_oauth_server() -> Iterator[OAuthServer]:
    """Run the server in a thread of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    issuer = f"http://127.0.0.1:{listening.getsockname()[1]}"
    provider = Provider(issuer)
    server = OAuthServer(url=f"{issuer}/mcp", issuer=issuer, provider=provider)
    program = MCPServer(
        "tickets-server",
        log_level="CRITICAL",
        auth_server_provider=provider,
        auth=AuthSettings(
            issuer_url=issuer,
            resource_server_url=server.url,
            required_scopes=[SCOPE],
            validate_token_resource=True,
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=[SCOPE, MORE_SCOPE], default_scopes=[SCOPE]
            ),
            revocation_options=RevocationOptions(enabled=True),
        ),
    )

    @program.tool()
    def count_tickets(state: str) -> str:
        """Count the tickets in a state."""
        return f"3 {state} tickets"

    app = _Conducting(program.streamable_http_app(json_response=True, stateless_http=True), server)
    config = uvicorn.Config(app, log_config=None, ws="none", access_log=False)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.005)
    try:
        yield server
    finally:
        running.should_exit = True
        thread.join()
        listening.close()


class _Conducting:
    """Notes each request, and changes the answers as `Conduct` says."""

    def __init__(self, app: ASGIApp, server: OAuthServer) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        conduct, path = self._server.conduct, scope["path"]
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        self._server.requests.append((scope["method"], path, headers))
        if path in conduct.moves:
            await _answer(send, 307, {}, [(b"location", conduct.moves[path].encode())])
        elif conduct.is_down and path == "/token":
            await _answer(send, 503, {})
        elif "oauth-authorization-server" in path:
            await self._answer_changed(scope, receive, send, conduct.metadata)
        elif "oauth-protected-resource" in path:
            await self._answer_changed(scope, receive, send, conduct.resource)
        elif path == "/mcp" and conduct.challenge and "authorization" not in headers:
            await _answer(send, 401, {}, [(b"www-authenticate", conduct.challenge.encode())])
        elif path == "/mcp" and conduct.refuses and headers.get("mcp-protocol-version") == conduct.refuses:
            await _answer(send, 400, {})
        elif path == "/mcp" and conduct.is_open and "authorization" not in headers:
            await self._answer_openly(scope, receive, send)
        elif path == "/mcp" and conduct.demands and "authorization" in headers:
            held = self._server.provider.access[headers["authorization"].removeprefix("Bearer ")].scopes
            refusal = f'Bearer error="insufficient_scope", scope="{conduct.demands}"'.encode()
            if conduct.demands in held:
                await self._app(scope, receive, send)
            else:
                await _answer(send, 403, {}, [(b"www-authenticate", refusal)])
        else:
            await self._app(scope, receive, send)

    async def _answer_openly(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request for a connection, and ask for a sign-in with the next one."""
        message = await receive()
        if b'"initialize"' in message["body"]:
            await _answer(send, 200, {}, [(b"mcp-session-id", b"open-session")])
            return
        assert (b"mcp-session-id", b"open-session") in scope["headers"]

        async def replay() -> Message:
            return message

        await self._app(scope, replay, send)

    async def _answer_changed(
        self, scope: Scope, receive: Receive, send: Send, changes: dict[str, Any]
    ) -> None:
        body, status = bytearray(), 0

        async def keep(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            body.extend(message.get("body", b""))

        await self._app(scope, receive, keep)
        honest = json.loads(body) if status == 200 else {}
        changed = {key: value for key, value in {**honest, **changes}.items() if value is not None}
        await _answer(send, status, changed)


async def _answer(
    send: Send, status: int, content: dict[str, Any], headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    kind = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [kind, *(headers or [])]})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
