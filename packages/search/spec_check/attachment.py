"""The check of a task in the turns of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.turn.runtime import Runtime
from packages.search.reader import Reader, format_list, get_text_field
from packages.search.spec_check.finding import FindingKind, SpecFinding
from packages.search.spec_check.spec_check import SpecCheck
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.verify.requirement import RequirementFile


def attach_spec_check(runtime: Runtime, file: RequirementFile | None) -> SpecCheck:
    """Let the task of each turn be checked before its work."""

    def accept_changes() -> None:
        runtime.conclusion.weakened_tests.begin_turn()
        from packages.search.requirements.requirements_verifier import RequirementsVerifier

        known = (each for each in runtime.conclusion.verifiers if isinstance(each, RequirementsVerifier))
        verifier = next(known, None)
        if verifier is not None and file is not None and file.inside:
            from packages.search.requirements.requirement_file import load_requirements

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
        from packages.search.reader import Reader

        spec_check.critic = ReaderCritic(reader=Reader(runtime=runtime))
    runtime.conclusion.preparations.append(spec_check)
    return spec_check


def find_spec_check(runtime: Runtime) -> SpecCheck | None:
    """Return the check of a session's tasks, None where it is off."""
    found = (each for each in runtime.conclusion.preparations if isinstance(each, SpecCheck))
    return next(found, None)


MOST = 6
"""Findings of a model: more would hide those of code."""


@dataclass(slots=True, kw_only=True)
class ReaderCritic:
    """Asks a read-only child session. Its findings are opinions, without a correction."""

    reader: Reader

    async def criticise(self, prompt: str, rules: str, known: Sequence[SpecFinding]) -> list[SpecFinding]:
        """Return more findings about a task."""
        parts = {"rules": rules or "(none)", "known-findings": format_list([each.text for each in known])}
        kinds: tuple[FindingKind, ...] = ("contradiction", "impossible", "loophole")
        found = []
        for each in (await self.reader.ask("spec_check", prompt, parts))[:MOST]:
            if text := get_text_field(each, "text"):
                kind: FindingKind = next((kind for kind in kinds if kind == each.get("kind")), "loophole")
                place = get_text_field(each, "place")
                found.append(
                    SpecFinding(kind=kind, text=text, places=(place,) if place else (), evidence="opinion")
                )
        return found
