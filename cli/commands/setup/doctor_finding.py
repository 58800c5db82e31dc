"""One finding of `patchwright doctor`."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass

Health = Literal["good", "warn", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check. `bad`: the agent cannot work without it; hint: how to get it."""

    name: str
    verdict: Health
    detail: str
    hint: str = ""
