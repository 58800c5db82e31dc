"""The checks that a user can switch on for the turns of a session; they are loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.turn.runtime import Runtime
from agent.verify.requirements.requirement import OWN_SOURCES
from agent.verify.requirements.requirements_verifier import RequirementsVerifier

if TYPE_CHECKING:
    from agent.verify.requirements.requirement_file import RequirementFile


def attach_checks(runtime: Runtime, file: RequirementFile | None = None, *, is_trusted: bool = False) -> None:
    """Attach the checks that the settings ask for, and that of a file of requirements, if there is one.

    is_trusted: the commands of that file may be run
    """
    verify = runtime.settings.verify
    if verify.requirements != "off" or file is not None:
        attach_requirements(runtime, file, is_trusted=is_trusted)


def attach_requirements(
    runtime: Runtime, file: RequirementFile | None, *, is_trusted: bool
) -> RequirementsVerifier:
    """Let the turns of a session be checked against the requirements of their prompts, and of a file."""
    conclusion = runtime.conclusion
    requirements = file.requirements if file is not None else ()
    verifier = RequirementsVerifier(
        workspace=runtime.workspace,
        run_action=runtime.run_harness_action,
        evidence=conclusion.evidence,
        record=runtime.session.append,
        file=requirements,
        trusted=OWN_SOURCES | {file.source} if file is not None and is_trusted else OWN_SOURCES,
    )
    if runtime.settings.verify.requirements == "model":
        from agent.verify.reader import Reader
        from agent.verify.requirements.opinions import Opinions

        verifier.advice = Opinions(reader=Reader(runtime=runtime))
    conclusion.verifiers.append(verifier)
    conclusion.preparations.append(verifier)
    return verifier


def find_requirements(runtime: Runtime) -> RequirementsVerifier | None:
    """Return the verifier of a session's requirements, None where they are off."""
    found = (each for each in runtime.conclusion.verifiers if isinstance(each, RequirementsVerifier))
    return next(found, None)
