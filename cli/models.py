"""The models that flags, settings and environment name: the main one, and those of the other roles."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from agent.home import Home
from agent.model.base import Model
from agent.model.roles import Role, Roles
from agent.side_calls import SideCalls
from cli.settings import Settings

Notice = Callable[[str], None]


def choose_model(settings: Settings, home: Home, tell: Notice) -> Model:
    """The main model: of flags, settings and environment, in that order; without any, the offline engine."""
    from agent.model.resolve import resolve

    return resolve(main_name(settings), settings.api_base or None, os.environ, home.cache, tell)


def main_name(settings: Settings) -> str:
    """What the main model is called."""
    if settings.model:
        return settings.model
    from agent.model.resolve import default_model

    return default_model(os.environ) or "offline"


def role_makers(settings: Settings) -> Mapping[Role, Callable[[Home, Notice], Model]]:
    """Makers of the models that settings name for other roles."""
    named = {role: getattr(settings.models, role) for role in (Role.FAST, Role.PLAN, Role.JUDGE)}

    def maker(name: str) -> Callable[[Home, Notice], Model]:
        return lambda home, tell: model_called(name, settings, home, tell)

    return {role: maker(name) for role, name in named.items() if name}


def model_called(name: str, settings: Settings, home: Home, tell: Notice) -> Model:
    """A model beside the main one; at the API base of the settings only if it is of the main one's provider."""
    from agent.model.resolve import resolve

    same = name.partition("/")[0] == main_name(settings).partition("/")[0] or "/" not in name
    return resolve(name, (settings.api_base or None) if same else None, os.environ, home.cache, tell)


def side_calls(settings: Settings, home: Home, tell: Notice = lambda text: None) -> SideCalls:
    """For commands without a session: asks the roles' models; close `roles` and the main model afterwards."""
    made: list[Model] = []

    def main() -> Model:
        if not made:
            made.append(choose_model(settings, home, tell))
        return made[0]

    makers = role_makers(settings)
    others = {role: (lambda make=make: make(home, tell)) for role, make in makers.items()}
    return SideCalls(Roles(main, others))
