"""A session in this process, in a story that a test tells."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime


def play_session(
    root: Path, settings: SessionSettings, story: Callable[[Runtime], Awaitable[Any]], **request: Any
) -> Any:
    """Open a session in a folder, tell the story, close it; returns what the story does."""

    async def run() -> Any:
        runtime = assemble_runtime(settings, SessionRequest(working=root, **request), Home.from_environment())
        try:
            return await story(runtime)
        finally:
            await runtime.close()

    return asyncio.run(run())
