"""Facts about one model on one server, and the file that remembers them between processes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.lazy_dataclass import dataclass

KEPT = 7 * 24 * 3600
"""Seconds for which a fact counts: models and settings of a server change."""

NO_FILLS = "none"
"""Remembered of a server that fills no gaps."""

MOST = 200
"""Remembered models; the oldest are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What is known of a model on a server; each source tells where a fact comes from, "" where it is not known.

    program: of the server ("llama.cpp", "ollama", "vllm", "lmstudio"), "" if it does not show
    window: tokens of a request and its answer, 0 if not known
    tools: whether the endpoint takes tools; None if not known
    format: of its calls that the model got right (`agent.model.call_format`), "" if not known
    reads, writes: tokens a second, as measured; 0 if not known
    fills: form in which the server fills gaps (`agent.model.infill`), `NO_FILLS` if it does not, "" if not known
    learned: seconds since the epoch
    """

    program: str = ""
    window: int = 0
    window_source: str = ""
    tools: bool | None = None
    tools_source: str = ""
    format: str = ""
    reads: float = 0.0
    writes: float = 0.0
    fills: str = ""
    learned: float = 0.0

    def update(self, newer: ServerFacts) -> ServerFacts:
        """Return these facts with those that are known in `newer`."""
        found = replace(self, program=newer.program or self.program, learned=newer.learned)
        if newer.window:
            found = replace(found, window=newer.window, window_source=newer.window_source)
        if newer.format:
            found = replace(found, format=newer.format)
        if newer.writes:
            found = replace(found, reads=newer.reads, writes=newer.writes)
        if newer.fills:
            found = replace(found, fills=newer.fills)
        if newer.tools is not None:
            found = replace(found, tools=newer.tools, tools_source=newer.tools_source)
        return found


def takes_schema(program: str) -> bool:
    """Return whether a server of this program makes a reply fit a JSON schema (`response_format`)."""
    return program in ("llama.cpp", "ollama", "vllm", "lmstudio")


class ServerMemory:
    """Facts by endpoint and model, in one JSON file of the cache folder. A damaged file counts as empty."""

    def __init__(self, cache: Path) -> None:
        self.path = cache / "servers.json"

    def find(self, base: str, model: str) -> ServerFacts | None:
        """Return the facts of a model at an address, None if there are none or they are too old."""
        entry = self._read().get(_build_key(base, model))
        facts = _parse_facts(entry) if isinstance(entry, dict) else None
        if facts is None or not 0 <= time.time() - facts.learned <= KEPT:
            return None
        return facts

    def remember(self, base: str, model: str, facts: ServerFacts) -> None:
        """Merge the facts into those of the model. A disk that cannot be written is no error: it is asked again."""
        entries = self._read()
        key = _build_key(base, model)
        known = self.find(base, model)
        facts = replace(facts, learned=time.time())
        entries.pop(key, None)
        entries[key] = asdict(known.update(facts) if known else facts)
        kept = dict(list(entries.items())[-MOST:])
        try:
            create_private_folder(self.path.parent)
            write_private_file(self.path, json.dumps(kept, indent=1).encode())
        except OSError:
            return

    def _read(self) -> dict[str, Any]:
        try:
            entries = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):  # none yet, or damaged: learned again
            return {}
        return entries if isinstance(entries, dict) else {}


def _build_key(base: str, model: str) -> str:
    return f"{base.rstrip('/')} {model}"


def _parse_facts(entry: Mapping[str, Any]) -> ServerFacts | None:
    kinds: dict[str, Any] = {"window": int, "tools": bool | None}
    kinds |= dict.fromkeys(("learned", "reads", "writes"), int | float)
    kinds |= dict.fromkeys(("program", "window_source", "tools_source", "format", "fills"), str)
    if set(entry) - set(kinds) or not all(isinstance(value, kinds[name]) for name, value in entry.items()):
        return None  # of another version, or damaged
    return ServerFacts(**entry)
