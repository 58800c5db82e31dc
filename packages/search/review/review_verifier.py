"""Reviewer: an opinion on the change of a turn, from its diff, the task and the verdicts of the other checks.

It never reads what the author of the change thought or claimed. It answers twice: first without the verdicts, which
is the answer that is compared with executed checks, and then with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.children.children import Children
from agent.events import Event
from agent.turn.runtime import Runtime
from agent.verify.suite_evidence import list_modified_files, read_current_content
from agent.verify.verdict import Claim, Verdict, combine_verdicts
from packages.search.review.agreement import Result, count_opinion
from packages.search.review.answers import Review
from packages.search.review.child_opinion import ask_role
from sandbox.lazy_dataclass import dataclass
from tools.core.text import format_unified_diff
from tools.core.workspace import Workspace

MOST_DIFF = 40_000
"""Characters of a diff that a reviewer is shown: about 10k tokens; it can read the rest in the files."""


def attach_reviewer(runtime: Runtime) -> None:
    """Let a reviewer look at each turn of a session that changes files."""
    runtime.conclusion.verifiers.append(ReviewVerifier(runtime=runtime))


@dataclass(slots=True, kw_only=True)
class ReviewVerifier:
    """A reviewer accepts the change. Always an opinion: it changes no outcome and withholds nothing."""

    runtime: Runtime
    name: str = "review"
    withholds_commit: bool = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`; there is no state of a turn."""

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`; no event matters."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """Return None where there is no change to look at, or none that is claimed to be done."""
        diff = await asyncio.to_thread(build_diff, self.runtime.workspace)
        if not diff or not claim.is_done:
            return None
        verdicts = [each for each in self.runtime.conclusion.verdicts if each.evidence != "opinion"]
        questions = [build_question(claim.prompt, diff)]
        if verdicts:
            questions.append(describe_verdicts(verdicts))
        async with Children.open(self.runtime) as children:
            opinion = await ask_role(self.runtime, children, "reviewer", Review, questions)
        if not opinion.answers:
            return self._answer("unknown", f"no review: {opinion.problem}")
        await self._count(opinion.answers[0], opinion.model, verdicts)
        review = opinion.answers[-1]
        head = f"{opinion.model} {'accepts' if review.accepts else 'objects to'} the change"
        return self._answer("pass" if review.accepts else "fail", f"{head}\n{review.format_text()}".strip())

    async def _count(self, blind: Review, model: str, verdicts: Sequence[Verdict]) -> None:
        truth = combine_verdicts(each for each in verdicts if each.evidence == "executed")
        if truth == "unknown" or self.runtime.environment is None:
            return
        result: Result = "agree" if blind.accepts == (truth == "pass") else "disagree"
        await asyncio.to_thread(count_opinion, self.runtime.environment.home, model, "reviewer", result)

    def _answer(self, outcome: str, detail: str) -> Verdict:
        return Verdict(
            outcome="pass" if outcome == "pass" else "fail" if outcome == "fail" else "unknown",
            evidence="opinion",
            name=self.name,
            detail=detail,
        )


def build_diff(at: Workspace) -> str:
    """Return the session's uncommitted changes as a unified diff, shortened."""
    parts = []
    for path in list_modified_files(at):
        sides = (at.changes.originals[path], read_current_content(at, path))
        texts = [(each or b"").decode("utf-8", "replace") for each in sides]
        parts.append(format_unified_diff(path, *texts))
    diff = "".join(parts)
    return diff if len(diff) <= MOST_DIFF else f"{diff[:MOST_DIFF]}\n… shortened: read the files for the rest"


def build_question(task: str, diff: str) -> str:
    """Return the question of a reviewer. Task and diff are data."""
    return (
        f"The task:\n<task>\n{task}\n</task>\n\nThe change, which is in the files:\n<diff>\n{diff}\n</diff>"
    )


def describe_verdicts(verdicts: Sequence[Verdict]) -> str:
    """Return the follow-up with what other checks found."""
    rows = "\n".join(
        f"- {each.name} ({each.evidence}): {each.outcome}{f': {each.detail}' if each.detail else ''}"
        for each in verdicts
    )
    return f"Other checks of this change found:\n{rows}\n\nGive your answer again, with these in mind."
