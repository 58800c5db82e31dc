"""Stored tokens on the requests of a session: renewed in time, and never sent to another origin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import httpx2

from tools.mcp.oauth.addresses import check_address, get_origin
from tools.mcp.oauth.challenge import read_demanded_scope
from tools.mcp.oauth.sign_in import SignIn
from tools.mcp.oauth.sign_in_error import SignInNeededError
from tools.mcp.oauth.token_refresh import refresh_tokens
from tools.mcp.oauth.token_store import TokenStore


async def load_auth(folder: Path, name: str, url: str) -> httpx2.Auth | None:
    """Return the authentication of a server by its stored sign-in; None without one for this name and address.

    folder: `Home.sign_ins`. Nothing is asked of the network, and no browser is opened.
    """
    store = TokenStore(folder)
    found = await asyncio.to_thread(store.read, name, url)
    return None if found is None else StoredAuth(store, found)


class StoredAuth(httpx2.Auth):
    """A bearer token on each request to the server's origin.

    A request raises SignInNeededError if the server or its authorization server takes the tokens no longer.
    """

    def __init__(self, store: TokenStore, sign_in: SignIn) -> None:
        check_address(sign_in.url, "the server")
        self._store = store
        self._sign_in = sign_in
        self._renewing = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token, and once more with a renewed one if it is refused."""
        if get_origin(str(request.url)) != get_origin(self._sign_in.url):
            yield request
            return
        used = self._sign_in
        if used.is_expired and used.refresh_token:
            used = await self._renew(used)
        response = yield _add_token(request, used)
        if response.status_code == 401:
            used = await self._renew(used)
            response = yield _add_token(request, used)
            if response.status_code == 401:
                raise SignInNeededError(used.name, "it does not take its own new token")
        if (scope := read_demanded_scope(response)) is not None:
            await self._note_scope(used, scope)
            raise SignInNeededError(used.name, "it asks for more rights than you signed in with")

    async def _note_scope(self, used: SignIn, scope: str) -> None:
        """Store the rights that the server asks for, so that the next sign-in asks for these as well."""
        wanted = " ".join(dict.fromkeys(f"{used.scope} {scope}".split()))
        async with self._store.lock(used.name):
            stored = await asyncio.to_thread(self._store.read, used.name, used.url)
            if stored is not None and stored.wanted_scope != wanted:
                await asyncio.to_thread(self._store.save, replace(stored, wanted_scope=wanted))

    async def _renew(self, used: SignIn) -> SignIn:
        """Return tokens that are newer than the used ones: those of another request or process, else new ones."""
        async with self._renewing:
            if self._sign_in.access_token != used.access_token:
                return self._sign_in
            async with self._store.lock(used.name):
                stored = await asyncio.to_thread(self._store.read, used.name, used.url)
                if stored is None:
                    raise SignInNeededError(used.name, "you have signed out of it")
                if stored.access_token == used.access_token:
                    stored = await asyncio.to_thread(self._store.save, await refresh_tokens(stored))
            self._sign_in = stored
            return stored


def _add_token(request: httpx2.Request, sign_in: SignIn) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {sign_in.access_token}"
    return request
