"""Sign-in at a real authorization server on loopback: honest ones let in, the others are refused in one line."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from mcp.shared.auth import OAuthClientInformationFull

from sandbox.secrets.redaction import redact
from tests.support.oauth_server import MORE_SCOPE, SCOPE, OAuthServer, run_oauth_server
from tools.mcp.oauth.sign_in import SignIn
from tools.mcp.oauth.sign_in_error import SignInError, SignInNeededError
from tools.mcp.oauth.sign_in_flow import SignInRequest, sign_in
from tools.mcp.oauth.stored_auth import load_auth
from tools.mcp.oauth.token_refresh import revoke_tokens
from tools.mcp.oauth.token_store import TokenStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running() -> Iterator[OAuthServer]:
    with run_oauth_server() as server:
        yield server


@pytest.fixture
def server(running: OAuthServer) -> Iterator[OAuthServer]:
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    running.behave()
    running.requests.clear()
    running.provider.refreshed = 0
    yield running
    keyring.set_keyring(before)


async def log_in(server: OAuthServer, folder: Path, **more: str | float) -> SignIn:
    request = SignInRequest(
        name="tickets",
        url=server.url,
        folder=folder,
        open_page=server.browse,
        **more,  # type: ignore[arg-type]
    )
    return await sign_in(request)


async def ping(server: OAuthServer, folder: Path, auth: httpx2.Auth | None = None) -> int:
    """Return the status of a request with the stored sign-in."""
    auth = auth or await load_auth(folder, "tickets", server.url)
    headers = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(trust_env=False, auth=auth, headers=headers) as client:
        content = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return (await client.post(server.url, json=content)).status_code


def read_file(folder: Path) -> str:
    return str(json.loads((folder / "tickets.json").read_text())["access_token"])


def test_a_sign_in_lets_in_and_stores_its_tokens_for_the_user_alone(
    server: OAuthServer, tmp_path: Path
) -> None:
    folder = tmp_path / "own/mcp"
    opened: list[str] = []

    async def browse(address: str) -> None:
        opened.append(address)
        await server.browse(address)

    async def story() -> SignIn:
        assert await load_auth(folder, "tickets", server.url) is None
        request = SignInRequest(name="tickets", url=server.url, folder=folder, open_page=browse)
        made = await sign_in(request)
        assert await ping(server, folder) == 200
        assert await load_auth(folder, "tickets", f"{server.url}/other") is None
        assert await load_auth(folder, "others", server.url) is None
        return made

    made = asyncio.run(story())
    query = {key: value for key, [value] in parse_qs(urlsplit(opened[0]).query).items()}
    assert query["code_challenge_method"] == "S256"
    assert (query["resource"], query["scope"]) == (server.url, SCOPE)
    assert query["redirect_uri"].startswith("http://127.0.0.1:")
    assert len(query["state"]) >= 40
    assert server.provider.access[made.access_token].resource == server.url
    assert server.list_paths()[:4] == [
        "/mcp",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/register",
    ]
    assert server.provider.clients[made.client_id].token_endpoint_auth_method == "client_secret_post"
    assert stat.S_IMODE((folder / "tickets.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {each.name for each in folder.iterdir()} == {"tickets.json", "tickets.lock"}
    for secret in (made.access_token, made.refresh_token, made.client_secret):
        assert secret not in redact(f"it is {secret}.")
        assert secret not in repr(made)


def test_tokens_are_renewed_once_by_all_that_use_them(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        server.behave(seconds=10)  # ends soon enough to be renewed before it is used
        made = await log_in(server, tmp_path)
        server.behave()
        other = await load_auth(tmp_path, "tickets", server.url)  # as in another session
        assert await asyncio.gather(
            *(ping(server, tmp_path) for _ in range(3)), ping(server, tmp_path, other)
        )
        assert server.provider.refreshed == 1
        assert read_file(tmp_path) != made.access_token
        server.provider.access.clear()  # ended before its time
        assert await ping(server, tmp_path) == 200
        assert await ping(server, tmp_path, other) == 200
        assert server.provider.refreshed == 2

    asyncio.run(story())


def test_revoked_tokens_ask_for_a_new_sign_in(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        await log_in(server, tmp_path)
        server.provider.revoke_all()
        with pytest.raises(
            SignInNeededError,
            match=r"^its sign-in has ended \(invalid_grant\): patchwright mcp login tickets$",
        ):
            await ping(server, tmp_path)
        auth = await load_auth(tmp_path, "tickets", server.url)
        TokenStore(tmp_path).delete("tickets")
        with pytest.raises(SignInNeededError, match="you have signed out of it"):
            await ping(server, tmp_path, auth)

    asyncio.run(story())


def test_tokens_stay_where_the_authorization_server_is_down(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        made = await log_in(server, tmp_path)
        server.provider.access.clear()
        server.behave(is_down=True)
        with pytest.raises(SignInError, match="renewed no token: status 503"):
            await ping(server, tmp_path)
        assert read_file(tmp_path) == made.access_token
        server.behave()
        assert await ping(server, tmp_path) == 200

    asyncio.run(story())


def test_a_sign_out_revokes_the_tokens(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        made = await log_in(server, tmp_path)
        assert await revoke_tokens(made)
        assert made.refresh_token not in server.provider.refresh

    asyncio.run(story())


def test_a_client_id_by_hand_or_by_a_document_registers_no_client(
    server: OAuthServer, tmp_path: Path
) -> None:
    document = "https://example.org/patchwright/client.json"

    async def browse(address: str) -> None:
        """Register the redirect of the client's document, whose port the server ignores (RFC 8252, 7.3)."""
        query = parse_qs(urlsplit(address).query)
        known = server.provider.clients[query["client_id"][0]]
        known.redirect_uris = OAuthClientInformationFull(
            client_id="x", redirect_uris=query["redirect_uri"]
        ).redirect_uris
        await server.browse(address)

    async def story(client_id: str, secret: str) -> SignIn:
        server.provider.clients[client_id] = OAuthClientInformationFull(
            client_id=client_id,
            client_secret=secret or None,
            token_endpoint_auth_method="client_secret_post" if secret else "none",
            scope=SCOPE,
        )
        request = SignInRequest(
            name="tickets",
            url=server.url,
            folder=tmp_path,
            open_page=browse,
            client_id=client_id,
            client_secret=secret,
        )
        made = await sign_in(request)
        server.provider.access.clear()
        assert await ping(server, tmp_path) == 200  # renewed as the same client
        return made

    made = asyncio.run(story("by-hand", "a-secret-of-the-client"))
    assert (made.client_id, made.client_secret) == ("by-hand", "a-secret-of-the-client")
    server.behave(metadata={"client_id_metadata_document_supported": True})
    assert asyncio.run(story(document, "")).client_id == document
    assert "/register" not in server.list_paths()


