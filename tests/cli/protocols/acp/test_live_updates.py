"""Notices and compactions reach an editor as such if it announced them, else as thoughts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent.events import Compaction, Signal
from cli.protocols.acp.content.live_updates import EditorInitializeRequest
from cli.protocols.acp.content.updates import UpdateMapper
from tests.cli.protocols.acp.test_bad_clients import RawClient
from tests.support.cli import git, script

SCHEMA = json.loads(Path(__file__).with_name("schema_v1.json").read_text("utf-8"))
HOOKS = {
    "hooks": {"SessionStart": [{"hooks": [{"command": """printf '{"systemMessage": "Mind the gap."}'"""}]}]}
}


def tell(tmp_path: Path, capabilities: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the updates of a turn in which a hook has a message for the user."""
    home, shop = tmp_path / "home", tmp_path / "shop"
    shop.mkdir()
    git(shop, "init", "-q")
    config = home / "patchwright" / "config"
    config.mkdir(parents=True)
    (config / "agent-hooks.json").write_text(json.dumps(HOOKS))
    client = RawClient(home, "--model", script(tmp_path, [{"text": "hello"}], "raw.json"))
    client.call(0, "initialize", protocolVersion=1, clientCapabilities=capabilities)
    session = client.call(1, "session/new", cwd=str(shop), mcpServers=[])["result"]["sessionId"]
    client.send(
        id=2,
        method="session/prompt",
        params={"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]},
    )
    updates = []
    while "method" in (message := client.read()):
        updates.append(message["params"])
    client.close()
    return updates


def find(updates: list[dict[str, Any]], words: str) -> Iterator[dict[str, Any]]:
    for params in updates:
        if words in json.dumps(params):
            problems = Draft202012Validator(
                {"$ref": "#/$defs/SessionNotification", "$defs": SCHEMA["$defs"]}
            ).iter_errors(params)
            assert [each.message for each in problems] == []
            yield params["update"]


def test_a_notice_is_one_where_the_editor_shows_them(tmp_path: Path) -> None:
    updates = tell(tmp_path, {"session": {"notices": {}}})
    [notice] = find(updates, "Mind the gap.")
    assert notice == {"sessionUpdate": "notice", "severity": "info", "title": "Mind the gap."}


@pytest.mark.parametrize("capabilities", [{}, {"session": {}}, {"session": {"notices": None}}])
def test_and_a_thought_elsewhere(tmp_path: Path, capabilities: dict[str, Any]) -> None:
    [thought] = find(tell(tmp_path, capabilities), "Mind the gap.")
    assert thought["sessionUpdate"] == "agent_thought_chunk"


def test_compactions_have_their_own_updates() -> None:
    event = Compaction(id="e7", stage="folding", tokens_before=900, tokens_after=300, reason="full")
    [update] = UpdateMapper(Path("/r")).map_event(event)
    sent = update.model_dump(mode="json", by_alias=True)
    [found] = find([{"sessionId": "s", "update": sent}], "900 to 300 tokens")
    assert (found["sessionUpdate"], found["compactionId"], found["status"]) == (
        "compaction_update",
        "e7",
        "completed",
    )


def test_the_past_is_told_in_thoughts() -> None:
    mapper = UpdateMapper(Path("/r"))
    mapper.is_replay = True
    [update] = mapper.map_event(Signal(name="model", detail="again in 2 s"))
    assert "again in 2 s" in update.model_dump_json()
    assert "agent_thought_chunk" in update.model_dump_json(by_alias=True)


def test_capabilities_are_read_with_those_that_the_sdk_leaves_out() -> None:
    given = {"protocolVersion": 1, "clientCapabilities": {"session": {"compaction": {}}, "fs": {}}}
    found = EditorInitializeRequest.model_validate(given).client_capabilities
    assert found is not None
    assert found.session is not None
    assert (found.session.compaction, found.session.notices) == ({}, None)
