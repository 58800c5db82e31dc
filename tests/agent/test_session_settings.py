"""A session starts from the agent floor alone: from settings, which are copied with changes for another one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.exit_codes import Exit
from agent.model.http.http_model import HttpModel
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.model.routing.fallback import Fallback
from agent.model.routing.planner_executor import PlannerExecutor
from agent.model.routing.roles import Role
from agent.model_selection import ModelSelection
from agent.session_request import SessionRequest
from agent.session_settings import ContextSettings, LimitSettings, SessionSettings
from sandbox.access_settings import AccessSettings
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode
from tests.support.asking import ask, user
from tests.support.cli import CHECKOUT, call, git, script
from tests.support.loopback import Loopback

WRITE = {"calls": [call("write", path="made.txt", content="made\n")]}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


@pytest.mark.slow
def test_a_session_and_a_read_only_one_like_it_start_without_the_cli_floor(
    shop: Path, tmp_path: Path
) -> None:
    """In a process of its own: no module of `cli` is imported by then."""
    parent = script(tmp_path, [WRITE, {"text": "made it"}], "parent.json")
    refused = {"text": "I may not", "expect": ["there is no tool 'write'"]}
    child = script(tmp_path, [{"calls": [call("write", path="other.txt", content="x")]}, refused])
    program = f"""
        import asyncio, json, sys
        from dataclasses import replace
        from pathlib import Path
        from agent.app_dirs import Home
        from agent.assemble import assemble_runtime
        from agent.session_request import SessionRequest
        from agent.session_settings import SessionSettings
        from sandbox.policy.decision import Approval, Mode

        settings = SessionSettings(model={parent!r})
        settings = replace(settings, access=replace(settings.access, approval=Approval.NEVER, sandbox="unconfined"))
        child = replace(
            settings,
            model={child!r},
            access=replace(settings.access, mode=Mode.READ_ONLY),
            limits=replace(settings.limits, max_steps=5),
        )

        async def run(each):
            runtime = assemble_runtime(each, SessionRequest(working=Path({str(shop)!r})), Home.from_environment())
            try:
                end = await runtime.run_turn("write it")
            finally:
                await runtime.close()
            tools = sorted(tool.name for tool in runtime.toolbox)
            return {{"outcome": end.outcome, "tools": tools, "shared": runtime.workspace.settings is settings.tools}}

        print(json.dumps([asyncio.run(run(settings)), asyncio.run(run(child))]))
        unused = {{"cli", "mcp", "mcp_types", "httpx2"}}  # no server is named
        print(json.dumps(sorted(name for name in sys.modules if name.partition(".")[0] in unused)))
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (first, second), imported = map(json.loads, done.stdout.splitlines())
    assert imported == []
    assert (shop / "made.txt").read_text() == "made\n"
    assert not (shop / "other.txt").exists()
    assert (first["outcome"], second["outcome"]) == (Exit.NO_TEST_RUNNER.label, Exit.DONE.label)
    assert "write" in first["tools"]
    assert "write" not in second["tools"]
    assert first["shared"]
    assert second["shared"], "the tools of both sessions read the same section"


def test_the_limits_of_a_copy_end_its_turn(shop: Path, tmp_path: Path) -> None:
    settings = SessionSettings(
        model=script(tmp_path, [{"calls": [call("list", path=".")], "repeat": 9}]),
        access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
    )
    short = replace(settings, limits=replace(settings.limits, max_steps=2))
    runtime = assemble_runtime(short, SessionRequest(working=shop), Home.from_environment())

    async def story() -> None:
        end = await runtime.run_turn("look")
        await runtime.close()
        assert (end.outcome, end.steps) == (Exit.LIMIT.label, 2)
        assert "--max-steps" in end.summary

    asyncio.run(story())
    assert settings.limits.max_steps == 200


