"""Failures of a sign-in, each in one line."""

from __future__ import annotations

LONGEST = 300
"""Characters of a reason: parts of it come from the server."""


class SignInError(Exception):
    """A sign-in failed, or was refused by a check; the text says why, in a clause."""

    def __init__(self, reason: str) -> None:
        super().__init__(" ".join(reason.split())[:LONGEST])


class SignInNeededError(SignInError):
    """A server wants a new sign-in of the user."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{reason}: patchwright mcp login {name}")


class UnreachableError(SignInError):
    """No answer came from a server, or none in time."""


class NoSignInAskedError(SignInError):
    """The server answers without a sign-in."""
