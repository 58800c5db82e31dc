from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.asking import ask, user
from tests.support.formats import chat_at
from tests.support.loopback import Loopback, Trouble

PROGRAM = Path(__file__).with_name("loopback.py")


@pytest.mark.slow
def test_it_runs_as_a_program_and_logs_when_each_request_came_and_was_answered(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text('[{"text": "from the program"}]')
    arguments = ["--script", str(script), "--log", str(log)]
    trouble = ["--trouble", '{"status": 503, "retry_after": "0"}']
    command = [sys.executable, str(PROGRAM), *arguments, *trouble]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            model = chat_at(f"http://127.0.0.1:{int(server.stdout.readline())}/v1")
            assert ask(model, [user("hi")]).text == "from the program"
            # the client has its answer before the server has written its line
            deadline = time.monotonic() + 5
            while len(log.read_text().splitlines()) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            server.terminate()
    first, second = (json.loads(line) for line in log.read_text().splitlines())
    assert first["arrived"] <= first["answered"] <= second["arrived"] <= second["answered"]
    assert second["bytes"] > 50


def test_an_expectation_of_the_script_that_fails_reaches_the_client() -> None:
    with Loopback([{"expect": ["magic"]}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        body = json.dumps({"messages": [{"role": "user", "content": "hi"}]})
        connection.request("POST", "/v1/chat/completions", body)
        answer = connection.getresponse()
        assert (answer.status, b"magic" in answer.read()) == (400, True)
        connection.close()


def test_the_connection_is_kept_and_sends_without_delay() -> None:
    with Loopback([{"text": "a b c", "repeat": 2}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        for _ in range(2):
            connection.request("POST", "/v1/chat/completions", '{"stream": true, "messages": []}')
            answer = connection.getresponse()
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            assert answer.read().endswith(b"data: [DONE]\n\n")
        connection.close()
        assert len({request.connection for request in server.requests}) == 1
        assert server.requests[0].answered <= server.requests[1].arrived


def test_the_end_of_the_server_closes_its_connections() -> None:
    with Loopback() as server:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 15\r\n\r\n")
        connection.sendall(b'{"messages":[]}')
        received = b""
        while b'"ok"' not in received:
            received += connection.recv(65536) or pytest.fail("closed before its answer")
    with connection, suppress(ConnectionResetError):  # as good an end
        while connection.recv(65536):
            pass


def test_a_trouble_spoils_one_request_and_uses_up_no_turn() -> None:
    with Loopback([{"text": "first"}], troubles=[Trouble(status=500, retry_after="0")]) as server:
        model = chat_at(server.url)
        assert ask(model, [user("hi")]).text == "first"
        asyncio.run(model.close())
        assert [request.body["messages"][-1]["content"] for request in server.requests] == ["hi", "hi"]
