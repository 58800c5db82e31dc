"""`sample`: several attempts at one task, each a child session in its own worktree; the best patch is applied.

Attempts differ on purpose (`diversity`), and no more are made than are worth their price (`stopping`). The session
treats the change like any other: it can be undone, is tested again in the workspace, and a commit contains it and none
of the user's changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agent.children.spec import ChildSpec
from agent.exit_codes import Exit
from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.race import race_attempts
from agent.strategy.refinement import Refinement
from agent.strategy.sampling.diversity import Variation, list_starting_places, vary_attempt
from agent.strategy.sampling.stopping import explain_stop, read_outcome
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True)
class Sample:
    """Independent attempts, of which executed tests choose one. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        given = self.settings
        turn.check_prices(given.models)
        base = await turn.commit_files()
        numbers = range(1, given.attempts + 1)
        waiting = [number for number in numbers if not turn.is_done(number)]
        needs_places = not given.hints and len(numbers) > 2 and bool(waiting)
        places = await list_starting_places(turn) if needs_places else []
        attempts = {
            each: partial(self._attempt, turn, each, base, waiting, vary_attempt(each, given, places))
            for each in numbers
        }

        refinement = Refinement(turn)

        async def find_stop(made: Sequence[Candidate]) -> str:
            return explain_stop(
                [
                    read_outcome(each, turn.read_patch(each), refinement.list_failing(each))
                    for each in made
                    if not each.is_stopped
                ]
            )

        made = await race_attempts(turn, attempts, find_stop)
        # A run of the suite without a change tells what a failed one is worth; one that passed needs none.
        has_failed = all(each.exit_code != Exit.DONE for each in made)
        return await apply_best(turn, made, refinement if has_failed else None)

    async def _attempt(
        self, turn: StrategyTurn, number: int, base: str, waiting: list[int], variation: Variation
    ) -> Candidate:
        """Make one attempt. waiting: those that have not begun, which share what is left of the budget"""
        async with turn.slots:
            share = None
            if number in waiting:
                share = turn.divide_budget(len(waiting))
                waiting.remove(number)
            spec = ChildSpec(
                prompt=turn.prompt,
                instructions=variation.hint,
                model=variation.model,
                temperature=variation.temperature,
                limits=turn.build_limits(),
                share=share,
                place="worktree",
                base=base,
            )
            return await turn.attempt(number, spec, hint=variation.hint)
