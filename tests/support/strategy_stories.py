"""A small shop whose total has a wrong sign, and turns of strategies in it, with real git, tests and commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from agent.events import End, Event
from agent.session.log import read_events
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tools.core.tool_settings import ToolSettings

Kind = TypeVar("Kind", bound=Event)

TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""


@dataclass
class Story:
    """A repository, and the log of the last session in it."""

    repo: Repo
    log: Path = field(default_factory=Path)

    @classmethod
    def create(cls, folder: Path, files: dict[str, str] | None = None) -> Story:
        repo = Repo(folder / "shop")
        given = files or {"cart.py": "def total(prices):\n    return -sum(prices)\n", "test_cart.py": TEST}
        for path, content in given.items():
            repo.write(path, content)
        repo.commit_all()
        return cls(repo)


def build_settings(
    model: str, strategy: StrategySettings, *, sandbox: str = "unconfined", **more: Any
) -> SessionSettings:
    """Return settings of a session in the shop, which commits right turns."""
    tools = ToolSettings()
    tools = replace(tools, tests=replace(tools.tests, command="python3 -m unittest"))
    return SessionSettings(
        model=model,
        access=AccessSettings(approval=Approval.NEVER, sandbox=sandbox),
        tools=tools,
        commit="turn",
        strategy=strategy,
        **more,
    )


def tell_story(
    story: Story,
    model: str,
    strategy: StrategySettings,
    prompt: str | None = "mend the total",
    *,
    session: str = "",
    watch: Callable[[Runtime], None] = lambda runtime: None,
    **more: Any,
) -> End:
    """Take one turn by a strategy; what is right is committed.

    prompt: None to go on with the unfinished turn of a session; watch: called before it begins
    """
    settings = build_settings(model, strategy, **more)

    async def play(runtime: Runtime) -> End:
        story.log = runtime.session.folder
        watch(runtime)
        return await runtime.run_turn(prompt, choose_work(runtime, strategy, prompt))

    return play_session(story.repo.root, settings, play, session=session)  # type: ignore[no-any-return]


def read_events_of(story: Story, kind: type[Kind]) -> list[Kind]:
    """Return the events of a kind in the log of the session."""
    return [each for each in read_events(story.log) if isinstance(each, kind)]
