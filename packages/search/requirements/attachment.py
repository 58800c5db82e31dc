"""The check of a session's turns against the requirements of their tasks."""

from __future__ import annotations

from agent.turn.runtime import Runtime
from agent.turn.turn_end import TurnConclusion
from agent.verify.requirement import OWN_SOURCES, RequirementFile
from packages.search.requirements.requirements_verifier import NAME, RequirementsVerifier


def attach_requirements(
    runtime: Runtime, file: RequirementFile | None, *, is_trusted: bool
) -> RequirementsVerifier:
    """Let the turns of a session be checked. is_trusted: the commands of the file may be run"""
    conclusion = runtime.conclusion
    conclusion.verifiers[:] = [
        each for each in conclusion.verifiers if each.name != NAME
    ]  # the one of "auto"
    verifier = RequirementsVerifier(
        workspace=runtime.workspace,
        run_action=runtime.run_harness_action,
        get_verification=lambda: conclusion.verification,
        record=runtime.session.append,
        may_run=lambda: not conclusion.evidence.denied,
        file=file.requirements if file is not None else (),
        trusted=OWN_SOURCES | {file.source} if file is not None and is_trusted else OWN_SOURCES,
    )
    if runtime.settings.verify.requirements == "model":
        from packages.search.reader import Reader
        from packages.search.requirements.opinions import Opinions

        verifier.advice = Opinions(reader=Reader(runtime=runtime))
    conclusion.verifiers.append(verifier)
    conclusion.preparations.append(verifier)
    return verifier


def build_late_check(conclusion: TurnConclusion) -> RequirementsVerifier:
    """Return the check of the prompts of a session that are read at the end of their turns."""
    return RequirementsVerifier(
        workspace=conclusion.workspace,
        run_action=conclusion.run_action,
        get_verification=lambda: conclusion.verification,
        record=conclusion.session.append,
        may_run=lambda: not conclusion.evidence.denied,
        reads_late=True,
    )
