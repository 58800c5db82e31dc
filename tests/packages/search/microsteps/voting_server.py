"""A real server of chat completions whose answers depend on the file in the request: voters with chosen faults."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, int, str], str]
"""Returns the answer to a request: path of its file, how often that was asked before, whole prompt."""

_PATH = re.compile(r"<file-to-change path='?\"?([^'\"> ]+)")


class VotingServer:
    """The server, as a context manager. asked: requests by file; "" is the one for a script"""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: Counter[str] = Counter()
        self.systems: set[str] = set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._create_handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> VotingServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def respond(self, body: dict[str, Any]) -> str:
        texts = [str(each["content"]) for each in body["messages"]]
        prompt = texts[-1]
        files = _PATH.findall(prompt)
        path = "" if "Some of the files:" in prompt else files[0]
        with self._lock:
            before = self.asked[path]
            self.asked[path] += 1
            self.systems.add(texts[0])
        return self.answer(path, before, prompt)

    def _create_handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: object) -> None:
                """Nothing on stderr."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                message = {"role": "assistant", "content": server.respond(body)}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                usage = {"prompt_tokens": 400, "completion_tokens": 30, "total_tokens": 430}
                answer = json.dumps(
                    {"id": "1", "model": "voter", "choices": [choice], "usage": usage}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        return Handler
