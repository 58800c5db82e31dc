"""Clients that break the protocol, flood, or go away: one line for each problem, and nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.session.log import read_events
from tests.cli.protocols.acp.editor import Editor, Repo, call, script
from tests.support.cli import PATCHWRIGHT

pytestmark = pytest.mark.slow

INITIALIZE = {"id": 0, "method": "initialize", "params": {"protocolVersion": 7, "clientCapabilities": {}}}


class RawClient:
    """An agent's standard streams, as bytes."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home = home
        environment = Editor(home).environment
        self.errors = (home / "errors").open("wb")
        self.process = subprocess.Popen(
            [*PATCHWRIGHT, "acp", *options],
            env=environment,
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout

    def write(self, line: bytes) -> None:
        self.input.write(line + b"\n")
        self.input.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read(self) -> dict[str, Any]:
        return dict(json.loads(self.output.readline()))

    def read_answer(self, number: object) -> dict[str, Any]:
        while (message := self.read()).get("id") != number or "method" in message:
            pass
        return message

    def call(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        self.send(id=number, method=method, params=params)
        return self.read_answer(number)

    def close(self) -> list[str]:
        """Close the connection; return the lines of standard error."""
        self.input.close()
        self.output.read()
        self.output.close()
        assert self.process.wait(60) == 0
        self.errors.close()
        return (self.home / "errors").read_text("utf-8").splitlines()


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[RawClient]:
    model = script(tmp_path, [{"text": "hello"}, {"text": "again"}], "raw.json")
    client = RawClient(tmp_path / "home", "--model", model)
    yield client
    client.process.kill()
    client.process.wait()
    for each in (client.input, client.output, client.errors):
        each.close()


def test_what_is_no_message_is_answered_and_passed_over(raw: RawClient, shop: Repo) -> None:
    raw.send(id=1, method="session/new", params={"cwd": str(shop.root), "mcpServers": []})
    assert raw.read()["error"]["message"] == "the first request of a connection is initialize"
    raw.send(**INITIALIZE)
    assert raw.read()["result"]["protocolVersion"] == 1

    bad: list[tuple[bytes, int, object]] = [
        (b"hello {", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b'[{"jsonrpc": "2.0"}]', -32600, None),
        (b'"text"', -32600, None),
        (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":{"a":1},"method":"initialize"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":6,"method":["a"]}', -32600, 6),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":3}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":8,"method":"no/such"}', -32601, 8),
        (b'{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":3}}', -32602, "n"),
        (
            b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"shop","mcpServers":[]}}',
            -32602,
            9,
        ),
        (
            b'{"jsonrpc":"2.0","id":10,"method":"session/new","params":{"cwd":"/no","mcpServers":[]}}',
            -32602,
            10,
        ),
        (
            b'{"jsonrpc":"2.0","id":11,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}',
            -32002,
            11,
        ),
        (
            b'{"jsonrpc":"2.0","id":12,"method":"session/prompt","params":{"_meta":{"session_id":1}}}',
            -32602,
            12,
        ),
    ]
    for line, code, number in bad:
        raw.write(line)
        answer = raw.read()
        assert (answer["error"]["code"], answer["id"]) == (code, number), line[:80]
        assert "\n" not in answer["error"]["message"]
    raw.write(b'{"jsonrpc":"2.0","id":99,"result":{}}')  # an answer to nothing
    raw.write(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"x"}}')
    raw.write(b'{"jsonrpc":"2.0","method":"no/such"}')
    raw.write(b'{"jsonrpc":"2.0","method":"$/unknown"}')

    # What any part of the program prints goes to standard error: it would break the reading of messages.
    descriptors = Path(f"/proc/{raw.process.pid}/fd")
    if descriptors.exists():
        assert (descriptors / "1").readlink() == (descriptors / "2").readlink()

    session = raw.call(20, "session/new", cwd=str(shop.root), mcpServers=[])["result"]["sessionId"]
    text = {"type": "text", "text": "hi \ud800"}
    answer = raw.call(21, "session/prompt", sessionId=session, prompt=[text])
    assert answer["result"]["stopReason"] == "end_turn"
    errors = raw.close()
    assert not any("Traceback" in each for each in errors)
    assert all(each.startswith("patchwright: acp: ") for each in errors)


def test_a_flood_is_answered_and_a_hundred_megabytes_are_one_error(raw: RawClient, shop: Repo) -> None:
    raw.send(**INITIALIZE)
    raw.read()
    for number in range(3_000):
        raw.input.write(b'{"jsonrpc":"2.0","id":%d,"method":"no/such"}\n' % number)
    raw.input.flush()
    assert sorted(raw.read()["id"] for _ in range(3_000)) == list(range(3_000))

    raw.input.write(b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"')
    for _ in range(100):
        raw.input.write(b"x" * 1_000_000)
    raw.write(b'"}}')
    answer = raw.read()
    assert answer["error"] == {"code": -32700, "message": "a message of 100 MB; at most 67 MB are read"}
    assert "result" in raw.call(2, "session/new", cwd=str(shop.root), mcpServers=[])
    status = Path(f"/proc/{raw.process.pid}/status")
    if status.exists():
        [peak] = [each.split()[1] for each in status.read_text().splitlines() if each.startswith("VmHWM")]
        assert int(peak) < 400_000  # kB
    assert len(raw.close()) == 1


@pytest.mark.parametrize("way", ["is killed", "ends the agent"])
def test_a_client_that_goes_away_ends_its_turns_with_their_logs(tmp_path: Path, shop: Repo, way: str) -> None:
    turns = [{"calls": [call("write", path="new.txt", content="kept\n"), call("shell", command="sleep 61")]}]
    client = RawClient(tmp_path / "home", "--model", script(tmp_path, turns))
    client.send(**INITIALIZE)
    client.read()
    session = client.call(1, "session/new", cwd=str(shop.root), mcpServers=[])["result"]["sessionId"]
    prompt = [{"type": "text", "text": "go"}]
    client.send(id=2, method="session/prompt", params={"sessionId": session, "prompt": prompt})
    begun = 0
    while begun < 2:
        begun += client.read().get("params", {}).get("update", {}).get("status") == "in_progress"
    if way == "ends the agent":
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(60) == 0
        client.close()
    else:  # both pipes break at once
        client.output.close()
        client.input.close()
        assert client.process.wait(60) == 0
        client.errors.close()
        assert (tmp_path / "home" / "errors").read_text() == ""
    [folder] = (tmp_path / "home").glob(f"patchwright/**/sessions/{session}")
    events = list(read_events(folder))
    assert (events[-1].kind, events[-1].outcome) == ("end", "interrupted")  # type: ignore[attr-defined]
    assert shop.read("new.txt") == "kept\n"
