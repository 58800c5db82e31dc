"""Client for the scenarios about sign-in of the protocol's conformance suite, which starts it with an address.

It signs in, connects, and calls each tool; where a request fails for want of rights, it signs in again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import httpx2
import keyring
from keyring.backends.fail import Keyring

from tests.tools.workspaces import workspace
from tools.mcp.oauth.sign_in_error import NoSignInAskedError
from tools.mcp.oauth.sign_in_flow import SignInRequest, sign_in
from tools.mcp.server_settings import McpServerSettings
from tools.mcp.server_tools import McpServers
from tools.shell.server_pipes import ServerGone

DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""Client-ID metadata document that the suite expects, where its server takes such documents."""

MOST_SIGN_INS = 3


async def browse(address: str) -> None:
    """Open a page and follow where it leads."""
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as browser:
        await browser.get(address)


async def log_in(url: str, folder: Path) -> None:
    """Sign in with the client that the scenario names, if it names one."""
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    has_document = "cimd" in os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    request = SignInRequest(
        name="server",
        url=url,
        folder=folder,
        open_page=browse,
        client_id=given.get("client_id", DOCUMENT if has_document else ""),
        client_secret=given.get("client_secret", ""),
        seconds=10,
    )
    await sign_in(request)


async def use_server(url: str, folder: Path) -> None:
    """Connect and call each tool. Raises ServerGone."""
    servers = McpServers(workspace(folder), {"server": McpServerSettings(url=url)}, sign_ins=folder / "mcp")
    try:
        for server in servers:
            await server.start()
            for tool in server.tools:
                await server.call(tool, {})
    finally:
        await servers.close()


async def main(url: str, folder: Path) -> None:
    """Play one scenario."""
    for _ in range(MOST_SIGN_INS):
        with suppress(NoSignInAskedError):
            await log_in(url, folder / "mcp")
        try:
            return await use_server(url, folder)
        except ServerGone as gone:
            if "patchwright mcp login" not in str(gone):
                raise
    return None


if __name__ == "__main__":
    keyring.set_keyring(Keyring())
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["PATCHWRIGHT_HOME"] = f"{scratch}/home"
        asyncio.run(main(sys.argv[-1], Path(scratch)))
