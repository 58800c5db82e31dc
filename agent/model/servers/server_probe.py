"""Questions to a model server about its window and tools, in the forms of the common programs.

All begin with `GET /models` of the OpenAI API, which names the program or the window; only a server that
answered it is asked in its own form: llama.cpp `/props`, Ollama `/api/show` and `/api/ps`, LM Studio
`/api/v0/models`. vLLM, SGLang, OpenRouter and others tell the window in the list itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.model.http.json_request import request_json
from agent.model.servers.server_facts import ServerFacts
from sandbox.lazy_pattern import compile_lazily

PATIENCE = 1.0
"""Seconds of silence in one question: a server that is slower is taken as it is."""

MOST_SECONDS = 3.0
"""For one answer: a server may send it byte by byte."""

OLLAMA_WINDOW = 4096
"""Tokens that Ollama gives a model unless its `num_ctx` or OLLAMA_CONTEXT_LENGTH says otherwise; it cuts silently."""

LEAST_WINDOW = 256
_LISTED = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Names under which lists of models tell the window (vLLM and SGLang; OpenRouter and Together; Groq; Mistral)."""

_NUM_CTX = compile_lazily(r"^\s*num_ctx\s+([0-9]+)", re.MULTILINE)


async def probe_server(base: str, model: str, key: str = "") -> ServerFacts | None:
    """Return what the server at `base` says about `model`; None if it lists no models. Raises nothing."""
    return await asyncio.to_thread(_Probe(base.rstrip("/"), model, key).ask)


class _Probe:
    """The questions to one server. root: its address without the API's version"""

    def __init__(self, base: str, model: str, key: str) -> None:
        self._base = base
        self._root = base.removesuffix("/v1")
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def ask(self) -> ServerFacts | None:
        listed = self._request(f"{self._base}/models")
        models = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(models, list) or not models:
            return None
        entry = _find_model(models, self._model)
        owner = str(entry.get("owned_by", ""))
        if owner == "llamacpp":
            return self._ask_llamacpp()
        if owner == "library":
            return self._ask_ollama()
        if owner == "organization_owner":
            return self._ask_lmstudio()
        window = next((n for name in _LISTED if (n := _read_count(entry.get(name)))), 0)
        program = "vllm" if owner == "vllm" else ""
        return ServerFacts(program=program, window=window, window_source="/models" if window else "")

    def _ask_llamacpp(self) -> ServerFacts:
        props = self._request(f"{self._root}/props")
        window = _read_count(_dig(props, "default_generation_settings", "n_ctx")) or _read_count(
            _dig(props, "n_ctx")
        )
        return ServerFacts(program="llama.cpp", window=window, window_source="/props" if window else "")

    def _ask_ollama(self) -> ServerFacts:
        shown = self._request(f"{self._root}/api/show", {"model": self._model})
        told = _dig(shown, "capabilities")
        tools = "tools" in told if isinstance(told, list) else None
        window, source = self._find_ollama_window(shown)
        return ServerFacts(
            program="ollama",
            window=window,
            window_source=source,
            tools=tools,
            tools_source="" if tools is None else "/api/show",
        )

    def _find_ollama_window(self, shown: object) -> tuple[int, str]:
        running = _dig(self._request(f"{self._root}/api/ps"), "models")
        for each in running if isinstance(running, list) else []:
            names = (_dig(each, "name"), _dig(each, "model"))
            loaded = self._model in names or f"{self._model}:latest" in names
            if loaded and (window := _read_count(_dig(each, "context_length"))):
                return window, "/api/ps"
        set_ = _NUM_CTX.search(str(_dig(shown, "parameters") or ""))
        if set_ and (window := _read_count(int(set_[1]))):
            return window, "num_ctx of the model"
        info = _dig(shown, "model_info")
        trained = [
            _read_count(value)
            for name, value in (info.items() if isinstance(info, dict) else ())
            if name.endswith(".context_length")
        ]
        return min([OLLAMA_WINDOW, *filter(None, trained)]), "Ollama's default"

    def _ask_lmstudio(self) -> ServerFacts:
        models = _dig(self._request(f"{self._root}/api/v0/models"), "data")
        entry = _find_model(models, self._model) if isinstance(models, list) else {}
        loaded = _read_count(entry.get("loaded_context_length"))
        window = loaded or _read_count(entry.get("max_context_length"))
        return ServerFacts(
            program="lmstudio", window=window, window_source="/api/v0/models" if window else ""
        )

    def _request(self, url: str, body: Mapping[str, str] | None = None) -> object:
        """Return the JSON of an answer, None without one."""
        status, found = request_json(url, self._headers, body, silence=PATIENCE, seconds=MOST_SECONDS)
        return found if status == 200 else None


def _find_model(models: Sequence[object], model: str) -> Mapping[str, Any]:
    """Return the entry of a model; the only one where the server lists one under another name."""
    entries = [each for each in models if isinstance(each, dict)]
    for entry in entries:
        if entry.get("id") in (model, f"{model}:latest"):
            return entry
    return entries[0] if len(entries) == 1 else {"owned_by": _find_common_owner(entries)}


def _find_common_owner(entries: Sequence[Mapping[str, Any]]) -> str:
    owners = {str(each.get("owned_by", "")) for each in entries}
    return owners.pop() if len(owners) == 1 else ""


def _dig(value: object, *names: str) -> object:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _read_count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= LEAST_WINDOW else 0
