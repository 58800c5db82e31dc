"""A whole sign-in with a browser: discovery, registration, authorization code with PKCE, tokens stored.

The SDK's provider decides which request comes next; each is judged, and sent, here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path
from urllib.parse import parse_qs

import httpx2
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.utils import create_client_registration_request, is_valid_client_metadata_url
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyUrl

from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass
from tools.mcp.oauth.addresses import check_address, check_reach
from tools.mcp.oauth.challenge import add_scope, find_challenge
from tools.mcp.oauth.judged_requests import JudgedRequests
from tools.mcp.oauth.redirect_listener import RedirectListener, listen_for_redirect
from tools.mcp.oauth.sign_in import SignIn
from tools.mcp.oauth.sign_in_error import SignInError
from tools.mcp.oauth.token_store import TokenStore

SECONDS = 300.0
"""Time for the user to sign in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest:
    """A sign-in to begin.

    folder: `Home.sign_ins`
    open_page: shows the address to sign in at, or opens it
    client_id: registered by hand, or the https address of a client-ID metadata document; "" for none
    seconds: time for the user
    """

    name: str
    url: str
    folder: Path
    open_page: Callable[[str], Awaitable[None]]
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    seconds: float = SECONDS


async def sign_in(request: SignInRequest) -> SignIn:
    """Sign in and store the tokens. Raises SignInError, UserError; nothing is stored then."""
    logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # its errors are raised as well
    check_address(request.url, "the server")
    store = TokenStore(request.folder)
    known = await asyncio.to_thread(store.read, request.name, request.url)
    async with listen_for_redirect() as listener:
        flow = _SignInFlow(request, listener, known)
        try:
            made = await flow.run()
        except (OAuthFlowError, OAuthRegistrationError, OAuthTokenError, ValueError) as error:
            raise SignInError(f"the sign-in failed: {error}") from None
    async with store.lock(request.name):
        return await asyncio.to_thread(store.save, made)