ELSEWHERE = "http://localhost:9/stolen"
"""Another origin; nothing listens there."""

FAR = "http://accounts.example.com/authorize"

REFUSED = {
    "iss of another server": (
        {"redirect": {"iss": "https://evil.example"}},
        "iss mismatch: https://evil.example",
    ),
    "no iss, though announced": (
        {"redirect": {"iss": None}, "metadata": {"authorization_response_iss_parameter_supported": True}},
        "missing iss parameter",
    ),
    "no code": ({"redirect": {"code": None}}, "No authorization code received"),
    "a user that says no": (
        {"redirect": {"code": None, "error": "access_denied", "error_description": "not\x1b[2Jyou\nhere"}},
        "refused: access_denied: not",
    ),
    "unencrypted page": (
        {"metadata": {"authorization_endpoint": FAR}},
        f"the page for the sign-in is not encrypted: '{FAR}'",
    ),
    "unencrypted place for tokens": (
        {"metadata": {"token_endpoint": "http://accounts.example.com/token"}},
        "the place for tokens is not encrypted",
    ),
    "page that is a program": ({"metadata": {"authorization_endpoint": "file:///etc/passwd"}}, "metadata"),
    "another issuer": (
        {"metadata": {"issuer": "https://evil.example"}},
        "issuer mismatch: https://evil.example",
    ),
    "no PKCE": (
        {"metadata": {"code_challenge_methods_supported": None}},
        "does not support PKCE with S256",
    ),
    "weak PKCE": ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE with S256"),
    "resource of another origin": (
        {"resource": {"resource": "https://bank.example/mcp"}},
        "Protected resource https://bank.example/mcp does not match",
    ),
    "metadata elsewhere": (
        {"challenge": 'Bearer resource_metadata="https://evil.example/prm"'},
        "its metadata are elsewhere: 'https://evil.example/prm'",
    ),
    "unencrypted authorization server": (
        {"resource": {"authorization_servers": ["http://evil.example"]}},
        "is not encrypted: 'http://evil.example",
    ),
    "tokens by a redirect": ({"moves": {"/token": ELSEWHERE}}, "Token exchange failed (307)"),
    "registration by a redirect": ({"moves": {"/register": ELSEWHERE}}, "Registration failed: 307"),
    "metadata by a redirect": (
        {"moves": {"/.well-known/oauth-authorization-server": ELSEWHERE}},
        "publishes no metadata",
    ),
    "server by a redirect": ({"moves": {"/mcp": ELSEWHERE}}, f"it has moved to '{ELSEWHERE}'"),
}


