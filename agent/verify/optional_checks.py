"""The checks that a user can switch on for the turns of a session; they are loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from agent.turn.runtime import Runtime
from sandbox.extensions import load_extension

if TYPE_CHECKING:
    from agent.verify.requirement import RequirementFile, Requirements


class CorrectsPrompts(Protocol):
    """The check of a task before the work."""

    def correct_prompt(self, prompt: str) -> str:
        """Return a prompt with the corrections that the user accepted."""


def attach_checks(runtime: Runtime, file: RequirementFile | None = None, *, is_trusted: bool = False) -> None:
    """Attach the checks that the settings ask for, and that of a file of requirements, if there is one.

    is_trusted: the commands of that file may be run
    """
    verify = runtime.settings.verify
    spec_check: CorrectsPrompts | None = None
    if verify.spec_check != "off":
        spec_check = load_extension("checks", "spec_check")(runtime, file)
    if verify.requirements in ("code", "model") or file is not None:
        verifier = attach_requirements(runtime, file, is_trusted=is_trusted)
        if spec_check is not None:
            verifier.correct_prompt = spec_check.correct_prompt
    if verify.rubric:
        load_extension("checks", "rubric")(runtime)


def attach_requirements(runtime: Runtime, file: RequirementFile | None, *, is_trusted: bool) -> Requirements:
    """Let the turns of a session be checked against the requirements of their prompts, and of a file."""
    added: Requirements = load_extension("checks", "requirements")(runtime, file, is_trusted=is_trusted)
    return added


def find_requirements(runtime: Runtime) -> Requirements | None:
    """Return the verifier of a session's requirements, None where they are off."""
    found = (each for each in runtime.conclusion.verifiers if each.name == "requirements")
    return cast("Requirements | None", next(found, None))
