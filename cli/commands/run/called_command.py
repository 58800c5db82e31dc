"""Prompts that call a command or skill by its name: `/explain order.py`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.app_dirs import Home
from agent.model.protocol import Model
from agent.turn.runtime import Runtime


@asynccontextmanager
async def open_call(runtime: Runtime, home: Home, prompt: str, *, named: bool) -> AsyncIterator[str]:
    """Yield the prompt that a command or skill makes, else the prompt itself. Raises UserError.

    named: whether the user named a model; else the command's own answers inside the context
    """
    if not prompt.startswith("/"):
        yield prompt
        return
    from agent.extension.commands.command_prompt import expand_call

    called = await expand_call(runtime, home, prompt)
    if called is None or not called.model or named:
        yield prompt if called is None else called.prompt
        return
    from agent.model_selection import ModelSelection
    from agent.session.model_notices import make_notice_callback

    models = ModelSelection(settings=runtime.settings, env=os.environ, cache=home.cache)
    own = runtime.model
    other = runtime.apply_action_format(
        models.create_model(called.model, make_notice_callback(runtime.session))
    )
    _use_model(runtime, other)
    try:
        yield called.prompt
    finally:
        _use_model(runtime, own)
        await other.close()


def _use_model(runtime: Runtime, model: Model) -> None:
    runtime.model = runtime.loop.model = model
    runtime.loop.compressor.cold = True
    runtime.loop.compressor.window_limit = None
    runtime.workspace.facts["model"] = model.name
