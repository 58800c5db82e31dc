"""Refinement: the next attempt after a failed one, by the class of its failure.

A retry is told facts of the run that failed, and no more often than there is something new to tell (CVE2PoC,
Agent-RLVR, Retroformer): the same failure after another change leads to a new beginning, then to none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from agent.events import Verification
from agent.exit_codes import Exit
from agent.prompt.named_tests import list_wanted_tests
from agent.session.log import read_events
from agent.strategy.attempt_log import find_base_report
from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import (
    Failure,
    FailureClass,
    FailureEvidence,
    Remedy,
    classify_failure,
)
from agent.strategy.progress import LOADED, loses_tests, measure_progress
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import redact
from tools.core.text import clip, join_names
from tools.core.untrusted_output import enclose_in_tag
from tools.testing.failure_signature import FailureSignature, collect_signatures

MOST_SHOWN, MOST_DETAIL = 3, 1_200
"""Failing tests whose details a retry sees, and characters of each."""

MOST_PATCH = 8_000
"""Characters of another attempt's change in a prompt."""

_ADVICE: Mapping[FailureClass, str] = {
    "does not parse": "It does not parse: mend the syntax and leave the rest of it.",
    "does not import": "It cannot be loaded: mend that and leave the rest of it.",
    "wrong behaviour": "It is in the right place: mend what the tests show.",
    "broke others": "Keep what it mends, and let the tests that it broke pass again.",
    "wrong place": "The tests failed with it as they do without it. Find out which code the failing tests run, and "
    "change that.",
    "wrong approach": "Take another way than the ones above.",
    "cut off": "It was cut off before it was done: take a shorter way.",
    "environment": "Do without what is missing, or finish and say what has to be there.",
}

_RECOMBINE = (
    "The change of the first attempt is in the files; that of the other one is shown above and conflicts with it. Each "
    "mends tests that the other one does not: bring both together."
)

_REWOUND = "The files are as they were before that wrong step; do not repeat it."

