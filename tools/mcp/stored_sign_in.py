"""The stored sign-in of a server, for its connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2


async def load_sign_in(folder: Path | None, name: str, url: str) -> httpx2.Auth | None:
    """Return the authentication of a server by its stored sign-in, None without one. No browser is opened."""
    if folder is None:
        return None
    from tools.mcp.oauth.stored_auth import load_auth

    return await load_auth(folder, name, url)
