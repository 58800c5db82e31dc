"""Check of the variables that trials on other machines have: the models there must be those that are meant here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.model_selection import ModelSelection
from agent.session_settings import SessionSettings
from sandbox.errors import Fault, UserError


def check_passed_variables(
    settings: SessionSettings, user_model: str, here: Mapping[str, str], passed: Mapping[str, str]
) -> None:
    """Raise UserError if the settings name a model that another machine would look for elsewhere, or another default.

    user_model: plays users, "" for none; here, passed: variables of this machine, and those that trials have
    """
    mine, theirs = _select(settings, here), _select(settings, passed)
    if mine.main_name != theirs.main_name:
        raise UserError(
            Fault.USAGE,
            f"no --env passes the key of {mine.main_name!r}, the default model here, to the trials",
            "Name a model with --model, and pass the variable of its key with --env.",
        )
    meant = _identify(theirs, user_model)
    missing = [
        name
        for name, value in sorted(here.items())
        if name not in passed and _identify(_select(settings, {**passed, name: value}), user_model) != meant
    ]
    if missing:
        raise UserError(
            Fault.USAGE,
            f"{missing[0]} is set here and not passed: trials would look for a model at another address",
            f"Pass it with --env {missing[0]}, give --api-base URL, or unset it.",
        )


def _select(settings: SessionSettings, env: Mapping[str, str]) -> ModelSelection:
    return ModelSelection(settings=settings, env=env, cache=Path())


def _identify(selection: ModelSelection, user_model: str) -> tuple[str, ...]:
    users = (selection.identify_model(user_model),) if user_model else ()
    return (*selection.identify_models(), *users)
