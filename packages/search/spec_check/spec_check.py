"""The check of a task before its work: findings for a person, who goes on, stops, or takes the corrections."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from typing import Literal, Protocol

from agent.events import Event, Signal, SpecCheckEvent
from agent.monitor.answers import GO_ON, GoOn, StopTurn, TellModel, TurnEnd
from agent.prompt.prompt_reader import read_intent
from agent.session_settings import NamedRule
from agent.verify.requirement import Requirement, number_requirements
from agent.verify.suite_verifier import RunAction
from packages.search.requirements.extraction import extract_requirements
from packages.search.requirements.static_checks import is_same_file
from packages.search.spec_check.corrections import close_loophole
from packages.search.spec_check.finding import PROMPT, SpecFinding, merge_corrections
from sandbox.errors import UserError
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_dataclass import dataclass
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace

Decision = Literal["go on", "stop", "apply"]

Decide = Callable[[Sequence[SpecFinding]], Awaitable[Decision]]
"""Asks the person what to do about the findings."""

MOST = 20
"""Findings that are told; a task with more is to be written anew."""

LARGEST = 200_000
"""Bytes of a file of requirements, as when it is read for its requirements."""


class Critic(Protocol):
    """A model's part: more findings, which are opinions."""

    async def criticise(self, prompt: str, rules: str, known: Sequence[SpecFinding]) -> Sequence[SpecFinding]:
        """Return more findings about a task."""


@dataclass(slots=True, kw_only=True)
class SpecCheck:
    """Looks for contradictions and loopholes before the work of a turn. Implements `Preparation`.

    record: appends an event to the log; run_action: writes a correction through the gateway
    accept_changes: the files as they are now are the person's, and count as the state before the turn
    rules: the user's; file: requirements of every turn
    corrected: prompts of this turn and their corrections
    critic: a model; decide: asks the person, None where nobody can be asked: the work goes on then
    """

    workspace: Workspace
    record: Callable[[Event], object]
    run_action: RunAction
    accept_changes: Callable[[], None]
    rules: Sequence[NamedRule] = ()
    file: Sequence[Requirement] = ()
    critic: Critic | None = None
    decide: Decide | None = None
    corrected: dict[str, str] = field(default_factory=dict)

    def correct_prompt(self, prompt: str) -> str:
        """Return the prompt of this turn as the person has corrected it."""
        return self.corrected.get(prompt, prompt)

    async def prepare_turn(self, prompt: str) -> GoOn | TellModel | StopTurn:
        """Check the task, log the findings, and do what the person decides."""
        self.corrected.clear()
        requirements = [*self.file]
        requirements += number_requirements(extract_requirements(prompt), requirements)
        found = await asyncio.to_thread(self._find_by_code, prompt, requirements)
        if self.critic is not None:
            found += await self.critic.criticise(prompt, _describe_rules(self.rules), found)
        found = found[:MOST]
        if not found:
            return GO_ON
        self.record(SpecCheckEvent(findings=[each.as_data() for each in found]))
        if self.decide is None:
            return GO_ON
        decision = await self.decide(found)
        self.record(Signal(name="spec-check", detail=f"the task: {decision}"))
        match decision:
            case "stop":
                return StopTurn(
                    TurnEnd(reason="interrupted", detail="stopped before the work, to correct the task")
                )
            case "apply":
                return await self._apply(found)
        return GO_ON

    def _find_by_code(self, prompt: str, requirements: Sequence[Requirement]) -> list[SpecFinding]:
        from agent.prompt.prompt_reader import read_intent
        from packages.search.spec_check.constraints import find_impossible_sets, find_rule_conflicts
        from packages.search.spec_check.contradicting_tests import (
            find_double_results,
            find_test_contradictions,
            read_test_files,
        )
        from packages.search.spec_check.corrections import correct_impossible
        from packages.search.spec_check.told_results import find_told_results

        told = find_told_results(prompt)
        found = list(find_double_results(told))
        if not read_intent(prompt).wants_changed_tests:
            try:
                tests = read_test_files(self.workspace, [each.name for each in told])
            except UserError:  # no index can be made: the other checks remain
                tests = {}
            found += find_test_contradictions(told, tests)
        texts = {
            name: read_workspace_text(self.workspace.root, name, LARGEST)
            for each in self.file
            if (name := each.source.removeprefix("file:")) != each.source
        }
        impossible = [
            *find_impossible_sets(requirements, self._exists),
            *find_rule_conflicts(requirements, self.rules, self._exists),
        ]
        found += [correct_impossible(each, requirements, prompt, texts) for each in impossible]
        found += find_loopholes(prompt, requirements)
        return found

    def _exists(self, path: str) -> bool:
        return self.workspace.files.has_file(path.removeprefix("./").rstrip("/"), or_folder=True)

    async def _apply(self, found: Sequence[SpecFinding]) -> TellModel:
        """Write the corrections of files as actions of the session, and tell the model those of the prompt."""
        told = []
        for each in merge_corrections(found):
            if each.path == PROMPT:
                self.corrected[each.before] = each.after
                told.append(f"The user has corrected the task. It now reads:\n{each.after}")
                continue
            await self.run_action("read", {"path": each.path})
            made = await self.run_action("write", {"path": each.path, "content": each.after})
            word = "could not correct" if made.failed else "has corrected"
            told.append(f"The user {word} {each.path}:\n{quote_lines(each.format_diff().splitlines())}")
        self.accept_changes()
        return TellModel(
            text="\n\n".join(told) or "The user has seen what contradicts in the task, and goes on."
        )


def _describe_rules(rules: Sequence[NamedRule]) -> str:
    from agent.rules.rule_kinds import format_rule, select_known

    return "\n".join(f"- {rule.name}: {format_rule(rule)}" for rule in select_known(rules))


def find_loopholes(prompt: str, requirements: Sequence[Requirement]) -> Iterator[SpecFinding]:
    """Yield a finding for each test that is all the evidence of the task, and that nothing keeps from being edited."""
    intent = read_intent(prompt)
    if intent.wants_changed_tests:
        return
    closed = [each.check for each in requirements if each.kind == "file-unchanged"]
    tests = [each for each in requirements if each.kind == "tests"]
    told = [each for each in requirements if each.kind not in ("tests", "group", "judged", "file-changed")]
    if "tests" in closed or any(each.kind not in ("file-unchanged", "no-dependency") for each in told):
        return
    if not tests and intent.wants_passing_tests:
        text = "that tests pass is the only evidence of this task, and nothing keeps the tests from being changed"
        yield close_loophole(SpecFinding(kind="loophole", text=text), prompt, "Do not change the tests.")
    for each in tests:
        path = re.split(r"::|\[", each.check)[0]
        name = path if "/" in path or "." in path else "the tests"
        if not any(is_same_file(path, wanted) for wanted in closed if path):
            text = f"“{each.text}” is all the evidence, and nothing keeps {name} from being changed"
            finding = SpecFinding(kind="loophole", text=text, places=(f"{each.id} ({each.source})",))
            yield close_loophole(finding, prompt, f"Do not change {name}.")
