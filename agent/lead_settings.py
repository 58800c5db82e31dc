"""Settings of harness-led turns."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

LeadWhen = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadSettings:
    """When the harness leads a turn about failing tests, and what it does if the model gets nowhere.

    when: auto: after replies that lead nowhere, and at once of models below a billion parameters; always: from the
        first request on
    after: such replies in a row: idle, repeated or malformed
    rounds: proposals that the model is asked for
    fallback: whether a change of the offline engine that passes the tests is written in the end
    """

    __pydantic_config__ = FORBID_UNKNOWN

    when: LeadWhen = "auto"
    after: int = 3
    rounds: int = 6
    fallback: Literal["never", "ask", "always"] = "ask"
