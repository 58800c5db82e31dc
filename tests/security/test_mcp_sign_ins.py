"""Tokens of MCP servers reach the server, and nothing that a model can see, read or start."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from agent.app_dirs import Home
from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.oauth_server import run_oauth_server
from tools.mcp.oauth.sign_in_flow import SignInRequest, sign_in

pytestmark = pytest.mark.slow


def test_a_session_uses_the_tokens_and_its_model_sees_none(ledger: Path, tmp_path: Path) -> None:
    needs_confinement(ledger)
    home = Home.from_environment()
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    with run_oauth_server() as server:
        request = SignInRequest(name="tickets", url=server.url, folder=home.sign_ins, open_page=server.browse)
        made = asyncio.run(sign_in(request))
        keyring.set_keyring(before)
        home.config.mkdir(parents=True)
        rules = "allow = ['mcp(tickets.*)', 'shell(cat *)', 'shell(env)']"
        (home.config / "settings.toml").write_text(
            f"[mcp]\ntickets = {json.dumps(server.url)}\n[permissions]\n{rules}\n"
        )
        file = home.sign_ins / "tickets.json"
        assert made.access_token in file.read_text()
        turns = [
            {
                "calls": [
                    call("mcp__tickets__count_tickets", state="open"),
                    call("shell", command=f"cat {file}"),
                    call("shell", command="env"),
                    call("read", path=str(file)),
                ]
            },
            {"text": "Done.", "expect": ["3 open tickets"]},
        ]
        env = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        words = ("run", "count", "--model", script(tmp_path, turns), "--no-commit", "-o", "stream-json")
        done = run(*words, cwd=ledger, env=env)
    assert done.code == 0, done.err
    results = [each for each in done.events if each["kind"] == "observation"]
    assert len(results) == 4
    assert "No such file or directory" in results[1]["text"]
    assert results[3]["failed"]
    shown = [done.out, done.err]
    written = [each for each in home.data.rglob("*") if each.is_file() and each != file]
    shown += [each.read_bytes().decode("latin-1") for each in written]
    assert not [text[:200] for text in shown if made.access_token in text or made.refresh_token in text]
