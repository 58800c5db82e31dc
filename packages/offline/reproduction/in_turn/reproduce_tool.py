"""Tool `reproduce`: a script that fails because of the reported bug joins the checks at the end of the turn."""

from __future__ import annotations

from typing import Protocol

from agent.verify.reproducer import Reproducer, Told
from packages.offline.reproduction.in_turn.kept_test import choose_test_path
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.workspace import Workspace


class ReportReproducer(Reproducer, Protocol):
    """The verifier that the tool fills. prompt: of the turn"""

    prompt: str

    async def reproduce_report(self, prompt: str, script: str = "") -> Told:
        """Reproduce the bug of a prompt by its own code, or by a script that a model wrote."""


def build_reproduce_tool(verifier: ReportReproducer, *, keeps_test: bool) -> Tool:
    """Return the tool of one session. keeps_test: the script becomes a test of the project"""

    @tool(effect="execute")
    async def reproduce(script: str = "", *, at: Workspace) -> Observation:
        """Show the reported bug by a script before you mend it; at the end of the turn the script has to pass.

        It counts only if it fails for the reason that the report tells, each time, in the suspected code.

        script: Python statements that assert the right behavior; without it the report's own code is tried
        """
        kept = verifier.kept
        text = (
            f"Reproduced already ({kept.detail}); its script is run again at the end of the turn."
            if kept
            else ""
        )
        if kept is None:  # one that counts is not replaced: a model could choose an easier one
            told = await verifier.reproduce_report(verifier.prompt, script)
            if not told.text:
                raise ToolFailure(f"reproduce: {told.detail}")
            kept, text = verifier.kept, told.text
        assert kept is not None
        made = {
            "ref": kept.ref,
            "script": kept.script,
            "test": choose_test_path(at, kept.script),
            "keep": keeps_test,
        }
        return Observation(text=text, data={"reproduction": made})

    return reproduce