class _NewTokens:
    """Client and tokens of one sign-in, until it has succeeded as a whole (the SDK's `TokenStorage`)."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _SignInFlow:
    def __init__(self, request: SignInRequest, listener: RedirectListener, known: SignIn | None) -> None:
        self._request = request
        self._listener = listener
        self._known = known
        self._requests = JudgedRequests(request.url)
        self._is_checked = False
        is_document = is_valid_client_metadata_url(request.client_id)
        redirects = [AnyUrl(listener.address)]
        client = None
        if request.client_id and not is_document:
            client = OAuthClientInformationFull(
                client_id=request.client_id,
                client_secret=request.client_secret or None,
                redirect_uris=redirects,
            )
        self._kept = _NewTokens(client)
        self._provider = OAuthClientProvider(
            server_url=request.url,
            client_metadata=OAuthClientMetadata(
                redirect_uris=redirects,
                client_name="Patchwright",
                software_id="patchwright",
                software_version=VERSION,
                token_endpoint_auth_method="none",
            ),
            storage=self._kept,
            redirect_handler=self._open_page,
            callback_handler=self._wait_for_code,
            client_metadata_url=request.client_id if is_document else None,
        )

    async def run(self) -> SignIn:
        """Send the flow's requests, the first and the last of which are the same one to the server."""
        first, challenge = await find_challenge(self._requests, self._request.url)
        response = add_scope(challenge, self._known.wanted_scope if self._known else "")
        flow = self._provider.async_auth_flow(first)
        try:
            await anext(flow)
            while True:
                outgoing = await flow.asend(response)
                is_last = outgoing is first
                if outgoing.method != "GET" and not is_last:
                    outgoing = await self._check_request(outgoing)
                response = await self._requests.send(outgoing, reads_body=not is_last)
                if is_last and response.status_code in (401, 403):
                    raise SignInError("it does not take the tokens of its own authorization server")
        except StopAsyncIteration:
            return self._build_sign_in()
        finally:
            await flow.aclose()

    async def _check_request(self, outgoing: httpx2.Request) -> httpx2.Request:
        """Return a request that tells something, after a check of the metadata that it follows.

        That for a new client is built anew: the SDK made it before the way to show the client's secret was chosen.
        """
        await self._check_metadata()
        context = self._provider.context
        if context.client_info is not None:
            return outgoing
        return create_client_registration_request(
            context.oauth_metadata, context.client_metadata, self._request.url
        )

    async def _check_metadata(self) -> None:
        """Check the metadata once, before anything is sent by them."""
        if self._is_checked:
            return
        context = self._provider.context
        metadata = await check_metadata(self._request.url, context.oauth_metadata)
        has_secret = bool(self._request.client_secret)
        choose_auth_method(metadata, context.client_metadata, has_secret=has_secret)
        if context.client_info is not None and self._request.client_id == context.client_info.client_id:
            context.client_info.token_endpoint_auth_method = (
                context.client_metadata.token_endpoint_auth_method
            )
        self._is_checked = True

    async def _open_page(self, address: str) -> None:
        """Open the page of the authorization server, whose address may have a query of its own."""
        await self._check_metadata()
        page, _, query = address.partition("?")
        [self._listener.state] = parse_qs(query.replace("?", "&")).get("state", [""])[-1:]
        await self._request.open_page(f"{page}?{query.replace('?', '&', 1)}" if "?" in query else address)

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(self._request.seconds):
                found = await self._listener.wait()
        except TimeoutError:
            raise SignInError(f"nobody signed in within {self._request.seconds:g} s") from None
        if "error" in found:
            about = found.get("error_description", "")
            raise SignInError(f"its authorization server refused: {found['error']}{about and f': {about}'}")
        return AuthorizationCodeResult(
            code=found.get("code", ""), state=found.get("state"), iss=found.get("iss")
        )

    def _build_sign_in(self) -> SignIn:
        context, tokens, client = self._provider.context, self._kept.tokens, self._kept.client
        metadata = context.oauth_metadata
        if tokens is None or client is None or metadata is None:
            raise SignInError("the sign-in ended without tokens")
        return SignIn(
            name=self._request.name,
            url=self._request.url,
            issuer=str(metadata.issuer),
            token_endpoint=str(metadata.token_endpoint),
            revocation_endpoint=str(metadata.revocation_endpoint or ""),
            resource=context.get_resource_url(),
            client_id=client.client_id,
            client_secret=client.client_secret or "",
            auth_method=client.token_endpoint_auth_method or "none",
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token or "",
            expires_at=context.token_expiry_time or 0.0,
            scope=tokens.scope or "",
        )


async def check_metadata(server: str, metadata: OAuthMetadata | None) -> OAuthMetadata:
    """Return the metadata of an authorization server that can be used (RFC 8414). Raises SignInError."""
    if metadata is None:
        raise SignInError("it asks for a sign-in, and publishes no metadata of an authorization server")
    named = {
        "its authorization server": metadata.issuer,
        "the page for the sign-in": metadata.authorization_endpoint,
        "the place for tokens": metadata.token_endpoint,
        "the place for new clients": metadata.registration_endpoint,
        "the place for the sign-out": metadata.revocation_endpoint,
    }
    for role, address in named.items():
        if address is not None:
            check_address(str(address), role)
            await check_reach(server, str(address), role)
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInError("its authorization server does not support PKCE with S256 (OAuth 2.1)")
    return metadata


def choose_auth_method(metadata: OAuthMetadata, client: OAuthClientMetadata, *, has_secret: bool) -> None:
    """Choose how the client shows itself to the token endpoint: a program for everyone has no secret of its own."""
    supported = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    # The body first: servers of the SDK look for the secret of a sign-out only there.
    with_secret = "client_secret_post" if "client_secret_post" in supported else "client_secret_basic"
    listed = metadata.token_endpoint_auth_methods_supported is not None
    needs_secret = has_secret or (listed and "none" not in supported)
    client.token_endpoint_auth_method = with_secret if needs_secret else "none"  # type: ignore[assignment]
