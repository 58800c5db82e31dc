"""A stored sign-in: the tokens of one server, with everything that renews them."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, field, fields
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.known_values import register_secrets

EARLY_SECONDS = 30
"""An access token that ends so soon is renewed: a request and the clocks of two machines take time."""

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """One sign-in. It is used for requests to exactly `url`, and renewed only at `token_endpoint`.

    resource: the resource indicator (RFC 8707) that the tokens were asked for
    auth_method: how the client shows its secret to the token endpoint, as in RFC 7591
    scope, wanted_scope: granted by the user; asked for by the server since then, and by the next sign-in
    expires_at, saved_at: in seconds since 1970; expires_at is 0 where the server did not say
    """

    name: str
    url: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    resource: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    auth_method: str = "none"
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    expires_at: float = 0.0
    scope: str = ""
    wanted_scope: str = ""
    saved_at: float = 0.0

    @property
    def is_expired(self) -> bool:
        return bool(self.expires_at) and time.time() > self.expires_at - EARLY_SECONDS


def format_record(sign_in: SignIn) -> str:
    """Return a sign-in as one JSON object."""
    return json.dumps({"version": VERSION, **asdict(sign_in)})


def parse_record(text: str | bytes, name: str) -> SignIn | None:
    """Return the sign-in of a name; None if the text is damaged, of another version, or another name's."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.pop("version", None) != VERSION or found.get("name") != name:
        return None
    types = {each.name: float if each.type == "float" else str for each in fields(SignIn)}
    try:
        values: dict[str, Any] = {key: types[key](value) for key, value in found.items()}
        return SignIn(**values)
    except (KeyError, TypeError, ValueError):
        return None


def redact_tokens(sign_in: SignIn) -> SignIn:
    """Register the secrets of a sign-in, so that they are redacted wherever they appear; return it."""
    import hashlib

    named = {
        "ACCESS": sign_in.access_token,
        "REFRESH": sign_in.refresh_token,
        "CLIENT": sign_in.client_secret,
    }
    register_secrets(
        {
            # a number of its own for each value: a token that was renewed may still be valid
            f"MCP_{kind}_TOKEN_{int(hashlib.sha256(value.encode()).hexdigest()[:8], 16)}": value
            for kind, value in named.items()
            if value
        }
    )
    return sign_in
