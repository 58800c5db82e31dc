"""What a turn knows of the verifier that reproduces a reported bug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent.verify.verdict import Verdict, Verifier
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.core.registry import Tool
    from tools.core.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReproduction:
    """A reproduction as it is kept in a session. ref: of the artifact; file: reference of the script alone"""

    script: str
    python: str
    kind: str
    error_type: str
    message: str
    detail: str
    file: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a reproduction has to say. detail: for the log; text: for the model"""

    detail: str = ""
    text: str = ""


class Reproducer(Verifier, Protocol):
    """The bug that the prompt reports, and that a script has reproduced, does not happen any more.

    kept: the script of the turn
    """

    kept: KeptReproduction | None

    async def reproduce_prompt(self, prompt: str) -> Told:
        """Reproduce the bug of a prompt that holds code or a trace; keep the script as an artifact."""

    def build_tool(self, *, keeps_test: bool) -> Tool:
        """Return the tool `reproduce` of the session. keeps_test: the script becomes a test of the project"""

    def choose_test_path(self, script: str) -> str:
        """Return a path for a script as a test that is free, or that holds this script already."""

    async def judge_copy(self, at: Workspace) -> Verdict | None:
        """Run the script in a copy of the project, for example one with an attempt's patch."""
