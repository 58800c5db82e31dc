"""Renewal and revocation of tokens, at the addresses that the sign-in found and judged."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx2

from tools.mcp.oauth.judged_requests import JudgedRequests
from tools.mcp.oauth.sign_in import SignIn
from tools.mcp.oauth.sign_in_error import SignInError, SignInNeededError


async def refresh_tokens(sign_in: SignIn) -> SignIn:
    """Return the sign-in with new tokens.

    Raises SignInNeededError if the authorization server refuses, SignInError if it cannot say now.
    """
    if not sign_in.refresh_token:
        raise SignInNeededError(sign_in.name, "its sign-in has ended")
    form = {
        "grant_type": "refresh_token",
        "refresh_token": sign_in.refresh_token,
        "resource": sign_in.resource,
    }
    request = _build_request(sign_in, sign_in.token_endpoint, form)
    response = await JudgedRequests(sign_in.url).send(request)
    if response.status_code in (400, 401, 403):
        raise SignInNeededError(sign_in.name, f"its sign-in has ended ({_read_reason(response)})")
    fields = _parse_object(response)
    access = fields.get("access_token")
    if response.status_code != 200 or not isinstance(access, str) or not access:
        raise SignInError(f"{sign_in.issuer} renewed no token: status {response.status_code}")
    if str(fields.get("token_type", "bearer")).lower() != "bearer":
        raise SignInError(f"{sign_in.issuer} gave a token of another kind than Bearer")
    refresh, scope = fields.get("refresh_token"), fields.get("scope")
    return replace(
        sign_in,
        access_token=access,
        refresh_token=refresh if isinstance(refresh, str) and refresh else sign_in.refresh_token,
        scope=scope if isinstance(scope, str) else sign_in.scope,
        expires_at=_compute_expiry(fields.get("expires_in")),
    )


async def revoke_tokens(sign_in: SignIn) -> bool:
    """Tell the authorization server that the tokens are no longer used (RFC 7009); return whether it took it."""
    if not sign_in.revocation_endpoint:
        return False
    kind = "refresh_token" if sign_in.refresh_token else "access_token"
    form = {"token": sign_in.refresh_token or sign_in.access_token, "token_type_hint": kind}
    try:
        request = _build_request(sign_in, sign_in.revocation_endpoint, form)
        response = await JudgedRequests(sign_in.url).send(request)
    except SignInError:
        return False
    return response.status_code == 200


def _build_request(sign_in: SignIn, address: str, form: dict[str, str]) -> httpx2.Request:
    headers = {"Accept": "application/json"}
    if sign_in.auth_method == "client_secret_basic" and sign_in.client_secret:
        pair = f"{quote(sign_in.client_id, safe='')}:{quote(sign_in.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif sign_in.client_secret:
        form = {**form, "client_secret": sign_in.client_secret}
    return httpx2.Request("POST", address, data={"client_id": sign_in.client_id, **form}, headers=headers)


def _parse_object(response: httpx2.Response) -> dict[str, Any]:
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_reason(response: httpx2.Response) -> str:
    """Return the error code of RFC 6749, if it looks like one: the server's words are not the user's."""
    error = _parse_object(response).get("error")
    known = isinstance(error, str) and error.replace("_", "").isalpha() and error.isascii()
    return str(error)[:40] if known else f"status {response.status_code}"


def _compute_expiry(seconds: object) -> float:
    try:
        return time.time() + float(str(seconds))
    except ValueError:
        return 0.0
