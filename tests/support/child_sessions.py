"""A session that starts children, in a story that a test tells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.children.children import Children
from agent.children.executor import Executor
from agent.children.spec import Runs
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval


def settings_for(model: str, **access: Any) -> SessionSettings:
    """Settings of a session that asks nobody, its commands unconfined."""
    given = {"approval": Approval.NEVER, "sandbox": "unconfined", **access}
    return SessionSettings(model=model, access=AccessSettings(**given))


def play(
    shop: Path,
    settings: SessionSettings,
    story: Callable[[Runtime, Children], Awaitable[Any]],
    executors: Mapping[Runs, Executor] | None = None,
    **request: Any,
) -> Any:
    """Open a session, tell the story with its children, close both."""

    async def run() -> Any:
        runtime = assemble_runtime(settings, SessionRequest(working=shop, **request), Home.from_environment())
        children = Children(runtime, executors)
        try:
            return await story(runtime, children)
        finally:
            await children.close()
            await runtime.close()

    return asyncio.run(run())
