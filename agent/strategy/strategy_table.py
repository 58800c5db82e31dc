"""The strategies by name. Each is imported when it is used, so that a session without one costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from agent.session_settings import TAKEN, StrategySettings
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension, read_extensions
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.strategy.strategy import Strategy
    from agent.turn.runtime import Runtime
    from agent.turn.turn_end import TurnWork


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyNote:
    """What a person should know of a strategy before they choose it, a line each."""

    summary: str
    cost: str
    pays: str


_CORE: dict[str, StrategyNote] = {
    "single": StrategyNote(
        summary="one session works on the task",
        cost="1: the sessions of the others are compared with it",
        pays="by default, and where each step builds on the one before",
    ),
    "sample": StrategyNote(
        summary="several attempts at the whole task; the best one by its tests is applied",
        cost="at most strategy.attempts times single, fewer where they agree; the time of one, on as many processors",
        pays="where the tests tell right from wrong, and one attempt often fails",
    ),
}


@cache
def read_strategies() -> Mapping[str, StrategyNote]:
    """Return the notes on the strategies of this program, by name."""
    added = read_extensions("strategies")
    return _CORE | {
        name: StrategyNote(summary=each["summary"], cost=each["cost"], pays=each["pays"])
        for name, each in added.items()
    }


def is_known_strategy(name: str) -> bool:
    """Return whether a strategy of this program, or of a package of the user's, has this name."""
    if name in read_strategies():
        return True
    from sandbox.extensions import list_foreign_extensions

    return name in list_foreign_extensions("strategies")


def make_strategy(settings: StrategySettings) -> Strategy:
    """Return the strategy that settings name. Raises UserError if one of a package cannot be loaded."""
    if settings.name == "single":
        from agent.strategy.single import Single

        return Single()
    if settings.name == "sample":
        from agent.strategy.sampling.sample_strategy import Sample

        return Sample(settings)
    own: Strategy
    if settings.name in read_strategies():
        own = load_extension("strategies", settings.name)(settings)
        return own
    from sandbox.extensions import load_foreign_extension

    make = load_foreign_extension("strategies", settings.name)
    try:
        made: Strategy = make(settings)
    except Exception as error:  # of other people's code: its name and the cause are told
        raise UserError(
            Fault.CONFIGURATION,
            f"the strategy {settings.name!r} cannot be made: {type(error).__name__}: {error}",
        ) from error
    return made


def check_strategy_name(name: str) -> None:
    """Raise UserError for a name of no strategy."""
    if not is_known_strategy(name):
        raise UserError(
            Fault.USAGE, f"there is no strategy {name!r}", f"Strategies: {', '.join(read_strategies())}."
        )


def choose_work(runtime: Runtime, settings: StrategySettings, prompt: str | None) -> TurnWork | None:
    """Return the work of the next turn, None for the loop without a budget.

    prompt: None continues the last turn, by the strategy with which it began; only the cluster is that of `settings`

    Raises UserError if the log holds no such strategy.
    """
    if prompt is None:
        from agent.strategy.logged_work import read_interrupted_work, read_logged_strategy

        begun = read_interrupted_work(runtime.session.replayed)
        if begun.get("name") == TAKEN:
            from agent.strategy.person.taken_attempt import TakenAttempt

            return TakenAttempt.from_settings(runtime, begun)
        if not is_known_strategy(str(begun.get("name", "single"))):
            begun = {}
        settings = read_logged_strategy(begun, settings) if begun else StrategySettings()
    if settings.name == "single":
        if not settings.budget:
            return None
        from agent.strategy.single import BudgetedLoop

        return BudgetedLoop(runtime, settings.budget)
    from agent.strategy.strategy import StrategyWork

    return StrategyWork(runtime, make_strategy(settings), settings, is_resumed=prompt is None)
