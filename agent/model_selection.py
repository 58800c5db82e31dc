"""Models that settings name: the main one, and those of the other roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import SETTINGS_FILE
from agent.model.model_settings import CatalogSettings
from agent.model.protocol import UNPAID, Model
from agent.session_settings import SessionSettings
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.model_factory import ModelConfig
    from agent.model.model_settings import Effort
    from agent.model.providers.model_catalog import Listing
    from agent.model.routing.roles import Role
    from agent.turn.side_calls import SideCalls

Notice = Callable[[str], None]


def _ignore_notice(text: str) -> None:
    """Ignore a line about a retry or a fallback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSelection:
    """Creates the models that the settings of a session name.

    env: variables that hold keys and addresses
    cache: folder for data that can be recreated
    """

    settings: SessionSettings
    env: Mapping[str, str] = field(repr=False)
    cache: Path

    @property
    def main_name(self) -> str:
        """Name of the main model: of the settings, else of the first key in the environment, else "offline"."""
        if self.settings.model:
            return self.settings.model
        from agent.model.model_factory import choose_default_model

        return choose_default_model(self.env) or "offline"

    def create_main_model(self, tell: Notice = _ignore_notice, *, apply_doubtful: bool = False) -> Model:
        """Return the main model, wrapped with the fallback and relay models that the settings name.

        Raises UserError. apply_doubtful: see `agent.model.model_factory.ModelConfig`
        """
        name, models = self.main_name, self.settings.models
        model = self.create_model(name, tell, apply_doubtful=apply_doubtful)
        if models.fallback and not name.startswith(UNPAID):
            from agent.model.routing.fallback import Fallback

            others = [(each, partial(self.create_model, each, tell)) for each in models.fallback]
            model = Fallback(model, others, on_notice=tell)
        if models.relay and models.plan and not name.startswith(UNPAID):
            from agent.model.routing.planner_executor import PlannerExecutor

            planner = self.create_model(models.plan, tell, effort=models.plan_effort)
            model = PlannerExecutor(planner, model, on_notice=tell)
        return model

    def create_model(
        self,
        name: str,
        tell: Notice = _ignore_notice,
        *,
        apply_doubtful: bool = False,
        effort: Effort = "",
    ) -> Model:
        """Create a model by name; at the API base of the settings only if it has the main model's provider.

        effort: in place of that of the settings
        """
        from agent.model.model_factory import create_model

        self.check_price(name)
        config = self._build_config(name, tell, apply_doubtful=apply_doubtful)
        return create_model(name, replace(config, effort=effort or config.effort))

    def build_config(self, name: str) -> ModelConfig:
        """Return the configuration with which the model called `name` would be created."""
        return self._build_config(name)

    def identify_models(self) -> tuple[str, ...]:
        """Return what the names of the main model, the roles', the fallback's and the attempts' mean here, "" for a
        role without."""
        models = self.settings.models
        named = (
            *(self.main_name, models.fast, models.plan, models.judge),
            *models.fallback,
            *self.settings.strategy.models,
        )
        return tuple(self.identify_model(each) if each else "" for each in named)

    def identify_model(self, name: str) -> str:
        """Return provider, name and address of the model called `name` here."""
        from agent.model.model_factory import identify_model

        return identify_model(name, self._build_config(name))

    def build_role_makers(self, tell: Notice = _ignore_notice) -> Mapping[Role, Callable[[], Model]]:
        """Return factories of the models that the settings name for other roles, or give an effort of their own."""
        models = self.settings.models
        efforts = (models.fast_effort, models.plan_effort, models.judge_effort)
        if not any((models.fast, models.plan, models.judge, *efforts)):
            return {}
        from agent.model.routing.roles import Role

        named: Mapping[Role, tuple[str, Effort]] = {
            Role.FAST: (models.fast, models.fast_effort),
            Role.PLAN: (models.plan, models.plan_effort),
            Role.JUDGE: (models.judge, models.judge_effort),
        }
        main = "" if self.main_name.startswith(UNPAID) else self.main_name
        return {
            role: partial(self.create_model, name or main, tell, effort=effort)
            for role, (name, effort) in named.items()
            if name or (main and effort and effort != models.effort)
        }

    def create_side_calls(self, tell: Notice = _ignore_notice) -> SideCalls:
        """Create side calls to the roles' models for commands without a session; the caller closes `roles` and
        the main model."""
        from agent.model.routing.roles import Roles
        from agent.turn.side_calls import SideCalls

        made: list[Model] = []

        def get_main_model() -> Model:
            if not made:
                made.append(self.create_main_model(tell))
            return made[0]

        return SideCalls(Roles(get_main_model, self.build_role_makers(tell)))

    def check_prices(self) -> None:
        """Raise UserError if there is a cost limit and a model that may be used has no known price."""
        models = self.settings.models
        for name in (self.main_name, models.fast, models.plan, models.judge, *models.fallback):
            if name:
                self.check_price(name)

    def check_price(self, name: str) -> None:
        """Raise UserError if there is a cost limit and the price of the model called `name` is not known."""
        if self.settings.limits.max_cost is None or name.startswith(UNPAID):
            return
        from agent.budget.budget_text import parse_budget
        from agent.model.model_factory import find_listing

        budget = parse_budget(self.settings.strategy.budget)
        option = "--budget" if self.settings.limits.max_cost == budget.dollars else "--max-cost"
        known = find_listing(name, self._build_config(name))
        if known is None or not known.prices:
            raise UserError(
                Fault.CONFIGURATION,
                f"{option} cannot hold: the price of {name!r} is not known",
                f"Give it in {SETTINGS_FILE}, in dollars for a million tokens:"
                f" [models.catalog.{json.dumps(name)}] with input = … and output = …;"
                " or limit tokens instead: --max-tokens N",
            )

    def _build_config(
        self, name: str, tell: Notice = _ignore_notice, *, apply_doubtful: bool = False
    ) -> ModelConfig:
        from agent.model.model_factory import ModelConfig

        models = self.settings.models
        same = name.partition("/")[0] == self.main_name.partition("/")[0] or "/" not in name
        return ModelConfig(
            api_base=(self.settings.api_base or None) if same else None,
            env=self.env,
            cache=self.cache,
            on_notice=tell,
            effort=models.effort,
            temperature=models.temperature,
            keep_cache=models.cache == "long",
            service=models.service,
            listings={each: _build_listing(given) for each, given in models.catalog.items()},
            limits=models.limits,
            apply_doubtful=apply_doubtful,
            commits=(self.settings.commit or "never") != "never",
        )


def _build_listing(given: CatalogSettings) -> Listing:
    from agent.model.providers.model_catalog import Listing, Price

    prices: tuple[Price, ...] = ()
    if given.input is not None and given.output is not None:
        cached = given.input if given.cached is None else given.cached
        prices = (Price(0, given.input / 1e6, given.output / 1e6, cached / 1e6),)
    return Listing(window=given.window, prices=prices, tools=given.tools, images=given.images)
