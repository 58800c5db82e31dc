"""Questions of `pipeline`: the task with the places that matter, and the one after a failed patch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent.context.system_prompt import PROMPTS
from agent.strategy.candidate import Candidate
from agent.strategy.person.directions import word_guidance
from agent.strategy.ranking import rank_candidates
from agent.strategy.refinement import Refinement, Step
from agent.strategy.strategy_turn import StrategyTurn
from packages.search.pipeline.places import (
    collect_places,
    collect_retry_places,
    describe_failures,
    list_changed_spans,
)
from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact
from tools.core.untrusted_output import enclose_in_tag

_PROMPT = PROMPTS / "pipeline.md"

MOST_EARLIER = 1_500
"""Characters of an earlier patch that the question after it shows."""

RETRY_FAILURES, RETRY_DETAIL = 2, 500
"""Failing tests that this question shows, and characters of each."""


def read_system_prompt() -> str:
    """Return the instructions of a session that writes one patch."""
    return _PROMPT.read_text("utf-8")


def build_prompt(turn: StrategyTurn, before: Mapping[str, Any]) -> str:
    """Return the task with its failing tests and likely places. Blocking. Raises UserError if there is no place."""
    from tools.code.code_tool import query_index

    failures = describe_failures(before)
    text = f"{turn.prompt}\n\n{failures}"
    places = query_index(turn.runtime.workspace, lambda index: collect_places(index, text))
    if not places:
        raise UserError(
            Fault.USAGE, "no code resembles the task", "Name a file, or work by another strategy: single"
        )
    parts = [
        turn.prompt,
        enclose_in_tag("failing-tests", failures) if failures else "",
        *(each.format() for each in places),
    ]
    return redact("\n\n".join(filter(None, parts)))


async def build_retry_prompt(
    refinement: Refinement, made: Sequence[Candidate], number: int
) -> tuple[str, str] | None:
    """Return the question after the best failed patch, with its hint; None if there is nothing new to tell.

    Nothing goes on from attempts that the person stopped; the words for all others are told.

    number: of the attempt that is asked
    """
    from tools.code.code_tool import query_index

    turn = refinement.turn
    stopped = turn.directions.list_stopped(number)
    made = [each for each in made if each.attempt not in stopped]
    if not made:
        return None
    best = rank_candidates(made, await refinement.read_base_report()).best
    failure = await refinement.diagnose(best)
    if failure is None:
        return None
    retry = refinement.plan_retry([Step(candidate=best, failure=failure)])
    if retry is None:
        return None
    patch = turn.read_patch(best).decode("utf-8", "replace")
    failures = describe_failures(refinement.read_report(best), RETRY_FAILURES, RETRY_DETAIL)
    facts = f"{failure.kind}: {failure.evidence}\n\n{failures}".strip()
    places = await asyncio.to_thread(
        query_index,
        turn.runtime.workspace,
        lambda index: collect_retry_places(
            index,
            f"{turn.prompt}\n\n{failures}",
            list_changed_spans(patch),
            is_elsewhere=failure.kind == "wrong place",
        ),
    )
    parts = [
        turn.prompt,
        *(each.format() for each in places),
        enclose_in_tag("earlier-patch", patch[:MOST_EARLIER]) if patch else "",
        enclose_in_tag("earlier-attempt", facts),
        f"{retry.advice} The files are as shown above, without it: give all edits that are needed.",
    ]
    if words := turn.directions.list_guidance(number, [each.attempt for each in made]):
        parts.append(word_guidance(words))
    return redact("\n\n".join(filter(None, parts))), retry.hint
