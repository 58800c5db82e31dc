"""The strategies by name. Each is imported when it is used, so that a session without one costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from agent.events import Prompt
from agent.strategy.strategy_settings import StrategySettings
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.strategy.strategy import Strategy
    from agent.turn.runtime import Runtime
    from agent.turn.turn_end import TurnWork


def _make_single(settings: StrategySettings) -> Strategy:
    from agent.strategy.single import Single

    return Single()


def _make_sample(settings: StrategySettings) -> Strategy:
    from agent.strategy.sample import Sample

    return Sample(settings)


def _make_team(settings: StrategySettings) -> Strategy:
    from agent.strategy.team.team_strategy import TeamStrategy

    return TeamStrategy(settings)


STRATEGIES: Mapping[str, Callable[[StrategySettings], Strategy]] = {
    "single": _make_single,
    "sample": _make_sample,
    "team": _make_team,
}


def check_strategy_name(name: str) -> None:
    """Raise UserError for a name of no strategy."""
    if name not in STRATEGIES:
        raise UserError(
            Fault.USAGE, f"there is no strategy {name!r}", f"Strategies: {', '.join(STRATEGIES)}."
        )


def choose_work(runtime: Runtime, settings: StrategySettings, prompt: str | None) -> TurnWork | None:
    """Return the work of the next turn, None for the loop.

    prompt: None continues the last turn, by the strategy with which it began
    """
    if prompt is None:
        settings = _read_interrupted_strategy(runtime)
    if settings.name == "single":
        return None
    from agent.strategy.strategy import StrategyWork

    return StrategyWork(runtime, STRATEGIES[settings.name](settings), settings)


def _read_interrupted_strategy(runtime: Runtime) -> StrategySettings:
    history = runtime.session.replayed
    prompt = history.get_event(f"e{history.find_newest_place('prompt')}")
    begun = prompt.strategy if isinstance(prompt, Prompt) else None
    if not begun or begun.get("name") not in STRATEGIES:
        return StrategySettings()
    known = {each.name for each in fields(StrategySettings)}
    return StrategySettings(**{name: value for name, value in begun.items() if name in known})
