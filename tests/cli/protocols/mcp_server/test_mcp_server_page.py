"""The examples of docs/mcp-server.md: configurations start servers that answer, the client runs as it is written."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx2
import pytest

from cli.protocols.mcp_server.call_table import ANSWER_SECONDS, MOST_CALLS
from cli.protocols.mcp_server.http_connection import MOST_CONNECTIONS
from cli.protocols.mcp_server.http_guard import BODY_SECONDS, MOST_BYTES
from cli.protocols.mcp_server.http_serving import MOST_SESSIONS
from cli.protocols.mcp_server.offered.tool_table import READING, TOOLS
from tests.cli.protocols.mcp_server.serving import REVISIONS
from tests.support.cli import CHECKOUT, PATCHWRIGHT, environment
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

PAGE = (CHECKOUT / "docs/mcp-server.md").read_text("utf-8")

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def list_commands() -> list[list[str]]:
    """The command lines of all configurations."""
    read = [json.loads(each) for each in read_blocks("json")]
    servers = [each.get("mcpServers", each.get("servers"))["patchwright"] for each in read]
    servers += [tomllib.loads(each)["mcp_servers"]["patchwright"] for each in read_blocks("toml")]
    return [[each["command"], *each["args"]] for each in servers if "command" in each]


def test_the_page_names_what_there_is() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Rights")[0], re.M)
    assert set(rows) == {each.name for each in TOOLS}
    assert {each.name for each in READING} == {"map", "symbols", "localize", "review"}
    assert f"revisions {REVISIONS[0]} to\n{REVISIONS[-1]}" in PAGE
    assert (ANSWER_SECONDS, BODY_SECONDS, MOST_BYTES) == (600, 30, 4 << 20)
    assert (
        f"{MOST_CONNECTIONS} connections, {MOST_SESSIONS} sessions of clients and {MOST_CALLS} calls" in PAGE
    )


@pytest.mark.slow
def test_the_configurations_start_servers(shop: Repo) -> None:
    commands = list_commands()
    assert len(commands) == 3
    for program, *words in commands:
        assert program == "patchwright"
        words = [each.replace("${workspaceFolder}", str(shop.root)) for each in words]
        done = subprocess.run(
            [*PATCHWRIGHT, *words],
            cwd=shop.root,
            env=environment(),
            input=json.dumps(HELLO) + "\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "patchwright"


@pytest.mark.slow
def test_the_http_server_starts_as_it_is_written(shop: Repo, tmp_path: Path) -> None:
    """But for the port, which may be taken."""
    [line] = read_blocks("sh")
    [configuration] = [each for each in map(json.loads, read_blocks("json")) if '"url"' in json.dumps(each)]
    server = configuration["mcpServers"]["patchwright"]
    token_file = tmp_path / "token"
    words = shlex.split(line)
    assert words[:3] == ["patchwright", "mcp", "serve"]
    assert server["url"] == f"http://127.0.0.1:{words[words.index('--port') + 1]}/mcp"
    words[words.index("--port") + 1] = "0"
    words[words.index("--token-file") + 1] = str(token_file)
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*PATCHWRIGHT, *words[1:]],
            cwd=shop.root,
            env=environment(),
            stderr=errors,
            stdout=subprocess.PIPE,
        )
    try:
        started = time.monotonic()
        while not (found := re.search(r"http://\S+", (tmp_path / "errors").read_text("utf-8"))):
            assert time.monotonic() - started < 60
            time.sleep(0.02)
        token = token_file.read_text("utf-8").strip()
        assert token_file.stat().st_mode & 0o777 == 0o600
        headers = {
            name: value.replace("${PATCHWRIGHT_MCP_TOKEN}", token)
            for name, value in server["headers"].items()
        }
        accepted = {"Accept": "application/json, text/event-stream"}
        answer = httpx2.post(found[0], json=HELLO, headers={**headers, **accepted}, timeout=30)
        assert answer.status_code == 200
        assert "patchwright" in answer.text
        assert httpx2.post(found[0], json=HELLO, headers=accepted, timeout=30).status_code == 401
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")
    assert token not in (tmp_path / "errors").read_text("utf-8")


@pytest.mark.slow
def test_the_client_runs_as_it_is_written(shop: Repo, tmp_path: Path) -> None:
    needs_confinement(shop.root)
    [program] = read_blocks("python")
    (tmp_path / "client.py").write_text(program, "utf-8")
    # The SDK gives a server few variables.
    kept = [
        f"{name}={value}" for name, value in environment().items() if name.startswith(("PYTHON", "PATCH"))
    ]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "client.py"), "env", *kept, *PATCHWRIGHT],
        cwd=shop.root,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "cart.py:"
    assert any(each.startswith("[session ") for each in lines)
    assert lines[-1] == "done cart.py"
    assert "prices[1:]" not in shop.read("cart.py")
