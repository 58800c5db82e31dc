"""The token by which clients of the HTTP server show that they belong to its user."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private
from sandbox.fs.regular_file import READ_FLAGS

LEAST_CHARACTERS, MOST_BYTES = 24, 4_096
"""A shorter token could be guessed; a longer file is none."""


def make_token() -> str:
    """Return a new token."""
    return secrets.token_urlsafe(32)


def read_token(path: Path) -> str:
    """Return the token in a file; one that does not exist is made, for its user alone. Raises UserError."""
    try:
        with open(path, "x", encoding="ascii", opener=open_private) as file:
            token = make_token()
            file.write(f"{token}\n")
            return token
    except FileExistsError:
        pass
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot make {str(path)!r}: {error.strerror}") from None
    try:
        content = _read_private_file(path)
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot read {str(path)!r}: {error.strerror}") from None
    token = content.decode("ascii", "replace").strip()
    if len(token) < LEAST_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            Fault.CONFIGURATION,
            f"no token in {str(path)!r}: at least {LEAST_CHARACTERS} printable characters on one line",
            "Remove the file; a new one is made.",
        )
    return token


def _read_private_file(path: Path) -> bytes:
    """Return the content of a file that is no link, checked on the open file. Raises OSError, UserError."""
    with os.fdopen(os.open(path, READ_FLAGS), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise UserError(Fault.CONFIGURATION, f"the file of the token is not a regular one: {str(path)!r}")
        if info.st_uid != os.geteuid() or stat.S_IMODE(info.st_mode) & 0o077:
            raise UserError(
                Fault.CONFIGURATION,
                f"the file of the token is open to others: {str(path)!r}",
                f"Close it: chmod 600 {path}",
            )
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UserError(Fault.CONFIGURATION, f"no token in {str(path)!r}: it is too long")
    return content
