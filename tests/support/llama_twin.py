#!/usr/bin/env python3
"""A stand-in for llama.cpp's server program, with its options, addresses, forms and errors, and no weights.

It answers /infill by a table beside the weights (`NAME.fills.json`: the end of the text before a gap, and what is
written there), so that a test says what the model knows.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ARGUMENTS = dict(zip(sys.argv[1:], sys.argv[2:], strict=False))
WEIGHTS = Path(ARGUMENTS["-m"])
KEY = os.environ.get("LLAMA_API_KEY", "")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif not self.is_allowed():
            self.answer(
                401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}
            )
        elif self.path == "/v1/models":
            self.answer(
                200, {"object": "list", "data": [{"id": ARGUMENTS["--alias"], "owned_by": "llamacpp"}]}
            )
        elif self.path == "/props":
            self.answer(200, {"default_generation_settings": {"n_ctx": int(ARGUMENTS["-c"])}})
        else:
            self.answer(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.is_allowed():
            self.answer(
                401, {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}}
            )
        elif self.path == "/completion":
            self.answer(
                200, {"content": "x", "timings": {"prompt_per_second": 118.96, "predicted_per_second": 11.26}}
            )
        elif self.path == "/infill":
            self.answer(200, fill(body))
        elif self.path == "/v1/chat/completions":
            self.stream(body)
        else:
            self.answer(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})

    def is_allowed(self) -> bool:
        return not KEY or self.headers.get("Authorization") == f"Bearer {KEY}"

    def answer(self, status: int, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, body: dict) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        choice = {"index": 0, "delta": {"role": "assistant", "content": "ready"}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        for each in (choice, end):
            self.wfile.write(b"data: " + json.dumps({"choices": [each]}).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, form: str, *arguments: object) -> None:
        print(form % arguments, flush=True)


def fill(body: dict) -> dict:
    table = json.loads(WEIGHTS.with_suffix(".fills.json").read_text())
    before = body["input_prefix"].rpartition("\n")[2].strip()
    found = next((text for after, text in table.items() if before.endswith(after)), "pass")
    tokens = [{"token": found, "logprob": -0.5}]
    return {
        "content": found,
        "stop_type": "word",
        "completion_probabilities": tokens if body.get("n_probs") else [],
    }


def main() -> None:
    if "FAILS" in WEIGHTS.read_bytes().decode("latin-1"):
        print("error: unknown model architecture: 'toy'", flush=True)
        sys.exit(1)
    print("serving", WEIGHTS, flush=True)
    ThreadingHTTPServer(("127.0.0.1", int(ARGUMENTS["--port"])), Handler).serve_forever()


if __name__ == "__main__":
    main()
