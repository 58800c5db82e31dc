"""`delegate` is offered where it may pay: it costs a tenth of a short prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.session_request import SessionRequest
from agent.team.attach import attach_team, may_use_agents
from agent.turn.runtime import Runtime
from tests.support.child_sessions import settings_for
from tests.support.cli import script
from tests.support.repo import Repo


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("fix the failing test", False),
        ("What does cart.py do?", False),
        ("Let two agents look at it.", True),
        ("Search the docs and the code in parallel.", True),
        ("Do this:\n- rename total\n- add a test\n- update the docs", True),
        ("word " * 120, True),
    ],
)
def test_prompts_that_may_use_agents(prompt: str, expected: bool) -> None:
    assert may_use_agents(prompt) is expected


def test_a_session_offers_it_from_such_a_prompt_on(tmp_path: Path) -> None:
    import asyncio

    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "x = 1\n")
    repo.commit_all()
    turns = [{"text": "A cart."}, {"text": "Done.", "expect": [{"tools": ["delegate"]}]}]
    settings = settings_for(script(tmp_path, turns))

    def offers(runtime: Runtime) -> bool:
        return any(tool.name == "delegate" for tool in runtime.toolbox)

    async def run() -> None:
        home = Home.from_environment()
        runtime = assemble_runtime(settings, SessionRequest(working=repo.root), home)
        attach_team(runtime, home)
        await runtime.run_turn("What is it?")
        assert not offers(runtime)
        assert runtime.toolbox.get("delegate") is not None, "a model that calls it is served"
        assert (await runtime.run_turn("Let an agent look, too.")).exit_code == 0
        assert offers(runtime)
        await runtime.close()

    asyncio.run(run())
