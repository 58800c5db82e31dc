"""A local model that fills the gap between a prefix and a suffix, as coding models are trained to.

The form is `/infill` of llama.cpp's server (tools/server/README.md there). Only servers on this machine are asked: what
is sent are the project's files, unredacted.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from agent.model.http.http_route import is_loopback, resolve_route
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

FILLER = "filler of gaps"
"""Fact of a workspace: the `Filler` that a repair may ask, where there is one."""

MOST_TOKENS = 64
"""Of one filling: a line of code is seldom longer."""

PATIENCE = 30.0
"""Seconds for one filling, of which a processor without a graphics card takes one to five."""

LONGEST_PREFIX, LONGEST_SUFFIX, LONGEST_EXTRA = 6_000, 2_000, 3_000
"""Characters around the gap, and of another file, that are sent."""

_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """One line for a gap. score: mean log-probability of its tokens, 0 if the server does not tell it"""

    text: str
    score: float


class Filler:
    """The model behind one server. works: whether it fills gaps; None before it was asked"""

    def __init__(self, base: str, key: str = "") -> None:
        self._url = f"{base.rstrip('/').removesuffix('/v1')}/infill"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.works: bool | None = None

    async def fill(
        self,
        prefix: str,
        suffix: str,
        *,
        beside: Sequence[tuple[str, str]] = (),
        temperature: float = 0.0,
        seed: int = 0,
    ) -> Filling | None:
        """Return what the model writes in the gap up to the line's end; None if it writes nothing, or cannot.

        beside: names and texts of other files that it should know
        """
        if self.works is False:
            return None
        body = {
            "input_prefix": prefix[-LONGEST_PREFIX:],
            "input_suffix": suffix[:LONGEST_SUFFIX],
            "input_extra": [{"filename": name, "text": text[:LONGEST_EXTRA]} for name, text in beside],
            "n_predict": MOST_TOKENS,
            "temperature": temperature,
            "seed": seed,
            "stop": ["\n"],
            "n_probs": 1,
            "cache_prompt": True,
            "stream": False,
        }
        answer = await asyncio.to_thread(self._post, body)
        if answer is None or not isinstance(answer.get("content"), str):
            self.works = bool(self.works)
            return None
        self.works = True
        text = str(answer["content"]).rstrip()
        return Filling(text=text, score=_compute_score(answer)) if text.strip() else None

    async def probe(self) -> bool:
        """Return whether the server fills gaps; it is asked once."""
        if self.works is None:
            await self.fill("def add(a, b):\n    return ", "\n")
        return bool(self.works)

    def _post(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        try:
            route = resolve_route(self._url, PATIENCE, PATIENCE)
            if route.proxy is not None:  # another machine would read along
                return None
            connection = route.create_connection()
        except (UserError, OSError):  # said by the model's own requests
            return None
        headers = {"Content-Type": "application/json", "Connection": "close", **self._headers}
        try:
            connection.request("POST", route.target, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            content = answer.read(_LARGEST + 1)
            found = json.loads(content) if answer.status == 200 and len(content) <= _LARGEST else None
        except (OSError, http.client.HTTPException, ValueError, RecursionError):
            return None
        finally:
            connection.close()
        return found if isinstance(found, dict) else None


async def has_filler(at: Workspace, model: object) -> bool:
    """Return whether the model fills gaps, and let the repairs of the workspace ask it; found out once a session."""
    if FILLER not in at.facts:
        found = find_filler(model)
        at.facts[FILLER] = found if found is not None and await found.probe() else None
    return at.facts[FILLER] is not None


def find_filler(model: object) -> Filler | None:
    """Return the filler behind a session's model; None if its server is not on this machine."""
    while (inner := getattr(model, "inner", None)) is not None:
        model = inner
    address = getattr(model, "address", None)
    base = str(getattr(address, "base", ""))
    host = urlsplit(base).hostname if base else None
    if not host or not is_loopback(host):
        return None
    return Filler(base, str(getattr(address, "key", "")))


def _compute_score(answer: Mapping[str, Any]) -> float:
    """Return the mean log-probability of the tokens that the server reports."""
    listed = answer.get("completion_probabilities")
    found = (
        [each.get("logprob") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    values = [float(each) for each in found if isinstance(each, int | float)]
    return sum(values) / len(values) if values else 0.0
