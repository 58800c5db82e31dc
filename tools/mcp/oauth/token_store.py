"""Sign-ins by server: in the desktop's keyring where it works, else in files that only the user can read."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sandbox.errors import Fault, UserError, translate_write_errors
from sandbox.fs.private_files import create_private_folder, open_private
from sandbox.lazy_pattern import compile_lazily
from tools.mcp.oauth.keyring_entry import delete_entry, read_entry, write_entry
from tools.mcp.oauth.sign_in import SignIn, format_record, parse_record, redact_tokens
from tools.mcp.oauth.sign_in_error import SignInError

LOCK_SECONDS = 60.0
"""How long one process waits for another that renews the same tokens."""

_POLL_SECONDS = 0.02

_NAME = compile_lazily(r"[A-Za-z0-9_-]+")
"""Names that settings allow: others could lead to files elsewhere."""


class TokenStore:
    """Sign-ins below one folder of Patchwright's own, which commands in the sandbox cannot see.

    A file is replaced as a whole, so that a kill leaves the old one or the new one. All methods raise UserError for a
    name that no server can have.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, url: str = "") -> SignIn | None:
        """Return the sign-in of a server; None without one, and where the name had another address than `url`.

        url: "" for any, where nothing is sent to it
        """
        path = self._find(name, "json")
        try:
            content = path.read_bytes()
        except OSError:
            content = b""
        kept = [parse_record(each, name) for each in (content, read_entry(name)) if each]
        found = max((each for each in kept if each is not None), key=lambda each: each.saved_at, default=None)
        return redact_tokens(found) if found is not None and url in ("", found.url) else None

    def save(self, sign_in: SignIn) -> SignIn:
        """Store a sign-in in place of the server's older one; return it. Raises UserError."""
        saved = redact_tokens(replace(sign_in, saved_at=time.time()))
        text, path = format_record(saved), self._find(saved.name, "json")
        if write_entry(saved.name, text):
            path.unlink(missing_ok=True)
            return saved
        with translate_write_errors(str(self.folder)):
            create_private_folder(self.folder)
            draft = self._find(saved.name, "new")
            draft.unlink(missing_ok=True)  # of a process that was killed
            with open(draft, "xb", opener=open_private) as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        return saved

    def delete(self, name: str) -> None:
        """Remove the sign-in of a server from all places. Raises UserError, also where the keyring keeps its part."""
        paths = [self._find(name, ending) for ending in ("json", "new")]
        with translate_write_errors(str(self.folder)):
            for each in paths:
                each.unlink(missing_ok=True)
        if not delete_entry(name):
            raise UserError(
                Fault.CREDENTIALS,
                f"the keyring does not give up the sign-in of {name}",
                f"Unlock it, then: patchwright mcp logout {name}",
            )

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Keep other processes from changing one server's sign-in. Raises SignInError, UserError."""
        path = self._find(name, "lock")
        with translate_write_errors(str(self.folder)):
            create_private_folder(self.folder)
            held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await _wait_for_lock(held)
            yield
        finally:
            os.close(held)

    def _find(self, name: str, ending: str) -> Path:
        """Return the file of a server. Raises UserError for a name that no server can have."""
        if not _NAME.fullmatch(name):
            raise UserError(Fault.USAGE, f"{name!r} is not the name of an MCP server")
        return self.folder / f"{name}.{ending}"


async def _wait_for_lock(held: int) -> None:
    try:
        async with asyncio.timeout(LOCK_SECONDS):
            while not _try_lock(held):
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise SignInError(f"another process has been changing its sign-in for {LOCK_SECONDS:g} s") from None


def _try_lock(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
