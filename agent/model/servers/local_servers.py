"""Model servers on this machine, found on the usual ports of the common programs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from agent.model.providers.endpoints import ENDPOINTS, find_base
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

USUAL_PORTS = (("ollama", 11434), ("lmstudio", 1234), ("vllm", 8000), ("llamacpp", 8080))
"""Programs, by the name of their provider, and their default ports."""

PROGRAMS: Mapping[str, str] = {
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "vllm": "vLLM",
    "llamacpp": "llama.cpp",
}
"""Names of the programs, by the name of their provider."""

PATIENCE = 0.2
"""Seconds to connect; a server on this machine that takes longer is not found."""

_READING = 5 * PATIENCE
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A server that lists models at /v1/models. names: as its provider's models are named here"""

    provider: str
    port: int
    models: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.provider}/{each}" for each in self.models)


def list_ports(env: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the usual ports, with that of a variable like OLLAMA_HOST in place of its program's, if it is of this
    machine."""
    found = []
    for provider, usual in USUAL_PORTS:
        named = any(env.get(each, "").strip() for each in ENDPOINTS[provider].base_variables)
        port = _read_local_port(find_base(ENDPOINTS[provider], env)) if named else 0
        found.append((provider, port or usual))
    return found


def _read_local_port(base: str) -> int:
    """Return the port of an address on this machine, 0 for any other."""
    try:
        parts = urlsplit(base)
        return (parts.port or 0) if parts.hostname in ("localhost", "127.0.0.1", "::1") else 0
    except ValueError:  # not an address: said when it is used
        return 0


async def find_local_servers(ports: Sequence[tuple[str, int]]) -> list[LocalServer]:
    """Return the servers that answer with at least one model, in the order of `ports`; all are asked at once."""
    answers = await asyncio.gather(*(list_models_on(port) for _, port in ports))
    return [
        LocalServer(provider=provider, port=port, models=tuple(models))
        for (provider, port), models in zip(ports, answers, strict=True)
        if models
    ]


async def list_models_on(port: int) -> list[str]:
    """Return the ids that a local server lists at /v1/models; none without a valid answer."""
    request = f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n"
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.timeout(_READING):
                writer.write(request.encode())
                answer = await reader.read(_LARGEST)
                while len(answer) < _LARGEST and (more := await reader.read(1 << 16)):
                    answer += more
        finally:
            writer.close()
        listed = parse_json(answer.partition(b"\r\n\r\n")[2])
        return [str(model["id"]) for model in listed["data"]]
    except (OSError, TimeoutError, ValueError, KeyError, TypeError):  # no server, or not a model server
        return []
