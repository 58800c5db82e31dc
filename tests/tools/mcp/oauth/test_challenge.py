"""The rights that a sign-in asks for, in the answer that asks for one."""

from __future__ import annotations

import httpx2

from tools.mcp.oauth.challenge import add_scope


def test_words_that_are_no_scope_are_left_out() -> None:
    challenge = httpx2.Response(401, request=httpx2.Request("POST", "https://tickets.example/mcp"))
    scope = 'read x", resource_metadata="https://evil.example a\\b write:all'
    assert add_scope(challenge, scope).headers["WWW-Authenticate"] == 'Bearer scope="read write:all"'
    assert add_scope(challenge, 'a"b') is challenge
