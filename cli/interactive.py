"""The interactive session: assemble a runtime and hand it to the REPL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.home import Home
from agent.model.base import Model
from agent.runtime import Runtime, notice
from cli.models import model_called
from cli.run import NO_MODEL, Invocation, settings_for
from cli.run import make_runtime as assembled


def interactive(folder: Path, flags: Mapping[str, Any], *, session: str, commit: bool) -> int:
    """Open the REPL in a folder, in a new session or in an existing one. Nothing is committed unasked."""
    from cli.repl import Opening, start

    home = Home.from_environment()
    invocation = Invocation(folder=folder, flags=flags, session=session, offer_commit=commit, commit=False)
    settings = settings_for(invocation, home)
    invocation = replace(invocation, approval=settings.approval)

    def make_runtime(session: str) -> Runtime:
        return assembled(replace(invocation, session=session), home, settings)

    def make_model(runtime: Runtime, name: str) -> Model:
        return model_called(name, settings, home, notice(runtime.session))

    return start(
        Opening(
            make_runtime=make_runtime,
            make_model=make_model,
            settings=settings,
            home=home,
            notice=NO_MODEL,
        ),
        session,
    )
