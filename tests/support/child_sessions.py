"""A session that starts children, in a story that a test tells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.children.children import Children
from agent.children.executor import Executor
from agent.children.spec import Runs
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval, Decision
from sandbox.policy.effects import Effect
from tests.support.sessions import play_session


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

    async def run(runtime: Runtime) -> Any:
        async with Children.open(runtime, executors) as children:
            return await story(runtime, children)

    return play_session(shop, settings, run, **request)


class Says:
    """An approver that notes what it was asked."""

    def __init__(self, verdict: str) -> None:
        self.verdict = verdict
        self.asked: list[str] = []

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        self.asked.append(question.reason)
        return replace(question, verdict=self.verdict)  # type: ignore[arg-type]
