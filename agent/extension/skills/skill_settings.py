"""Settings of skills."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSettings:
    """What models are told of skills.

    budget: characters of the names and descriptions in each request (about a quarter as many tokens); 0 tells none
    """

    __pydantic_config__ = FORBID_UNKNOWN

    budget: int = 8_000
