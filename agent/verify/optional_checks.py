"""The checks that a user can switch on for the turns of a session; they are loaded only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.turn.runtime import Runtime
from sandbox.errors import UserError

if TYPE_CHECKING:
    from agent.verify.requirements.requirement_file import RequirementFile
    from agent.verify.requirements.requirements_verifier import RequirementsVerifier
    from agent.verify.spec_check.spec_check import SpecCheck


def attach_checks(runtime: Runtime, file: RequirementFile | None = None, *, is_trusted: bool = False) -> None:
    """Attach the checks that the settings ask for, and that of a file of requirements, if there is one.

    is_trusted: the commands of that file may be run
    """
    verify = runtime.settings.verify
    spec_check = _attach_spec_check(runtime, file) if verify.spec_check != "off" else None
    if verify.requirements != "off" or file is not None:
        verifier = attach_requirements(runtime, file, is_trusted=is_trusted)
        if spec_check is not None:
            verifier.correct_prompt = spec_check.correct_prompt
    if verify.rubric:
        _attach_rubric(runtime)


def _attach_spec_check(runtime: Runtime, file: RequirementFile | None) -> SpecCheck:
    """Let the task of each turn be checked before its work."""
    from agent.verify.spec_check.spec_check import SpecCheck

    def accept_changes() -> None:
        runtime.conclusion.weakened_tests.begin_turn()
        verifier = find_requirements(runtime)
        if verifier is not None and file is not None and file.inside:
            from agent.verify.requirements.requirement_file import load_requirements

            try:
                now = load_requirements(runtime.workspace.root / file.name, runtime.workspace.root)
            except UserError:  # nothing is left of it
                verifier.file = spec_check.file = ()
                return
            verifier.file = spec_check.file = now.requirements
            if now.list_definitions() != file.list_definitions():
                verifier.trusted -= {file.source}  # other commands than those that are trusted

    spec_check = SpecCheck(
        workspace=runtime.workspace,
        record=runtime.session.append,
        run_action=runtime.run_harness_action,
        accept_changes=accept_changes,
        rules=runtime.settings.rules,
        file=file.requirements if file is not None else (),
    )
    if runtime.settings.verify.spec_check == "model":
        from agent.verify.reader import Reader
        from agent.verify.spec_check.critic import ReaderCritic

        spec_check.critic = ReaderCritic(reader=Reader(runtime=runtime))
    runtime.conclusion.preparations.append(spec_check)
    return spec_check


def _attach_rubric(runtime: Runtime) -> None:
    """Let the change of each turn be scored by a rubric of its task."""
    from agent.verify.reader import Reader
    from agent.verify.rubric.rubric_verifier import RubricVerifier

    verifier = RubricVerifier(
        workspace=runtime.workspace, reader=Reader(runtime=runtime), record=runtime.session.append
    )
    runtime.conclusion.verifiers.append(verifier)
    runtime.conclusion.preparations.append(verifier)


def attach_requirements(
    runtime: Runtime, file: RequirementFile | None, *, is_trusted: bool
) -> RequirementsVerifier:
    """Let the turns of a session be checked against the requirements of their prompts, and of a file."""
    from agent.verify.requirements.requirement import OWN_SOURCES
    from agent.verify.requirements.requirements_verifier import RequirementsVerifier

    conclusion = runtime.conclusion
    verifier = RequirementsVerifier(
        workspace=runtime.workspace,
        run_action=runtime.run_harness_action,
        get_verification=lambda: conclusion.verification,
        record=runtime.session.append,
        file=file.requirements if file is not None else (),
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
    from agent.verify.requirements.requirements_verifier import RequirementsVerifier

    found = (each for each in runtime.conclusion.verifiers if isinstance(each, RequirementsVerifier))
    return next(found, None)


def find_spec_check(runtime: Runtime) -> SpecCheck | None:
    """Return the check of a session's tasks, None where it is off."""
    from agent.verify.spec_check.spec_check import SpecCheck

    found = (each for each in runtime.conclusion.preparations if isinstance(each, SpecCheck))
    return next(found, None)
