"""The npm SDK's client, which editors use, drives a whole session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.protocols.acp.editor import Editor, Repo, call, script
from tests.support.cli import PATCHWRIGHT

pytestmark = pytest.mark.slow

VARIABLE = "ACP_NPM_SDK"
"""Folder in which `npm install @agentclientprotocol/sdk` was run."""


SDK = Path(os.environ.get(VARIABLE, "/nonexistent"), "node_modules", "@agentclientprotocol", "sdk")


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.skipif(not SDK.is_dir(), reason=f"{VARIABLE} names no folder with the package")
def test_the_npm_client_drives_a_session(tmp_path: Path, shop: Repo) -> None:
    turns = [
        {"calls": [call("shell", command="git push origin main")]},
        {"text": "Pushed."},
        {"calls": [call("shell", command="sleep 60")]},
    ]
    environment = Editor(tmp_path / "home").environment
    program = Path(__file__).with_name("npm_client.mjs")
    command = [*PATCHWRIGHT, "acp", "--model", script(tmp_path, turns)]
    done = subprocess.run(
        ["node", program, SDK, shop.root, *command],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["version"] == 1
    assert seen["stops"] == ["end_turn", "cancelled"]
    assert seen["asked"] == ["shell: git push origin main"]
    assert {"user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update"} <= set(
        seen["replayed"]
    )
    assert (seen["listed"], seen["left"], seen["status"]) == (1, 0, 0)
