"""GGUF files without tensors, and a home whose `llama-server` is the twin."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent.model.gguf.own_server import end_server, list_servers
from agent.model.gguf.server_program import VARIABLE

TWIN = Path(__file__).with_name("llama_twin.py")

TOY: Mapping[str, Any] = {
    "general.architecture": "toy",
    "toy.block_count": 4,
    "toy.context_length": 32_768,
    "toy.embedding_length": 64,
    "toy.attention.head_count": 4,
    "toy.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["a", "b"],
}


def write_gguf(path: Path, values: Mapping[str, Any] = TOY, *, version: int = 3, rest: bytes = b"") -> Path:
    """Write a file with these key-value pairs, and `rest` where tensors would be."""
    content = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for key, value in values.items():
        content += _pack_text(key) + _pack_value(value)
    path.write_bytes(content + rest)
    return path


@contextmanager
def own_servers(home: Path) -> Iterator[dict[str, str]]:
    """Yield variables under which servers of model files are the twin; those that were started are ended."""
    home.mkdir(parents=True, exist_ok=True)
    program = Path(
        shutil.copy(TWIN, home / "llama-server")
    )  # not in this workspace, whose programs are not run
    env = {"PATCHWRIGHT_HOME": str(home), VARIABLE: str(program)}
    try:
        yield env
    finally:
        for each in list_servers(env):
            end_server(each)


def _pack_text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _pack_value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _pack_text(value)
    if isinstance(value, list):
        if value and isinstance(value[0], str):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_pack_text, value))
        return struct.pack("<IIQ", 9, 4, len(value)) + struct.pack(f"<{len(value)}I", *value)
    return struct.pack("<II", 4, value)