_KEPT, _GONE = "That change is in the files.", "That change is not in the files any more."


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """An attempt that goes on from a failed one.

    prompt: the task with the facts and an advice; patch: that it begins with
    hint: for the log, with the remedy
    """

    prompt: str
    facts: str
    advice: str
    patch: bytes
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierState:
    """A state of an attempt in which more tests passed than at its end.

    patch: reference of its files; report: of the suite; steps: that led to it
    error: the step after it, such as "edit cart.py"; broken: tests that fail since then
    """

    patch: str
    report: Mapping[str, Any]
    steps: tuple[str, ...] = ()
    error: str = ""
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A failed candidate of one line of work, and why it failed. earlier: state that is gone on from, if not its end"""

    candidate: Candidate
    failure: Failure
    earlier: EarlierState | None = None


@dataclass(slots=True)
class Refinement:
    """Diagnoses the failed candidates of one turn, and words the attempts after them."""

    turn: StrategyTurn
    _before: Mapping[str, Any] | None = field(default=None)
    _excused: frozenset[FailureSignature] = frozenset()

    async def diagnose(self, candidate: Candidate, line: Sequence[Step] = ()) -> Failure | None:
        """Return why a candidate failed; None if nothing fails. line: the failed ones that it goes on from

        A test that failed before the change is part of the task where the prompt is about it, even where the attempt
        itself was excused for it.
        """
        workspace = self.turn.runtime.workspace
        before = await self.read_base_report()
        report = await asyncio.to_thread(self.read_report, candidate)
        ended_well = candidate.exit_code == Exit.DONE or (
            candidate.exit_code == Exit.TESTS_FAIL  # its own check may not know that they are old
            and bool(self._excused)
            and report.get("outcome") == "failed"
        )
        passes = ended_well and candidate.patch and not report.get("failures") and not candidate.objection
        if passes and (report or not before.get("failures")):
            return None
        return classify_failure(
            FailureEvidence(
                exit_code=candidate.exit_code,
                report=report,
                before=before,
                files=candidate.files,
                modules=_list_modules(workspace.root, candidate.files),
                known=[each.failure.signatures for each in line],
                root=workspace.root,
                objection=candidate.objection,
            )
        )

    async def explain_worthless(self, candidate: Candidate) -> str:
        """Return why a candidate is not worth bringing back, "" if it is.

        Tests do not run with it any more, or it mends none of those that fail.
        """
        before = await self.read_base_report()
        failure = await self.diagnose(candidate)
        if failure is None:
            return ""
        report = await asyncio.to_thread(self.read_report, candidate)
        if loses_tests(before, report):
            return f"tests do not run with it any more: {failure.evidence}"
        if not before.get("failures"):
            return ""
        value = measure_progress(candidate, failure, before, report)
        return "" if value > LOADED else f"it mends no failing test: {failure.evidence}"

    async def is_solved(self, candidate: Candidate) -> bool:
        """Whether tests that failed without the change pass with it, and all others: one pass was enough."""
        if candidate.objection or not (await self.read_base_report()).get("failures"):
            return False
        return await self.diagnose(candidate) is None

    async def read_base_report(self) -> Mapping[str, Any]:
        """Return the report of the suite without any change: run once a turn, and found in its log afterwards.

        It is without the failures that the prompt is not about; those stay out of the reports of attempts, too.
        """
        if self._before is None:
            found = find_base_report(self.turn.runtime.session.replayed)
            if found is None:
                ran = await self.turn.runtime.run_harness_action("run_tests", {})
                report = ran.data.get("report")
                found = report if isinstance(report, dict) else {}
            self._excused = self._find_excused(found)
            self._before = self.leave_out_excused(found)
        return self._before

    def _find_excused(self, report: Mapping[str, Any]) -> frozenset[FailureSignature]:
        signatures = collect_signatures(report, self.turn.runtime.workspace.root)
        wanted = list_wanted_tests(self.turn.prompt, {each.id for each in signatures})
        return frozenset(each for each in signatures if each.id not in wanted)

    def leave_out_excused(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a report without the failures that the prompt is not about."""
        if not self._excused:
            return report
        root, kept = self.turn.runtime.workspace.root, []
        for each in report.get("failures", ()):
            signatures = collect_signatures({"failures": [each]}, root)
            if not signatures or signatures - self._excused:
                kept.append(each)
        return {**report, "failures": kept}

    def plan_retry(
        self, line: Sequence[Step], beside: Sequence[Step] = (), *, has_progress: bool = True
    ) -> Retry | None:
        """Return the attempt after the last of a line of failures; None if nothing new can be told, or a person
        has to act.

        beside: failed attempts that went on from the same state, told as well
        has_progress: the last change is worth keeping; else the attempt begins anew, with what is known of it
        """
        *earlier, last = line
        remedy = choose_remedy(last.failure, [each.failure for each in earlier])
        if remedy in (None, "ask"):
            return None
        goes_on = remedy in ("mend", "fix the environment") and has_progress
        is_left = remedy == "restart" or (remedy == "mend" and not goes_on)  # nothing is there to be mended
        kind = "wrong approach" if is_left and last.failure.kind != "cut off" else last.failure.kind
        told = [*beside, last] if goes_on else [*line, *beside]
        facts, advice = redact("\n\n".join(map(self._describe_step, told))), _ADVICE[kind]
        state = _GONE
        if goes_on:
            state = _KEPT if last.earlier is None else redact(_word_rewind(last.earlier))
        return Retry(
            prompt=f"{self.turn.prompt}\n\n{facts}\n\n{state} {advice}",
            facts=facts,
            advice=advice,
            patch=self.read_patch(last) if goes_on else b"",
            hint=f"{'restart' if is_left else remedy}: {last.failure.kind}: {clip(last.failure.evidence, 120)}",
        )

    def word_recombination(self, steps: Sequence[Step], other: bytes) -> str:
        """Return the prompt of an attempt that has the change of the first step, and is to get that of the other."""
        facts = "\n\n".join(map(self._describe_step, steps))
        patch = enclose_in_tag("other-change", clip(other.decode("utf-8", "replace"), MOST_PATCH))
        return redact(f"{self.turn.prompt}\n\n{facts}\n\n{patch}\n\n{_RECOMBINE}")

    def word_revision(self, steps: Sequence[Step]) -> str:
        """Return the prompt of a new beginning after several failed ones."""
        facts = "\n\n".join(map(self._describe_step, steps))
        return redact(f"{self.turn.prompt}\n\n{facts}\n\n{_GONE} {_ADVICE['wrong approach']}")

    def read_patch(self, step: Step) -> bytes:
        """Return the files of a failed attempt that are gone on from, as a patch."""
        candidate = step.candidate
        if step.earlier is not None:
            candidate = replace(candidate, patch=step.earlier.patch)
        return self.turn.read_patch(candidate)

    def classify_state(self, candidate: Candidate, state: EarlierState, line: Sequence[Step]) -> Failure:
        """Return why an earlier state of a candidate failed. line: as in `diagnose`"""
        root = self.turn.runtime.workspace.root
        return classify_failure(
            FailureEvidence(
                exit_code=Exit.TESTS_FAIL,
                report=state.report,
                before=self._before or {},
                files=candidate.files,
                modules=_list_modules(root, candidate.files),
                known=[each.failure.signatures for each in line],
                root=root,
            )
        )

    def _describe_step(self, step: Step) -> str:
        """Return the facts of one failed attempt: its files, and the details of its failing tests."""
        report = step.earlier.report if step.earlier is not None else self.read_report(step.candidate)
        order = {name: place for place, name in enumerate(step.failure.tests)}
        failures = sorted(
            report.get("failures", ()), key=lambda each: order.get(str(each.get("id")), len(order))
        )
        lines = [f"{step.failure.kind}: {step.failure.evidence}"]
        if step.candidate.files:
            lines.append(f"changed: {join_names(step.candidate.files, 10)}")
        for each in failures[:MOST_SHOWN]:
            lines.append(
                f"{each.get('id')}: {clip(str(each.get('detail') or each.get('message')), MOST_DETAIL)}"
            )
        return enclose_in_tag("earlier-attempt", "\n".join(lines))

    def list_failing(self, candidate: Candidate) -> frozenset[str]:
        """Return the ids of the tests that fail with a candidate, none where no report names them."""
        return frozenset(str(each.get("id")) for each in self.read_report(candidate).get("failures", ()))

    def read_report(self, candidate: Candidate) -> Mapping[str, Any]:
        """Return the report of the last check of an attempt, without failures that the prompt is not about; {} if there
        was none."""
        if not candidate.child:
            return {}
        found: Mapping[str, Any] = {}
        try:
            for event in read_events(self.turn.runtime.session.folder.parent / candidate.child):
                if isinstance(event, Verification):
                    found = event.report
        except OSError:  # its log was deleted since
            return {}
        return self.leave_out_excused(found)


