"""Settings of the checks at the end of a turn."""

from __future__ import annotations

from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Checker = Literal["off", "code", "model"]
"""Who checks: nobody, code alone, or a read-only child session as well, whose answers are opinions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySettings:
    """Checks at the end of a turn that changed files.

    baseline: a test that failed before the turn in the same way is no failure of the turn
    lint: the project's linters must not complain about changed lines
    reproduce: a prompt that holds a bug report's code is reproduced first, and the script must pass at the end
    requirements: of the prompt, checked at the end of the turn
    review: a reviewer reads the change of each turn; its opinion is shown and changes no outcome
    judge: attempts that all evidence leaves equal are compared by a judge
    keep_reproduction: such a script becomes a test of the project, committed with the fix
    rubric: a child session writes a rubric before the work, another one scores the change; an opinion
    spec_check: contradictions and loopholes of the task are told before the work
    """

    __pydantic_config__ = FORBID_UNKNOWN

    baseline: bool = True
    lint: bool = False
    reproduce: bool = False
    keep_reproduction: bool = False
    review: bool = False
    judge: bool = False
    requirements: Checker = "off"
    rubric: bool = False
    spec_check: Checker = "off"

    @property
    def has_optional_checks(self) -> bool:
        """Whether one of the checks is wanted that `agent/verify/optional_checks.py` attaches."""
        return self.rubric or (self.requirements, self.spec_check) != ("off", "off")
