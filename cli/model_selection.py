"""Models named by flags, settings and environment: the main one, and those of the other roles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.model.protocol import UNPAID, Model
from agent.model.routing.roles import Role, Roles
from agent.turn.side_calls import SideCalls
from cli.settings.settings_files import FILE
from cli.settings.settings_types import CatalogSettings, Settings
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.model.model_factory import ModelConfig
    from agent.model.providers.model_catalog import Listing

Notice = Callable[[str], None]


def choose_model(settings: Settings, home: Home, tell: Notice, *, apply_doubtful: bool = False) -> Model:
    """Return the main model: from flags, settings and environment, in that order; without any, the offline engine.

    Wrapped with the fallback and relay models that the settings name.
    apply_doubtful: see `agent.model.model_factory.ModelConfig`
    """
    name = find_main_model_name(settings)
    model = make_named_model(name, settings, home, tell, apply_doubtful=apply_doubtful)
    if settings.models.fallback and not name.startswith(UNPAID):
        from agent.model.routing.fallback import Fallback

        others = [
            (each, lambda each=each: make_named_model(each, settings, home, tell))
            for each in settings.models.fallback
        ]
        model = Fallback(model, others, on_notice=tell)
    if settings.models.relay and settings.models.plan and not name.startswith(UNPAID):
        from agent.model.routing.planner_executor import PlannerExecutor

        model = PlannerExecutor(
            make_named_model(settings.models.plan, settings, home, tell), model, on_notice=tell
        )
    return model


def find_main_model_name(settings: Settings) -> str:
    """Return the name of the main model."""
    if settings.model:
        return settings.model
    from agent.model.model_factory import choose_default_model

    return choose_default_model(os.environ) or "offline"


def build_role_makers(settings: Settings) -> Mapping[Role, Callable[[Home, Notice], Model]]:
    """Return factories of the models that settings name for other roles."""
    named = {role: getattr(settings.models, role) for role in (Role.FAST, Role.PLAN, Role.JUDGE)}

    def make_role_maker(name: str) -> Callable[[Home, Notice], Model]:
        return lambda home, tell: make_named_model(name, settings, home, tell)

    return {role: make_role_maker(name) for role, name in named.items() if name}


def make_named_model(
    name: str, settings: Settings, home: Home, tell: Notice, *, apply_doubtful: bool = False
) -> Model:
    """Create a model by name; at the API base of the settings only if it has the main model's provider."""
    from agent.model.model_factory import create_model

    check_price(name, settings, home)
    return create_model(
        name, replace(_build_context(name, settings, home, tell), apply_doubtful=apply_doubtful)
    )


def check_prices(settings: Settings, home: Home) -> None:
    """Raise UserError if there is a cost limit and a model that may be used has no known price."""
    models = settings.models
    for name in (find_main_model_name(settings), models.fast, models.plan, models.judge, *models.fallback):
        if name:
            check_price(name, settings, home)


def check_price(name: str, settings: Settings, home: Home) -> None:
    """Raise UserError if there is a cost limit and the price of the model called `name` is not known."""
    if settings.max_cost is None or name.startswith(UNPAID):
        return
    from agent.model.model_factory import find_listing

    known = find_listing(name, _build_context(name, settings, home))
    if known is None or not known.prices:
        raise UserError(
            Fault.CONFIGURATION,
            f"--max-cost cannot hold: the price of {name!r} is not known",
            f"Give it in {FILE}, in dollars for a million tokens: [models.catalog.{json.dumps(name)}] with"
            " input = … and output = …; or limit tokens instead: --max-tokens N",
        )


def _build_context(
    name: str, settings: Settings, home: Home, tell: Notice = lambda text: None
) -> ModelConfig:
    from agent.model.model_factory import ModelConfig

    same = name.partition("/")[0] == find_main_model_name(settings).partition("/")[0] or "/" not in name
    return ModelConfig(
        api_base=(settings.api_base or None) if same else None,
        env=os.environ,
        cache=home.cache,
        on_notice=tell,
        effort=settings.models.effort,
        listings={each: _build_listing(given) for each, given in settings.models.catalog.items()},
    )


def _build_listing(given: CatalogSettings) -> Listing:
    from agent.model.providers.model_catalog import Listing, Price

    prices: tuple[Price, ...] = ()
    if given.input is not None and given.output is not None:
        cached = given.input if given.cached is None else given.cached
        prices = (Price(0, given.input / 1e6, given.output / 1e6, cached / 1e6),)
    return Listing(window=given.window, prices=prices, tools=given.tools, images=given.images)


def make_side_calls(settings: Settings, home: Home, tell: Notice = lambda text: None) -> SideCalls:
    """Create side calls to the roles' models for commands without a session; the caller closes `roles` and
    the main model."""
    made: list[Model] = []

    def get_main_model() -> Model:
        if not made:
            made.append(choose_model(settings, home, tell))
        return made[0]

    makers = build_role_makers(settings)
    others = {role: (lambda make=make: make(home, tell)) for role, make in makers.items()}
    return SideCalls(Roles(get_main_model, others))
