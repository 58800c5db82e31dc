"""Strategies of packages in the user's environment, by their entry points.

Only the folders of installed packages of this Python are looked at, never the present folder: a repository names none.
"""

from __future__ import annotations

import site
from importlib.metadata import EntryPoint, distributions
from typing import TYPE_CHECKING

from agent.strategy.strategy_settings import StrategySettings
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.strategy.strategy import Strategy

GROUP = "patchwright.strategies"
"""Group of the entry points. Each names a callable that gets the settings and returns a strategy."""


def list_user_strategies() -> dict[str, EntryPoint]:
    """Return the entry points by name, in order; of two with one name the first found counts."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    found: dict[str, EntryPoint] = {}
    for package in distributions(path=folders):
        for each in package.entry_points.select(group=GROUP):
            found.setdefault(each.name, each)
    return dict(sorted(found.items()))


def make_user_strategy(name: str, settings: StrategySettings) -> Strategy:
    """Return the strategy of a package. Raises UserError if it cannot be loaded."""
    entry = list_user_strategies().get(name)
    if entry is None:
        raise UserError(Fault.CONFIGURATION, f"there is no strategy {name!r}")
    try:
        made: Strategy = entry.load()(settings)
    except Exception as error:  # of other people's code: its name and the cause are told
        raise UserError(
            Fault.CONFIGURATION,
            f"strategy {name!r} cannot be loaded: {type(error).__name__}: {error}",
            f"It is named by an entry point: {entry.value}",
        ) from error
    return made
