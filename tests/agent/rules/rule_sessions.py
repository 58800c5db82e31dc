"""Sessions under rules: a small repository, a scripted model, and what was blocked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import End, Event, ObservationEvent, RuleEvent
from agent.rules.rule_kinds import UserRule
from agent.rules.rule_parsing import check_rules, parse_rules
from agent.session.log import read_events
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings, When
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval, Mode
from tests.support.cli import git, script
from tools.core.tool_settings import TestSettings, ToolSettings

TESTS = "test ! -e broken"
"""Command that stands for a suite: a real runner takes seconds, and none of these tests is about one."""


def make_shop(folder: Path) -> Path:
    """A repository with a module, its test and a changelog."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    (folder / "test_cart.py").write_text(
        "import cart\n\n\ndef test_total():\n    assert cart.total([1, 2]) == 3\n"
    )
    (folder / "CHANGELOG.md").write_text("# Changes\n")
    (folder / "vendor").mkdir()
    (folder / "vendor" / "lib.py").write_text("LIB = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def make_rules(*tables: Mapping[str, Any]) -> tuple[UserRule, ...]:
    return check_rules(parse_rules(tables, "rules.toml"))


def calls(*actions: Mapping[str, Any]) -> dict[str, Any]:
    """A reply with these actions."""
    return {"calls": list(actions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """end: of the turn; events: of the log; shop: the folder"""

    end: End
    events: Sequence[Event]
    shop: Path
    folder: Path

    @property
    def blocked(self) -> list[tuple[str, str]]:
        """(rule, answer) of each action that broke one."""
        return [(each.rule, each.answer) for each in self.events if isinstance(each, RuleEvent)]

    @property
    def observations(self) -> list[ObservationEvent]:
        return [each for each in self.events if isinstance(each, ObservationEvent)]

    def read(self, path: str) -> str | None:
        file = self.shop / path
        return file.read_text() if file.exists() else None


def settings_for(
    model: str,
    rules: tuple[UserRule, ...],
    *,
    sandbox: str = "auto",
    mode: str = "workspace",
    approval: str = "never",
    commit: When = "never",
) -> SessionSettings:
    return SessionSettings(
        model=model,
        rules=rules,
        commit=commit,
        access=AccessSettings(approval=Approval(approval), sandbox=sandbox, mode=Mode(mode)),
        tools=ToolSettings(tests=TestSettings(command=TESTS)),
    )


def play(
    shop: Path,
    turns: Sequence[Mapping[str, Any]],
    *rules: Mapping[str, Any],
    sandbox: str = "auto",
    mode: str = "workspace",
    approval: str = "never",
    commit: When = "never",
    story: Callable[[Runtime], Awaitable[None]] | None = None,
    **request: Any,
) -> Played:
    """Play one turn of a scripted model under rules."""
    model = script(shop.parent, [*turns, {"text": "done"}])
    settings = settings_for(
        model, make_rules(*rules), sandbox=sandbox, mode=mode, approval=approval, commit=commit
    )

    async def run() -> Played:
        runtime = assemble_runtime(settings, SessionRequest(working=shop, **request), Home.from_environment())
        try:
            end = await runtime.run_turn("do it")
            if story is not None:
                await story(runtime)
        finally:
            await runtime.close()
        folder = runtime.session.folder
        return Played(end=end, events=list(read_events(folder)), shop=shop, folder=folder)

    return asyncio.run(run())
