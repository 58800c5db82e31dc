"""Settings of the checks at the end of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.settings_validation import FORBID_UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """Checks at the end of a turn that changed files.

    baseline: a test that failed before the turn in the same way is no failure of the turn
    lint: the project's linters must not complain about changed lines
    reproduce: a prompt that holds a bug report's code is reproduced first, and the script must pass at the end
    """

    __pydantic_config__ = FORBID_UNKNOWN

    baseline: bool = True
    lint: bool = False
    reproduce: bool = False
