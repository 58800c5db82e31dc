"""Sign-in to an MCP server in the user's browser, and the sign-out."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.mcp.named_servers import find_servers
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.process.bounded_end import run_loop
from sandbox.sanitize import sanitize_text
from tools.mcp.oauth.sign_in_error import NoSignInAskedError, SignInError, UnreachableError
from tools.mcp.oauth.token_store import TokenStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """A client that the user registered. secret_variable: the variable that holds its secret; "" for none"""

    identity: str = ""
    secret_variable: str = ""

    def read_secret(self) -> str:
        """Return the secret. Raises UserError if the variable is not set, or belongs to no client."""
        if not self.secret_variable:
            return ""
        if not self.identity:
            raise UserError(Fault.USAGE, "--client-secret is of the client that --client-id names")
        if secret := os.environ.get(self.secret_variable):
            return secret
        raise UserError(
            Fault.USAGE, f"--client-secret names {self.secret_variable!r}, and no such variable is set"
        )


def sign_in_to_server(
    folder: Path, name: str, client: ClientOptions, *, opens_browser: bool, seconds: float
) -> int:
    """Sign in to a server by the browser. Returns the exit code. Raises UserError."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    server = find_servers(home, root).require_server(name)
    if not server.settings.url:
        raise UserError(
            Fault.USAGE,
            f"the MCP server {name!r} is a program, to which nobody signs in",
            "What it needs is given by variables in front of its command.",
        )
    from tools.mcp.oauth.sign_in_flow import SignInRequest, sign_in

    async def open_page(address: str) -> None:
        print(sanitize_text(f"Sign in to {name} at\n  {address}"), flush=True)
        if opens_browser and _has_browser():
            await asyncio.to_thread(_open_browser, address)

    request = SignInRequest(
        name=name,
        url=server.settings.url,
        folder=home.sign_ins,
        open_page=open_page,
        client_id=client.identity,
        client_secret=client.read_secret(),
        seconds=seconds,
    )
    try:
        run_loop(sign_in(request))
    except NoSignInAskedError as asked:
        print(f"{name}: {asked}", file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    except SignInError as error:
        fault = Fault.MODEL_UNREACHABLE if isinstance(error, UnreachableError) else Fault.CREDENTIALS
        raise UserError(fault, f"not signed in to {name}: {error}") from None
    print(f"Signed in to {name}; new sessions use it. To sign out: patchwright mcp logout {name}")
    return int(Exit.DONE)


def sign_out_of_server(name: str) -> int:
    """Remove the tokens of a server, after telling its authorization server. Returns the exit code."""
    try:
        said = run_loop(_sign_out(TokenStore(Home.from_environment().sign_ins), name))
    except SignInError as error:
        raise UserError(Fault.CREDENTIALS, f"not signed out of {name}: {error}") from None
    if said is None:
        print(sanitize_text(f"you are not signed in to {name}"), file=sys.stderr)
        return int(Exit.NOTHING_TO_DO)
    print(sanitize_text(f"Signed out of {name}{said}"))
    return int(Exit.DONE)


async def _sign_out(store: TokenStore, name: str) -> str | None:
    """Return a remark, None without a sign-in. Locked: a session that renews the tokens would store them anew."""
    async with store.lock(name):
        known = store.read(name)
        if known is None:
            store.delete(name)  # what is damaged
            return None
        from tools.mcp.oauth.token_refresh import revoke_tokens

        is_revoked = await revoke_tokens(known)
        store.delete(name)
    return "" if is_revoked else f"; {known.issuer} was not told: end the sign-in there, if that matters"


def _has_browser() -> bool:
    """Return whether there is a desktop: a browser of the terminal would take this one over."""
    if sys.platform != "linux" or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(address: str) -> None:
    import webbrowser

    try:
        webbrowser.open(address)
    except webbrowser.Error:  # the address was printed
        return
