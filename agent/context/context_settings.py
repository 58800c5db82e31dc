"""Settings of the context: how long histories are kept within bounds (docs/context.md)."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Outputs = Literal["whole", "once", "outlined"]
"""Forms in which outputs enter a request.

whole: unchanged; once: lines that the request already contains become references; outlined: in addition, file
views are sent without long docstrings and without bodies far from the requested lines.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """How long histories are kept within bounds (docs/context.md).

    summary: who writes the summary of the past: code, or the fast model, checked by code
    outputs: how those of tools enter a request: whole, once (repeated text becomes a reference), or outlined
    (besides, long files without seldom needed parts)
    recent: tokens of the newest steps that stay whole; batch: tokens of steps that gather before they are
    folded
    """

    __pydantic_config__ = FORBID_UNKNOWN

    summary: Literal["code", "model"] = "code"
    outputs: Outputs = "outlined"
    # Both limits hold whatever the window: every further step pays for all of them again, and answers get worse with
    # length, so a large window is no reason to fill it. Measured on real runs: see docs/context.md.
    recent: int = 2_500
    batch: int = 8_000


DEFAULT_CONTEXT = ContextSettings()
