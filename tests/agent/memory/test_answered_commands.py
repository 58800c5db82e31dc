"""Commands that keep failing here are answered with what worked here, never with what somebody else claims."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.memory.memory_store import MemoryStore
from agent.memory.records import Lesson, Origin
from agent.memory.session_memory import FAILURES, SessionMemory
from agent.monitor.answers import GO_ON, Refuse
from sandbox.policy.effects import Effect
from tests.support.repo import Repo
from tools.core.action import Action
from tools.core.action_guard import BegunAction


@pytest.mark.parametrize(
    ("origin", "is_answered"), [("code", True), ("repository", False), ("import", False)]
)
def test_only_what_was_seen_here_answers_a_command(origin: Origin, is_answered: bool, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "x.sqlite")
    store.put_lessons(
        [
            Lesson(
                id="L00000001",
                kind="command",
                claim="c",
                use="make test",
                purpose="test",
                origin=origin,
                created=4e9,
                seen=4e9,
            )
        ]
    )
    for _ in range(FAILURES):
        store.count_failure("pytest -q", "pytest: command not found")
    memory = SessionMemory(store, Repo(tmp_path / "shop").workspace(), 600)
    action = Action(id="1", tool="shell", arguments={"command": "pytest -q"})
    answer = asyncio.run(memory.before_action(BegunAction(action=action, effect=Effect(kind="execute"))))
    if is_answered:
        assert isinstance(answer, Refuse)
        assert "`make test` worked" in answer.reason
    else:
        assert answer is GO_ON
