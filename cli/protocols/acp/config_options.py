"""Options of a session that its client can change: the model, and how much it thinks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SessionConfigSelectOption,
)

from agent.app_dirs import Home
from agent.model.model_settings import EFFORTS
from agent.model_selection import ModelSelection
from agent.session.model_notices import make_notice_callback
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

MODEL, EFFORT = "model", "effort"
"""Ids of the options."""

_UNSET = "default"
"""Value of the protocol for the effort that is not set."""

MOST_MODELS = 20
"""Models that are offered beside those of the settings: a client sends its user through them in one list."""

Option = SessionConfigOptionSelect | SessionConfigOptionBoolean


class ConfigOptions:
    """Options of one session; a change holds from the next request on."""

    def __init__(self, runtime: Runtime, settings: SessionSettings, home: Home) -> None:
        self._runtime = runtime
        self._settings = settings
        self._home = home
        self._name = runtime.model.name
        self._offers: list[tuple[str, str]] = []

    def describe(self) -> Sequence[Option]:
        """Return the options with their present values."""
        current = self._runtime.model.name
        offers = self._list_models()
        if current not in dict(offers):
            offers.insert(0, (current, "in use"))
        groups: dict[str, list[SessionConfigSelectOption]] = {}
        for name, about in offers:
            groups.setdefault(name.partition("/")[0], []).append(
                SessionConfigSelectOption(
                    value=name, name=sanitize_text(name), description=sanitize_text(about)
                )
            )
        models = [
            SessionConfigSelectGroup(group=provider, name=sanitize_text(provider), options=options)
            for provider, options in groups.items()
        ]
        efforts = [SessionConfigSelectOption(value=_UNSET, name="As the provider has it")]
        efforts += [SessionConfigSelectOption(value=each, name=each.capitalize()) for each in EFFORTS]
        return [
            SessionConfigOptionSelect(
                type="select",
                id=MODEL,
                name="Model",
                description="other models of a provider can be set by their names",
                category="model",
                current_value=current,
                options=models,
            ),
            SessionConfigOptionSelect(
                type="select",
                id=EFFORT,
                name="Thinking",
                description="how much the model thinks, where it can",
                category="thought_level",
                current_value=self._settings.models.effort or _UNSET,
                options=efforts,
            ),
        ]

    async def set_value(self, option: str, value: str | bool) -> None:
        """Change an option. Raises UserError."""
        if not isinstance(value, str):
            raise UserError(Fault.USAGE, f"the option {option[:60]!r} takes one of its values, as text")
        if option == MODEL:
            await self.use_model(value)
        elif option == EFFORT:
            effort = "" if value == _UNSET else value
            if effort and effort not in EFFORTS:
                choices = ", ".join((_UNSET, *EFFORTS))
                raise UserError(Fault.USAGE, f"there is no effort {value[:60]!r}", f"One of: {choices}")
            models = replace(self._settings.models, effort=effort)  # type: ignore[arg-type]  # checked above
            self._settings = replace(self._settings, models=models)
            await self.use_model(self._runtime.model.name)
        else:
            raise UserError(Fault.USAGE, f"there is no option {option[:60]!r}", f"Options: {MODEL}, {EFFORT}")

    async def use_model(self, name: str) -> None:
        """Use another model from the next request on. Raises UserError."""
        models = ModelSelection(settings=self._settings, env=os.environ, cache=self._home.cache)
        await self._runtime.switch_model(
            models.create_model(name, make_notice_callback(self._runtime.session))
        )

    def _list_models(self) -> list[tuple[str, str]]:
        """Return the models that are known without asking a server; read once."""
        if not self._offers:
            from agent.model.model_offers import OFFLINE, list_known_offers
            from agent.model.newest_offers import select_newest

            selection = ModelSelection(settings=self._settings, env=os.environ, cache=self._home.cache)
            found = list_known_offers(selection, [self._name])
            newest = select_newest((each for each in found if each.is_listed), MOST_MODELS)
            known = [*(each for each in found if not each.is_listed), *newest, OFFLINE]
            self._offers = [(each.name, each.source) for each in known]
        return list(self._offers)
