"""How long an ACP client waits: the start, a new session, and each prompt until its request reaches the model."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from _measure import COMMAND, milliseconds, repository, server, stamps

PROMPTS = 21
SESSIONS = 5

TARGET = "target: at most 40 ms from a prompt to its request, after the first prompt of a session"


class Client:
    """A client over the standard streams of an agent."""

    def __init__(self, url: str, env: dict[str, str], root: Path) -> None:
        argv = [COMMAND, "acp", "--model", "openai/test", "--api-base", url]
        self.process = subprocess.Popen(
            argv, env=env, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0

    def call(self, method: str, **params: Any) -> tuple[dict[str, Any], float]:
        """Send a request; return its result and the time when it was sent."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        line = json.dumps(message).encode() + b"\n"
        started = time.monotonic()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                return answer["result"], started

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def read_memory(process: int) -> float:
    """Return the largest resident size of a process in MB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(peak) / 1024


def main() -> None:
    first: list[float] = []
    later: list[float] = []
    turns: list[float] = []
    opened: list[float] = []
    with server() as (url, log), repository() as (root, env):
        begun = time.monotonic()
        client = Client(url, {**env, "OPENAI_API_KEY": "x"}, root)
        _, _ = client.call("initialize", protocolVersion=1, clientCapabilities={})
        start = time.monotonic() - begun
        for _ in range(SESSIONS):
            result, sent = client.call("session/new", cwd=str(root), mcpServers=[])
            opened.append(time.monotonic() - sent)
            for number in range(PROMPTS):
                text = [{"type": "text", "text": f"say hello, {number}"}]
                _, sent = client.call("session/prompt", sessionId=result["sessionId"], prompt=text)
                turns.append(time.monotonic() - sent)
                (later if number else first).append(stamps(log)[-1]["arrived"] - sent)
        memory = read_memory(client.process.pid)
        client.close()
    print(f"start to the answer to initialize   {1000 * start:7.1f} ms")
    print(f"session/new                         {milliseconds(opened)}")
    print(f"first prompt of a session           {milliseconds(first)} to its request")
    print(f"later prompts                       {milliseconds(later)} to their requests")
    print(f"whole turns                         {milliseconds(turns)}")
    print(
        f"memory after {SESSIONS} sessions: {memory:.0f} MB; 95% of later prompts within {quantile(later):.1f} ms"
    )
    print(TARGET)


def quantile(values: list[float]) -> float:
    """Return the time in ms within which 95 % of the values are."""
    return 1000 * statistics.quantiles(values, n=20)[-1]


if __name__ == "__main__":
    main()
