"""Where tokens are kept: the desktop's keyring, or a file that is whole at every instant."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.backends.null import Keyring as DeafKeyring
from keyring.errors import KeyringLocked

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.mcp.server_sign_in import sign_out_of_server
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT, environment
from tools.mcp.oauth import token_store
from tools.mcp.oauth.sign_in import SignIn, format_record
from tools.mcp.oauth.sign_in_error import SignInError
from tools.mcp.oauth.token_store import TokenStore

pytestmark = pytest.mark.slow

URL = "https://tickets.example/mcp"


class MemoryKeyring(KeyringBackend):
    """A desktop's keyring, as far as one process sees it. is_locked: the user has not opened it"""

    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._require_open()
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._require_open()
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._require_open()
        del self.entries[service, username]

    def _require_open(self) -> None:
        if self.is_locked:
            raise KeyringLocked("locked")


@pytest.fixture(autouse=True)
def desktop() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    made = MemoryKeyring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def make_sign_in(token: str = "access-1234567890", url: str = URL) -> SignIn:
    return SignIn(
        name="tickets",
        url=url,
        issuer="https://accounts.example",
        token_endpoint="https://accounts.example/token",
        resource=url,
        client_id="c",
        access_token=token,
        expires_at=12.5,
    )


def test_a_keyring_keeps_the_tokens_and_no_file_does(desktop: MemoryKeyring, tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "mcp")
    saved = store.save(make_sign_in())
    assert not store.folder.exists()
    assert list(desktop.entries) == [("patchwright-mcp", "tickets")]
    assert store.read("tickets", URL) == saved
    assert store.read("tickets", "https://evil.example/mcp") is None
    store.delete("tickets")
    assert desktop.entries == {}
    assert store.read("tickets", URL) is None
    store.delete("tickets")


def test_a_locked_keyring_is_not_taken_for_a_sign_out(
    desktop: MemoryKeyring,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path))
    store = TokenStore(Home.from_environment().sign_ins)
    store.save(make_sign_in())
    desktop.is_locked = True
    with pytest.raises(UserError, match="the keyring does not give up the sign-in of tickets"):
        sign_out_of_server("tickets")
    desktop.is_locked = False
    assert sign_out_of_server("tickets") == Exit.DONE
    assert desktop.entries == {}
    assert sign_out_of_server("tickets") == Exit.NOTHING_TO_DO
    assert "Signed out of tickets" in capsys.readouterr().out


def test_a_sign_out_waits_for_the_process_that_renews_the_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path))
    monkeypatch.setattr(token_store, "LOCK_SECONDS", 0.05)
    store = TokenStore(Home.from_environment().sign_ins)
    store.save(make_sign_in())

    async def renew() -> None:
        async with store.lock("tickets"):
            with pytest.raises(UserError, match="another process has been changing its sign-in"):
                await asyncio.to_thread(sign_out_of_server, "tickets")

    asyncio.run(renew())
    assert store.read("tickets", URL) is not None


def test_a_file_keeps_them_where_no_keyring_works(desktop: MemoryKeyring, tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "mcp")
    backends: list[KeyringBackend] = [NoKeyring(), DeafKeyring()]
    for number, backend in enumerate(backends):
        keyring.set_keyring(backend)
        saved = store.save(make_sign_in(f"access-of-backend-{number}"))
        assert store.read("tickets", URL) == saved
        assert stat.S_IMODE((store.folder / "tickets.json").stat().st_mode) == 0o600
    keyring.set_keyring(desktop)
    moved = store.save(make_sign_in("access-of-the-desktop"))
    assert not (store.folder / "tickets.json").exists()
    desktop.is_locked = True
    assert store.read("tickets", URL) is None
    store.save(make_sign_in("access-while-locked"))
    desktop.is_locked = False
    newest = store.read("tickets", URL)
    assert newest is not None
    assert newest.access_token == "access-while-locked"
    assert desktop.entries["patchwright-mcp", "tickets"] == format_record(moved)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe",
        b'{"version": 2, "name": "tickets"}',
        b'{"version": 1, "name": "tickets"}',
    ],
)
def test_a_damaged_file_is_no_sign_in(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tickets.json").write_bytes(content)
    assert TokenStore(tmp_path).read("tickets", URL) is None


def test_another_names_record_is_none(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(format_record(make_sign_in()))
    assert TokenStore(tmp_path).read("other", URL) is None


KILLED = """
import os, signal, sys
from pathlib import Path
import keyring
from keyring.backends.fail import Keyring
from tests.tools.mcp.oauth.test_token_store import make_sign_in
from tools.mcp.oauth.token_store import TokenStore
keyring.set_keyring(Keyring())
setattr(os, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
TokenStore(Path(sys.argv[1])).save(make_sign_in("access-of-the-killed"))
"""


def test_a_kill_at_any_point_leaves_the_old_tokens_whole(tmp_path: Path) -> None:
    keyring.set_keyring(NoKeyring())
    store = TokenStore(tmp_path)
    saved = store.save(make_sign_in())
    for point in ("fsync", "replace"):
        words = [sys.executable, "-c", KILLED, str(tmp_path), point]
        killed = subprocess.run(words, cwd=CHECKOUT, env=environment(), check=False)
        assert killed.returncode == -9
        assert store.read("tickets", URL) == saved
    assert stat.S_IMODE((tmp_path / "tickets.new").stat().st_mode) == 0o600
    later = store.save(replace(saved, access_token="access-afterwards"))
    assert store.read("tickets", URL) == later
    assert {each.name for each in tmp_path.iterdir()} == {"tickets.json"}


def test_one_process_at_a_time_changes_a_sign_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TokenStore(tmp_path / "mcp")

    async def story() -> None:
        inside = 0

        async def take() -> None:
            nonlocal inside
            async with store.lock("tickets"):
                inside += 1
                await asyncio.sleep(0)
                assert inside == 1
                inside -= 1

        await asyncio.gather(*(take() for _ in range(5)))
        monkeypatch.setattr(token_store, "LOCK_SECONDS", 0.01)
        async with store.lock("tickets"), store.lock("others"):
            with pytest.raises(SignInError, match="another process has been changing"):
                async with store.lock("tickets"):
                    pass

    asyncio.run(story())


def test_a_name_leads_to_no_file_elsewhere(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "mcp")
    victim = tmp_path / "victim.json"
    victim.write_text("{}")

    async def lock(name: str) -> None:
        async with store.lock(name):
            pass

    for name in (str(victim.with_suffix("")), "../victim", "..", ""):
        uses: list[Callable[[], object]] = [
            partial(store.read, name),
            partial(store.delete, name),
            partial(store.save, replace(make_sign_in(), name=name)),
            partial(asyncio.run, lock(name)),
        ]
        for use in uses:
            with pytest.raises(UserError, match="is not the name of an MCP server"):
                use()
    assert victim.read_text() == "{}"
    assert not store.folder.exists()