@pytest.mark.parametrize("lie", REFUSED)
def test_what_is_not_as_it_should_be_lets_nobody_in(server: OAuthServer, tmp_path: Path, lie: str) -> None:
    conduct, reason = REFUSED[lie]
    server.behave(**conduct)
    issued = len(server.provider.access)
    with pytest.raises(SignInError) as refused:
        asyncio.run(log_in(server, tmp_path))
    told = str(refused.value)
    assert reason in told, told
    assert "\n" not in told
    assert len(told) <= 300
    assert list(tmp_path.iterdir()) == []
    assert len(server.provider.access) == issued
    assert not any("Bearer" in headers.get("authorization", "") for _, _, headers in server.requests)


def test_a_sign_in_ends_by_its_limit_and_a_server_that_asks_for_none_is_told(
    server: OAuthServer, tmp_path: Path
) -> None:
    async def wait(address: str) -> None:
        assert address.startswith(f"{server.issuer}/authorize?")

    request = SignInRequest(name="t", url=server.url, folder=tmp_path, open_page=wait, seconds=0.05)
    with pytest.raises(SignInError, match=r"^nobody signed in within 0\.05 s$"):
        asyncio.run(sign_in(request))
    open_to_all = f"{server.issuer}/.well-known/oauth-authorization-server"
    with pytest.raises(SignInError, match="status 405"):
        asyncio.run(sign_in(SignInRequest(name="t", url=open_to_all, folder=tmp_path, open_page=wait)))
    with pytest.raises(SignInError, match="the server is not encrypted"):
        asyncio.run(
            sign_in(SignInRequest(name="t", url="http://192.0.2.1/mcp", folder=tmp_path, open_page=wait))
        )


def test_two_sign_ins_at_once_end_each_with_its_own_tokens(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        one, other = await asyncio.gather(log_in(server, tmp_path), log_in(server, tmp_path))
        assert one.access_token != other.access_token
        assert read_file(tmp_path) in (one.access_token, other.access_token)
        assert await ping(server, tmp_path) == 200

    asyncio.run(story())


def test_a_token_is_sent_to_no_other_origin(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        await log_in(server, tmp_path)
        auth = await load_auth(tmp_path, "tickets", server.url)
        server.requests.clear()
        async with httpx2.AsyncClient(trust_env=False, auth=auth) as client:
            await client.get(server.url.replace("127.0.0.1", "localhost"))
        assert [headers.get("authorization") for _, _, headers in server.requests] == [None]

    asyncio.run(story())


def test_a_server_that_lets_everybody_connect_asks_before_its_tools(
    server: OAuthServer, tmp_path: Path
) -> None:
    server.behave(is_open=True)
    made = asyncio.run(log_in(server, tmp_path))
    assert made.access_token in server.provider.access
    assert server.list_paths()[:3] == ["/mcp", "/mcp", "/.well-known/oauth-protected-resource/mcp"]


def test_a_server_of_the_last_revision_alone_is_asked_in_it(server: OAuthServer, tmp_path: Path) -> None:
    server.behave(refuses="2025-06-18")
    made = asyncio.run(log_in(server, tmp_path))
    assert made.access_token in server.provider.access
    assert made.resource == server.url


def test_the_next_sign_in_asks_for_the_rights_that_were_missing(server: OAuthServer, tmp_path: Path) -> None:
    async def story() -> None:
        first = await log_in(server, tmp_path)
        assert first.scope == SCOPE
        server.behave(demands=MORE_SCOPE)
        for _ in range(2):
            with pytest.raises(SignInNeededError, match="it asks for more rights than you signed in with"):
                await ping(server, tmp_path)
        assert (await log_in(server, tmp_path)).scope == f"{SCOPE} {MORE_SCOPE}"
        assert await ping(server, tmp_path) == 200

    asyncio.run(story())


def test_a_page_with_a_query_of_its_own_is_opened_with_it(server: OAuthServer, tmp_path: Path) -> None:
    server.behave(metadata={"authorization_endpoint": f"{server.issuer}/authorize?tenant=a"})
    asyncio.run(log_in(server, tmp_path))
