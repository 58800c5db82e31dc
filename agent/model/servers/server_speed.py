"""Speed of a model server on this machine, measured by one short request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any

from agent.model.http.json_request import request_json
from agent.model.servers.server_facts import ServerFacts

MOST_SECONDS = 60.0
"""For the request: a server that loads a large model first takes that long, and is then measured without it."""

WRITTEN = 24
"""Tokens that are written: enough that the first one does not count."""

_PROMPT = "\n".join(
    f"def add_{number}(first, second):\n    return first + second + {number}\n" for number in range(12)
)
"""Some 200 tokens to read."""


async def measure_speed(base: str, model: str, key: str, program: str) -> ServerFacts:
    """Return the tokens a second that the server reads and writes; none where it does not tell. Raises nothing."""
    return await asyncio.to_thread(_measure, base.rstrip("/"), model, key, program)


def _measure(base: str, model: str, key: str, program: str) -> ServerFacts:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    root = base.removesuffix("/v1")
    prompt = f"# {monotonic()}\n{_PROMPT}"  # not one that it has in its cache
    if program == "llama.cpp":
        url, body = f"{root}/completion", {"prompt": prompt, "n_predict": WRITTEN, "ignore_eos": True}
        parse = _parse_llamacpp
    elif program == "ollama":
        url = f"{root}/api/generate"
        body = {
            "model": model,
            "prompt": prompt,
            "stream": False,
            "raw": True,
            "options": {"num_predict": WRITTEN},
        }
        parse = _parse_ollama
    else:
        return ServerFacts()
    status, answer = request_json(url, headers, body, silence=MOST_SECONDS, seconds=MOST_SECONDS, direct=True)
    reads, writes = parse(answer) if status == 200 and isinstance(answer, dict) else (0.0, 0.0)
    return ServerFacts(reads=reads, writes=writes)


def _parse_llamacpp(answer: Mapping[str, Any]) -> tuple[float, float]:
    timings = answer.get("timings")
    if not isinstance(timings, dict):
        return 0.0, 0.0
    return _read_rate(timings.get("prompt_per_second")), _read_rate(timings.get("predicted_per_second"))


def _parse_ollama(answer: Mapping[str, Any]) -> tuple[float, float]:
    """Return both speeds; Ollama tells counts, and nanoseconds."""
    rates = []
    for count, time in (("prompt_eval_count", "prompt_eval_duration"), ("eval_count", "eval_duration")):
        tokens, took = _read_rate(answer.get(count)), _read_rate(answer.get(time))
        rates.append(tokens / took * 1e9 if took else 0.0)
    return rates[0], rates[1]


def _read_rate(value: object) -> float:
    return round(float(value), 1) if isinstance(value, int | float) and 0 < value < 1e18 else 0.0
