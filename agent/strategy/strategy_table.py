"""The strategies by name. Each is imported when it is used, so that a session without one costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent.strategy.strategy_settings import TAKEN, StrategySettings
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.strategy.strategy import Strategy
    from agent.turn.runtime import Runtime
    from agent.turn.turn_end import TurnWork


def _make_single(settings: StrategySettings) -> Strategy:
    from agent.strategy.single import Single

    return Single()


def _make_pipeline(settings: StrategySettings) -> Strategy:
    from agent.strategy.pipeline.pipeline_strategy import Pipeline

    return Pipeline(settings)


def _make_sample(settings: StrategySettings) -> Strategy:
    from agent.strategy.sampling.sample_strategy import Sample

    return Sample(settings)


def _make_tree(settings: StrategySettings) -> Strategy:
    from agent.strategy.search.tree_strategy import TreeSearch

    return TreeSearch(settings)


def _make_evolve(settings: StrategySettings) -> Strategy:
    from agent.strategy.search.evolve_strategy import Evolve

    return Evolve(settings)


def _make_team(settings: StrategySettings) -> Strategy:
    from agent.strategy.team.team_strategy import TeamStrategy

    return TeamStrategy(settings)


def _make_auto(settings: StrategySettings) -> Strategy:
    from agent.strategy.auto_strategy import Auto

    return Auto(settings, make_strategy)


STRATEGIES: Mapping[str, Callable[[StrategySettings], Strategy]] = {
    "single": _make_single,
    "pipeline": _make_pipeline,
    "sample": _make_sample,
    "tree": _make_tree,
    "evolve": _make_evolve,
    "team": _make_team,
    "auto": _make_auto,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyNote:
    """What a person should know of a strategy before they choose it, a line each."""

    summary: str
    cost: str
    pays: str


NOTES: Mapping[str, StrategyNote] = {
    "single": StrategyNote(
        summary="one session works on the task",
        cost="1: the sessions of the others are compared with it",
        pays="by default, and where each step builds on the one before",
    ),
    "pipeline": StrategyNote(
        summary="code finds the places, the model writes patches without tools, what runs selects one",
        cost="one question where the first patch is right, else two; with several models one a patch",
        pays="with a weak or slow model, and in hooks, where tests fail that a few lines can mend",
    ),
    "sample": StrategyNote(
        summary="several attempts at the whole task; the best one by its tests is applied",
        cost="at most strategy.attempts times single, fewer where they agree; the time of one, on as many processors",
        pays="where the tests tell right from wrong, and one attempt often fails",
    ),
    "tree": StrategyNote(
        summary="attempts go on from the most promising ones, by the remedy of their failures",
        cost="one session where it is right at once, at most strategy.attempts; two at the same time",
        pays="where work needs several steps, and failing tests show how far a change has come",
    ),
    "evolve": StrategyNote(
        summary="a population of attempts is refined, revised, and put together where they mend different tests",
        cost="one session where it is right at once, at most strategy.attempts; none where changes merge cleanly",
        pays="where attempts mend parts of the task, each another one",
    ),
    "team": StrategyNote(
        summary="brief, plan, tests and code by separate roles; independent steps at the same time",
        cost="3 reading sessions, 1 for review, and strategy.attempts for each step; single's for work in one place",
        pays="where a task names independent places, and needs tests that do not follow the code",
    ),
    "auto": StrategyNote(
        summary="one of the others, by the task, the model, the budget, and how sessions here have ended",
        cost="a run of the suite, and what the chosen one costs",
        pays="where prompts differ; the line that says why it chose names what to change",
    ),
}
"""Notes on the strategies, by name."""


def is_known_strategy(name: str) -> bool:
    """Return whether a strategy of this program, or of a package of the user's, has this name."""
    if name in STRATEGIES:
        return True
    from sandbox.extensions import list_foreign_extensions

    return name in list_foreign_extensions("strategies")


def make_strategy(settings: StrategySettings) -> Strategy:
    """Return the strategy that settings name. Raises UserError if one of a package cannot be loaded."""
    if settings.name in STRATEGIES:
        return STRATEGIES[settings.name](settings)
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
            Fault.USAGE, f"there is no strategy {name!r}", f"Strategies: {', '.join(STRATEGIES)}."
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
