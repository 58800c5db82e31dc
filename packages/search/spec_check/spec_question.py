"""Question before a turn whose task contradicts itself: go on, stop, or apply the proposed corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.tui.frontend import Frontend, Option, Question
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from packages.search.spec_check.finding import SpecFinding
    from packages.search.spec_check.spec_check import Decision


def ask_about_findings(front: Frontend, runtime: Runtime) -> None:
    """Let the check of a session's tasks ask the person at this terminal."""
    from packages.search.spec_check.attachment import find_spec_check
    from packages.search.spec_check.finding import merge_corrections

    async def decide(found: Sequence[SpecFinding]) -> Decision:
        if all(each.kind == "loophole" or each.evidence == "opinion" for each in found):
            return "go on"  # worth a look, not a question at each prompt
        corrected = merge_corrections(found)
        front.alert("the task contradicts itself")
        options = [
            Option(name="go on", key="g", label="Go on", about="as it is"),
            Option(name="stop", key="s", label="Stop", about="correct it yourself"),
        ]
        if corrected:
            files = ", ".join("the prompt" if each.path == "prompt" else each.path for each in corrected)
            about = f"the proposed changes of {sanitize_text(files)}, and go on"
            options.append(Option(name="apply", key="a", label="Apply", about=about))
        question = Question(title="What about these findings?", options=tuple(options), otherwise="stop")
        answer = await front.ask(question)
        answers: dict[str, Decision] = {"go on": "go on", "apply": "apply"}
        return answers.get(answer.name, "stop")

    if (check := find_spec_check(runtime)) is not None:
        check.decide = decide
