"""Descriptions of tools of the settings take the place of the tools' own, whatever the model's profile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

OWN = "Read a file. Only when you must."


def collect_descriptions(folder: Path, window: int, descriptions: dict[str, str]) -> dict[str, str]:
    """Return the descriptions that a model with that window is sent, by tool."""
    with Loopback([{"text": "Hello."}]) as server:
        settings = SessionSettings(
            model="openai/test",
            api_base=server.url,
            models=ModelSettings(catalog={"openai/test": CatalogSettings(window=window)}),
            access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
            descriptions=descriptions,
        )

        async def run() -> None:
            request = SessionRequest(working=folder, env={"OPENAI_API_KEY": "test"})
            runtime = assemble_runtime(settings, request, Home.from_environment())
            await runtime.run_turn("Hello?")
            await runtime.close()

        asyncio.run(run())
        tools = [each["function"] for each in server.requests[0].body["tools"]]
    return {each["name"]: each["description"] for each in tools}


@pytest.mark.parametrize("window", [8_192, 200_000])
def test_a_description_of_the_settings_is_sent_whole_and_the_others_stay(tmp_path: Path, window: int) -> None:
    repo = Repo(tmp_path / "shop")
    before = collect_descriptions(repo.root, window, {})
    after = collect_descriptions(repo.root, window, {"read": OWN, "no_such_tool": "Nothing."})
    assert after == {**before, "read": OWN}
    assert before["read"] != OWN
