"""Checks of the metadata with which a server says where to sign in; what fails one is used for nothing."""

from __future__ import annotations

from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata

from tools.mcp.oauth.addresses import check_address, check_reach
from tools.mcp.oauth.sign_in_error import SignInError


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
