"""Question before a turn whose task contradicts itself: go on, stop, or apply the proposed corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.tui.frontend import Choice, Frontend

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from agent.verify.spec_check.finding import SpecFinding
    from agent.verify.spec_check.spec_check import Decision


def ask_about_findings(front: Frontend, runtime: Runtime) -> None:
    """Let the check of a session's tasks ask the person at this terminal."""
    from agent.verify.optional_checks import find_spec_check
    from agent.verify.spec_check.finding import merge_corrections

    async def decide(found: Sequence[SpecFinding]) -> Decision:
        if all(each.kind == "loophole" or each.evidence == "opinion" for each in found):
            return "go on"  # worth a look, not a question at each prompt
        corrected = merge_corrections(found)
        front.alert("the task contradicts itself")
        choices = [
            Choice(label="go on", about="as it is"),
            Choice(label="stop", about="correct it yourself"),
        ]
        if corrected:
            files = ", ".join("the prompt" if each.path == "prompt" else each.path for each in corrected)
            choices.append(Choice(label="apply", about=f"the proposed changes of {files}, and go on"))
        picked = await front.pick("What about these findings?", choices)
        answers: tuple[Decision, ...] = ("go on", "stop", "apply")
        return answers[picked] if picked is not None else "stop"

    if (check := find_spec_check(runtime)) is not None:
        check.decide = decide
