"""Loopback twins of the common local servers tell their window; anything else is taken as it is."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent.model.model_factory import resolve_model
from agent.model.protocol import prepare_model
from agent.model.providers.model_catalog import DEFAULT_WINDOW
from agent.model.servers.server_facts import KEPT, ServerFacts, ServerMemory
from agent.model.servers.server_probe import probe_server


@contextmanager
def serve(pages: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Serve JSON pages by path; yield the API base and the list of requests."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.command} {self.path}")
            page = pages.get(self.path)
            content = page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *arguments: object) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
    finally:
        server.shutdown()
        server.server_close()


def listed(**entry: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "tiny", "object": "model", **entry}]}


LLAMACPP = {
    "/v1/models": listed(owned_by="llamacpp", meta={"n_ctx_train": 131_072}),
    "/props": {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1},
}
VLLM = {"/v1/models": listed(owned_by="vllm", max_model_len=32_768)}
OPENROUTER = {"/v1/models": listed(context_length=200_000)}
SHOW = {
    "parameters": 'stop "<|im_end|>"\nnum_ctx                        16384',
    "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
    "capabilities": ["completion", "tools"],
}
OLLAMA = {"/v1/models": listed(owned_by="library"), "/api/show": SHOW, "/api/ps": {"models": []}}
OLLAMA_LOADED = {**OLLAMA, "/api/ps": {"models": [{"name": "tiny:latest", "context_length": 8192}]}}
OLLAMA_DEFAULT = {**OLLAMA, "/api/show": {**SHOW, "parameters": "", "capabilities": ["completion"]}}
LMSTUDIO = {
    "/v1/models": listed(owned_by="organization_owner"),
    "/api/v0/models": {
        "data": [{"id": "tiny", "max_context_length": 131_072, "loaded_context_length": 4096}]
    },
}


@pytest.mark.parametrize(
    ("pages", "program", "window", "source", "tools"),
    [
        (LLAMACPP, "llama.cpp", 8192, "/props", None),
        (VLLM, "vllm", 32_768, "/models", None),
        (OPENROUTER, "", 200_000, "/models", None),
        (OLLAMA, "ollama", 16_384, "num_ctx of the model", True),
        (OLLAMA_LOADED, "ollama", 8192, "/api/ps", True),
        (OLLAMA_DEFAULT, "ollama", 4096, "Ollama's default", False),
        (LMSTUDIO, "lmstudio", 4096, "/api/v0/models", None),
        ({"/v1/models": listed()}, "", 0, "", None),
    ],
)
def test_each_server_tells_its_window(
    pages: Mapping[str, Any], program: str, window: int, source: str, tools: bool | None
) -> None:
    with serve(pages) as (base, _):
        facts = asyncio.run(probe_server(base, "tiny"))
    assert facts == ServerFacts(
        program=program,
        window=window,
        window_source=source,
        tools=tools,
        tools_source="" if tools is None else "/api/show",
    )


@pytest.mark.parametrize(
    "page",
    [None, b"not JSON", [], {"data": []}, {"data": [1]}, {"data": "x"}, {"data": [{"max_model_len": True}]}],
)
def test_a_server_that_lists_nothing_useful_is_asked_once(page: object) -> None:
    with serve({"/v1/models": page}) as (base, seen):
        facts = asyncio.run(probe_server(base, "tiny"))
    assert facts is None or facts.window == 0
    assert seen == ["GET /v1/models"]


def test_no_server_is_no_error() -> None:
    assert asyncio.run(probe_server("http://127.0.0.1:9/v1", "tiny")) is None
    assert asyncio.run(probe_server("nonsense", "tiny")) is None


def test_the_model_uses_and_remembers_what_its_server_says(tmp_path: Path) -> None:
    with serve(OLLAMA_DEFAULT) as (base, seen):
        model = resolve_model("tiny", base, {}, tmp_path)
        assert model.window == DEFAULT_WINDOW
        asyncio.run(prepare_model(model))
        asyncio.run(prepare_model(model))
        asyncio.run(model.close())
        assert seen.count("GET /v1/models") == 1
    assert model.window == 4096
    assert model.as_text is True  # type: ignore[attr-defined]
    later = resolve_model("tiny", base, {}, tmp_path)  # the server is gone: what it said still counts
    asyncio.run(prepare_model(later))
    asyncio.run(later.close())
    assert (later.window, later.as_text) == (4096, True)  # type: ignore[attr-defined]


def test_facts_are_merged_grow_old_and_survive_damage(tmp_path: Path) -> None:
    memory = ServerMemory(tmp_path)
    memory.remember("http://a/v1", "m", ServerFacts(window=8192, window_source="/props", program="llama.cpp"))
    memory.remember("http://a/v1/", "m", ServerFacts(tools=False, tools_source="a refusal"))
    found = memory.find("http://a/v1", "m")
    assert found is not None
    assert (found.window, found.tools, found.program) == (8192, False, "llama.cpp")
    assert memory.find("http://a/v1", "n") is None
    entries = json.loads(memory.path.read_text())
    entries["http://a/v1 m"]["learned"] -= KEPT + 60
    memory.path.write_text(json.dumps(entries))
    assert memory.find("http://a/v1", "m") is None
    for damaged in ("", "[]", '{"http://a/v1 m": {"window": "x"}}', '{"http://a/v1 m": {"new": 1}}'):
        memory.path.write_text(damaged)
        assert memory.find("http://a/v1", "m") is None
    memory.remember("http://a/v1", "m", ServerFacts(window=512))
    assert memory.find("http://a/v1", "m") is not None