def choose_remedy(failure: Failure, earlier: Sequence[Failure]) -> Remedy | None:
    """Return how to go on after a failure; None where an earlier one said the same already.

    A failure that comes back leads to a new beginning, once: a second one would be told nothing new.
    """
    same = [each for each in earlier if each.signatures == failure.signatures and each.kind == failure.kind]
    if failure.remedy == "ask" or not (same or failure.kind == "wrong approach"):
        return failure.remedy
    begun = [each for each in earlier if each.kind == "wrong approach"]
    return "restart" if not begun and len(same) < MOST_SAME else None


MOST_SAME = 2
"""Failures of one kind with the same tests after which a line of work ends."""


def _word_rewind(state: EarlierState) -> str:
    """Return where an attempt begins that goes on from an earlier state, with the step that was wrong then."""
    broken = join_names(state.broken, MOST_SHOWN)
    facts = [
        f"steps up to this state: {'; '.join(state.steps)}",
        f"wrong step after it: {state.error or 'unknown'}",
    ]
    told = enclose_in_tag("rewind", "\n".join([*facts, f"it broke: {broken}"]))
    return f"{told}\n\n{_REWOUND}"


def _list_modules(root: Path, files: Sequence[str]) -> set[str]:
    """Return the names by which the project's own code may be imported."""
    below = [root, root / "src", root / "lib"]
    names = {each.stem for folder in below if folder.is_dir() for each in folder.iterdir()}
    return names | {part for path in files for part in Path(path).with_suffix("").parts}
