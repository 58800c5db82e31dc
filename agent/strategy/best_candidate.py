"""End of a turn that attempts filled: the best candidate is chosen and applied, and its report is the answer."""

from __future__ import annotations

from collections.abc import Sequence

from agent.exit_codes import BY_FAULT, Exit
from agent.monitor.answers import TurnEnd
from agent.strategy.attempt_log import find_base_report
from agent.strategy.candidate import Candidate, describe_candidate
from agent.strategy.ranking import rank_candidates
from agent.strategy.refinement import Refinement
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.errors import UserError
from sandbox.extensions import load_extension


async def apply_best(
    turn: StrategyTurn, candidates: Sequence[Candidate], refinement: Refinement | None = None
) -> TurnEnd:
    """Choose by what ran and by further evidence, bring the change into the workspace, and end the turn.

    A change that nothing may rest on is left in its attempt. refinement: asked about the best one, where failing tests
    are the task: what is not right is said to be not achieved, and what mends none of them is not brought back
    """
    candidates = [each for each in candidates if not each.is_refused]
    if not candidates:
        reason = turn.runtime.purse.find_stop_reason() or "nothing is left for an attempt"
        return TurnEnd(reason="limit", detail=reason)
    ranking = rank_candidates(candidates, find_base_report(turn.runtime.session.replayed))
    if not ranking.best.patch:
        return await finish_unchanged(turn, candidates)
    chosen = turn.find_choice(candidates)
    if chosen is None:
        ranking = await load_extension("judges", "leaders")(turn, ranking)
    best = chosen or ranking.best
    why = best.objection or (await refinement.explain_worthless(best) if refinement is not None else "")
    if why:
        told = f"No attempt is applied. The best one is attempt {best.attempt}, but {why}."
        kept = f"It is kept: patchwright attempts show {best.attempt}"
        return await turn.finish(f"{told}\n{kept}\n\n{best.report}".strip(), "not achieved")
    if chosen is None:
        turn.choose(ranking)
    applied = await turn.apply(best)
    if applied is not None and applied.failed:
        return await turn.finish(
            f"The best attempt could not be brought back: {applied.text}", "not achieved"
        )
    achieved = best.exit_code != Exit.NOT_ACHIEVED and (
        refinement is None or await refinement.diagnose(best) is None
    )
    return await turn.finish(best.report, "done" if achieved else "not achieved")


async def finish_unchanged(turn: StrategyTurn, candidates: Sequence[Candidate]) -> TurnEnd:
    """End the turn if no attempt changed a file: an answer, no work to do, or a common obstacle."""
    best = min(candidates, key=lambda each: (each.exit_code, each.attempt))
    for fault, code in BY_FAULT.items():
        if best.exit_code == code:
            raise UserError(fault, f"no attempt finished: {best.report}")
    if all(each.exit_code == Exit.LIMIT for each in candidates):
        return TurnEnd(
            reason="limit", detail=f"every attempt reached its limit; attempt {best.attempt}: {best.report}"
        )
    status = {Exit.DONE: "done", Exit.NOTHING_TO_DO: "nothing to do"}.get(
        Exit(best.exit_code), "not achieved"
    )
    told = "".join(f"{describe_candidate(each)}\n" for each in candidates)
    return await turn.finish(best.report.strip() or told, status)
