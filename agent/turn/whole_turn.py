"""A whole turn: its work, its verification, its commit, and its end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from agent.events import End, Signal
from agent.exit_codes import Exit
from agent.monitor.answers import TurnEnd
from agent.turn.loop import HarnessText, Loop, run_in_time
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.turn.auto_commit import Committer
    from agent.turn.turn_end import TurnConclusion, TurnWork

_EARLY_ENDS = {"limit": Exit.LIMIT, "interrupted": Exit.INTERRUPTED}
"""Exit codes of turns that end before the model is done, so that nothing is verified."""


async def run_to_end(
    loop: Loop,
    conclusion: TurnConclusion,
    committer: Committer,
    cut_off: TurnEnd | None,
    work: TurnWork | None = None,
) -> End:
    """Run the loop or the work in its place, verify and commit.

    cut_off: end of the turn before a kill; the loop is skipped then
    """
    run = loop.run if work is None else work.run
    refused: TurnEnd | None = None
    while True:
        if cut_off is None:
            conclusion.workspace.facts.pop("finish", None)
        try:
            ended = cut_off or await run()
        except UserError as error:
            if refused is None or error.fault is Fault.STORAGE_FULL:
                raise
            from agent.turn.turn_verdict import COMMIT_FAILED

            # The work had ended before, and only its commit was refused.
            conclusion.session.append(Signal(name="model", detail=error.message))
            return conclusion.conclude(COMMIT_FAILED, refused.text, loop.tally)
        cut_off = None
        if ended.reason in _EARLY_ENDS:
            return conclusion.create_end_event(_EARLY_ENDS[ended.reason], ended.detail, loop.tally)
        concluding = _conclude(ended, loop, conclusion, committer, work)
        # A strategy may have used up the time: its result is verified and committed all the same.
        end = await (run_in_time(concluding, loop.purse) if work is None else concluding)
        match end:
            case End():
                return end
            case TurnEnd():
                return conclusion.create_end_event(Exit.LIMIT, end.detail, loop.tally)
            case "refused":
                refused = ended


async def _conclude(
    ended: TurnEnd, loop: Loop, conclusion: TurnConclusion, committer: Committer, work: TurnWork | None
) -> End | Literal["advised", "refused"]:
    """Verify and commit what the loop or the work has done; return why it is run again, if it is."""
    if conclusion.workspace.facts.get("plans"):
        outcome = Exit.NOT_ACHIEVED if ended.gave_up else Exit.DONE  # a plan does nothing yet
        return conclusion.create_end_event(outcome, ended.text, loop.tally)
    from agent.prompt.prompt_intent import PromptIntent
    from agent.turn.turn_verdict import explain_verdict, judge_turn
    from agent.verify.suite_evidence import list_modified_files

    await asyncio.to_thread(list_modified_files, conclusion.workspace)  # many take a while: not in the loop
    await conclusion.keep_reproduction()
    takes_advice = work is None or work.takes_advice  # only now does `auto` know it
    if advice := await conclusion.collect_verdicts(ended, for_model=takes_advice):
        loop.inbox.append(HarnessText(advice))
        return "advised"
    withheld = conclusion.withhold_commit(commits=committer.when != "never")
    summary = f"{ended.text}\n\n{withheld}".strip() if withheld else ended.text
    facts = conclusion.collect_facts(ended, withheld=bool(withheld), can_commit=committer.may_commit)
    if not committer.prompt:  # continued after a kill, which may have taken the record of a change
        facts = replace(facts, intent=PromptIntent())
    verdict = judge_turn(facts)
    holds = verdict.outcome is Exit.DONE or (ended.is_checked and facts.gives_up and not verdict.reason)
    is_due = holds and conclusion.verification.outcome == "passed"
    if is_due:
        was_current = conclusion.evidence.get_current_report() is not None
        await conclusion.commit_turn(committer, ended)
        if takes_advice and (advice := conclusion.refused_commits.advise_model()):
            loop.inbox.append(HarnessText(advice))
            return "refused"
        if was_current and conclusion.evidence.get_current_report() is None:  # a hook has changed the files
            if advice := await conclusion.collect_verdicts(ended, for_model=takes_advice):
                loop.inbox.append(HarnessText(advice))
                return "advised"
            last = conclusion.evidence.last
            ran = str(last.report.get("outcome", "")) if last is not None else ""
            facts = replace(facts, tests=conclusion.verification.outcome, last_run=ran)
    facts = await conclusion.add_commit(facts)
    verdict = judge_turn(facts)
    summary = "\n\n".join(filter(None, [summary, explain_verdict(facts, verdict)]))
    return conclusion.conclude(verdict, summary, loop.tally)