def test_a_mode_that_changes_keeps_the_sections(shop: Path, tmp_path: Path) -> None:
    settings = SessionSettings(
        model=script(tmp_path, [{"text": "hi"}]),
        access=AccessSettings(mode=Mode.READ_ONLY, sandbox="unconfined"),
        context=ContextSettings(recent=700, batch=1_100),
    )
    runtime = assemble_runtime(settings, SessionRequest(working=shop), Home.from_environment())
    assert runtime.loop.compressor.settings is settings.context
    assert runtime.policy.approval is Approval.ASK, "nothing confines the commands of this session"
    assert runtime.committer.when == "never"
    asyncio.run(runtime.close())


def select(tmp_path: Path, settings: SessionSettings, **env: str) -> ModelSelection:
    return ModelSelection(settings=settings, env=env, cache=tmp_path)


def test_keys_are_read_from_the_given_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the process")
    assert select(tmp_path, SessionSettings()).main_name == "offline"
    assert select(tmp_path, SessionSettings(), ANTHROPIC_API_KEY="x").main_name.startswith("anthropic/")
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set") as missing:
        select(tmp_path, SessionSettings(model="openai/gpt-5.5")).create_main_model()
    assert missing.value.fault is Fault.CREDENTIALS
    made = select(tmp_path, SessionSettings(model="openai/gpt-5.5"), OPENAI_API_KEY="x").create_main_model()
    assert isinstance(made, HttpModel)
    assert "of the process" not in repr(SessionRequest(working=tmp_path))


def test_fallback_relay_and_roles_are_those_of_the_settings(tmp_path: Path) -> None:
    models = ModelSettings(fast="openai/gpt-5.5-mini", plan="openai/o9", fallback=["openai/b"])
    settings = SessionSettings(model="openai/a", models=models)
    found = select(tmp_path, settings, OPENAI_API_KEY="x")
    assert isinstance(found.create_main_model(), Fallback)
    relayed = replace(settings, models=replace(models, relay=True))
    assert isinstance(select(tmp_path, relayed, OPENAI_API_KEY="x").create_main_model(), PlannerExecutor)
    makers = found.build_role_makers()
    assert {role: make().name for role, make in makers.items()} == {
        Role.FAST: "openai/gpt-5.5-mini",
        Role.PLAN: "openai/o9",
    }


def test_a_role_with_an_effort_of_its_own_is_the_main_model_with_that_effort(tmp_path: Path) -> None:
    models = ModelSettings(
        effort="high", fast_effort="low", judge_effort="high", plan="anthropic/p", plan_effort="max",
        cache="long", service="priority",
    )  # fmt: skip
    with Loopback([{"text": "ok"}] * 3) as server:
        found = select(
            tmp_path,
            SessionSettings(model="openai/a", models=models),
            OPENAI_BASE_URL=server.url,
            ANTHROPIC_BASE_URL=server.url,
        )
        made = {role: make() for role, make in found.build_role_makers().items()}
        assert set(made) == {Role.FAST, Role.PLAN}, "the judge's effort is the main model's"
        for model in (found.create_main_model(), made[Role.FAST], made[Role.PLAN]):
            ask(model, [user("hi")])
        main, fast, plan = (request.body for request in server.requests)
    assert (main["reasoning_effort"], fast["reasoning_effort"]) == ("high", "low")
    assert (fast["prompt_cache_retention"], fast["service_tier"]) == ("24h", "priority")
    assert (plan["output_config"], plan["service_tier"]) == ({"effort": "max"}, "auto")
    assert plan["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    scripted = SessionSettings(model="scripted:x", models=models)
    assert set(select(tmp_path, scripted).build_role_makers()) == {Role.PLAN}


def test_a_cost_limit_needs_the_price_of_every_model(tmp_path: Path) -> None:
    priced = CatalogSettings(window=1_000, input=1.0, output=2.0)
    settings = SessionSettings(
        model="openai/a",
        limits=LimitSettings(max_cost=1.0),
        models=ModelSettings(catalog={"openai/a": priced}, judge="openai/b"),
    )
    with pytest.raises(UserError, match="the price of 'openai/b' is not known"):
        select(tmp_path, settings).check_prices()
    known = replace(settings, models=replace(settings.models, judge=""))
    select(tmp_path, known).check_prices()
