"""Candidates that their own tests leave equal, compared by further evidence.

The suite ran in each attempt already; what is left is the reproduction, behaviour on generated inputs, static signs,
a judge's opinions where the settings want them, and size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.ranking import Ranking, find_leaders
from agent.strategy.strategy_turn import StrategyTurn
from agent.team.attach import find_session_team
from agent.team.person import UserQuestion, split_option
from agent.verify.verdict import Verdict
from sandbox.errors import UserError

if TYPE_CHECKING:
    from packages.search.review.judge import PairJudge
    from packages.search.select.patch_selection import Reproduce
    from packages.search.select.program_selection import Difference, ProgramSelection
    from packages.search.select.selection import Choice

_TOLD = ("checks", "suite", "reproduction")
"""Levels whose evidence comes from the project or its user: what another one decides is a question to them."""

MOST_LEADERS = 8
"""Candidates that are compared, each in a copy of the project; the others follow by size."""


async def compare_leaders(turn: StrategyTurn, ranking: Ranking) -> Ranking:
    """Return the ranking with its leaders in the order of further evidence, as far as it can judge them."""
    leaders = find_leaders(ranking)
    distinct: dict[bytes, Candidate] = {}
    for each in leaders:
        distinct.setdefault(turn.read_patch(each), each)
    first = list(distinct.values())[:MOST_LEADERS]
    if len(leaders) > 1 and len(distinct) == 1:
        return replace(ranking, reason=f"{len(leaders)} attempts made the same change")
    if len(first) < 2:
        return ranking
    judge = None
    if turn.runtime.settings.verify.judge:
        from packages.search.review.judge import PairJudge

        verdicts = first[0].verification
        judge = PairJudge(runtime=turn.runtime, children=turn.children, verdicts=verdicts)
    try:
        selection = await _select(turn, first, judge)
    except UserError:  # too large to be copied, or a patch that is more than text: size decides
        return ranking
    choice = selection.choice
    if judge is not None and (wrong := _find_refuted(ranking)) is not None:
        texts = [turn.read_patch(each).decode("utf-8", "replace") for each in (first[choice.best], wrong)]
        await judge.compare_with_truth(turn.prompt, *texts)
    ordered = [first[place] for place in choice.ranking]
    others = [each for each in ranking.candidates if each not in ordered]
    reason = _explain_choice(choice, len(first))
    difference = selection.difference
    if difference is not None and choice.decided_by not in _TOLD:
        answer = await _ask_person(turn, difference)
        if answer is None:
            reason += f"; to be told: {difference.format_question()}"
        else:
            if answer == difference.other_result:
                wanted = first[difference.other]
                ordered = [wanted, *(each for each in ordered if each is not wanted)]
            test = difference.format_test(answer)
            reason = f"you chose {answer}: {difference.format_question()}"
            reason += f"; as a test: {test}" if test else ""
            return replace(ranking, candidates=(*ordered, *others), reason=reason)
    return Ranking(
        (*ordered, *others), reason, confidence=round(choice.confidence, 2), abstained=choice.abstained
    )


async def _ask_person(turn: StrategyTurn, difference: Difference) -> str | None:
    """Return which of two results the person in front of the session wants; None if nobody says."""
    team = find_session_team(turn.runtime)
    if team is None or team.person is None:
        return None
    results = {split_option(each)[0]: each for each in (difference.result, difference.other_result)}
    if len(results) < 2:
        return None
    text = f"The attempts differ, and no test tells which is right. {difference.format_question()}"
    answer = await team.person.answer(UserQuestion(text, list(results)))
    return results.get(answer.strip())


def _find_refuted(ranking: Ranking) -> Candidate | None:
    """Return a candidate whose tests fail, beside a best one whose tests pass: the pair shows what a judge is worth."""
    if ranking.best.exit_code != Exit.DONE:
        return None
    return next(
        (each for each in ranking.candidates if each.patch and each.exit_code == Exit.TESTS_FAIL), None
    )


async def _select(
    turn: StrategyTurn, candidates: Sequence[Candidate], judge: PairJudge | None
) -> ProgramSelection:
    from packages.search.select.patch_selection import PatchTask, select_patch

    patches = [turn.read_patch(each).decode("utf-8", "surrogateescape") for each in candidates]
    # A test that a patch weakens is restored for another run; otherwise each attempt's own run is the evidence.
    is_known = not any(each.objection for each in candidates)
    at = turn.runtime.workspace
    task = PatchTask(
        text=turn.prompt,
        reproduce=_find_reproduction(turn),
        seconds=at.settings.tests.timeout,
        suite=[_build_suite_verdict(each) for each in candidates] if is_known else (),
    )
    return await select_patch(patches, at, task, ask=judge.ask if judge is not None else None)


def _find_reproduction(turn: StrategyTurn) -> Reproduce | None:
    reproduction = turn.runtime.conclusion.reproduction
    return reproduction.judge_copy if reproduction is not None and reproduction.kept is not None else None


def _build_suite_verdict(candidate: Candidate) -> Verdict:
    outcomes = {Exit.DONE: "pass", Exit.TESTS_FAIL: "fail"}
    outcome = outcomes.get(Exit(candidate.exit_code), "unknown")
    return Verdict(
        outcome="pass" if outcome == "pass" else "fail" if outcome == "fail" else "unknown",
        evidence="executed",
        name="suite",
        detail=candidate.verification,
    )


def _explain_choice(choice: Choice, number: int) -> str:
    """Return what each level that left fewer candidates says of the best one."""
    parts = []
    for level in choice.levels:
        if len(level.left) < number:
            number = len(level.left)
            parts.append(f"{level.name}: {level.details.get(choice.best, '')}".removesuffix(": "))
    return "; ".join(["equal by the tests" if parts else "equal, and the first", *parts])
