"""What a client decides and changes: permissions, modes, options, answers to questions, servers; and agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio

from tests.cli.protocols.acp.conftest import FIX
from tests.cli.protocols.acp.editor import Editor, Repo, call, script, wait_until
from tests.security.mcp_http_flood import serve_attacks

pytestmark = pytest.mark.slow

MCP_SERVER = Path(__file__).parents[3] / "tools" / "mcp" / "server.py"

PUSH = call("shell", command="git push origin main")


@pytest.mark.parametrize(
    ("answer", "asked", "allowed"),
    [("allow-once", 2, 2), ("allow-session", 1, 2), ("reject-once", 2, 0), ("", 2, 0)],
)
def test_an_action_waits_for_the_clients_answer(
    editor: Editor, shop: Repo, answer: str, asked: int, allowed: int
) -> None:
    """Once is for this turn, as in the terminal; for the session is beyond it."""
    turn = [{"calls": [PUSH]}, {"text": "Done."}]
    session = editor.open(shop.root, [*turn, *turn])
    editor.choose = lambda call: answer
    editor.prompt(session, "push it")
    editor.prompt(session, "push it again")
    assert len(editor.asked) == asked
    first = editor.asked[0]
    assert first["options"] == ["allow_once", "allow_always", "reject_once"]
    assert first["title"] == "shell: git push origin main"
    assert first["kind"] == "execute"
    assert first["toolCallId"] in editor.read_calls(session)
    results = [each["content"][0]["content"]["text"] for each in editor.read_calls(session).values()]
    assert sum("denied" not in each for each in results) == allowed


def test_cancel_ends_a_turn_that_waits_for_permission(editor: Editor, shop: Repo) -> None:
    session = editor.open(shop.root, [{"calls": [PUSH]}, {"text": "never"}])
    editor.choose = lambda call: "never"
    answer = editor.spawn(editor.send_prompt(session, "push it"))
    editor.run(wait_until(lambda: editor.asked != []))
    editor.run(editor.connection.cancel(session_id=session))
    assert answer.result(30).stop_reason == "cancelled"


def test_an_edit_is_shown_before_it_is_allowed(editor: Editor, shop: Repo) -> None:
    shop.write(".github/workflows/a.yml", "on: push\n")
    change = call("edit", path=".github/workflows/a.yml", old="push", new="pull_request")
    session = editor.open(shop.root, [{"calls": [change]}, {"text": "Done."}])
    editor.prompt(session, "change the trigger")
    [asked] = editor.asked
    assert asked["content"][-1] == {
        "type": "diff",
        "path": str(shop.root / ".github/workflows/a.yml"),
        "oldText": "push",
        "newText": "pull_request",
    }
    assert shop.read(".github/workflows/a.yml") == "on: pull_request\n"


def test_modes_change_what_is_allowed_and_plan_outlives_a_restart(editor: Editor, shop: Repo) -> None:
    turns = [
        {"expect": ["[Plan mode"], "calls": [FIX]},
        {"text": "Planned."},
        {"calls": [FIX]},
        {"text": "Done."},
    ]
    session = editor.open(shop.root, turns)
    editor.set_mode(session, "plan")
    editor.run(editor.connection.close_session(session_id=session))
    loaded = editor.run(
        editor.connection.resume_session(cwd=str(shop.root), session_id=session, mcp_servers=[])
    )
    assert loaded.modes.current_mode_id == "plan"
    assert [each.id for each in loaded.modes.available_modes] == ["plan", "ask", "auto"]
    editor.use_script(session, shop.root, turns)
    editor.choose = lambda call: "reject-once"
    editor.prompt(session, "how would you do it?")
    assert [each["kind"] for each in editor.asked] == ["switch_mode"]  # though an edit was denied at last
    assert editor.find_call(session, "edit cart.py")["status"] == "failed"
    assert "items[1:]" in shop.read("cart.py")
    editor.set_mode(session, "ask")
    editor.choose = lambda call: "allow-once"
    editor.prompt(session, "do it")
    [_, asked] = editor.asked  # each edit, with its change
    assert asked["content"][-1]["type"] == "diff"
    assert "items[1:]" not in shop.read("cart.py")
    changes = [each["currentModeId"] for each in editor.list_updates(session, "current_mode_update")]
    assert changes == ["plan", "ask"]
    with pytest.raises(acp.RequestError, match="there is no mode 'yolo'"):
        editor.set_mode(session, "yolo")


def test_a_plan_is_carried_out_when_the_user_agrees(editor: Editor, shop: Repo) -> None:
    session = editor.open(
        shop.root,
        [
            {"calls": [call("plan", items=[{"text": "mend the total"}])]},
            {"text": "That is the plan."},
            {"expect": ["Carry out this plan", "1. mend the total"], "calls": [FIX]},
            {"text": "Done."},
        ],
    )
    editor.set_mode(session, "plan")
    assert editor.prompt(session, "how?").stop_reason == "end_turn"
    assert "items[1:]" not in shop.read("cart.py")
    [asked] = editor.asked
    assert (asked["kind"], asked["title"]) == ("switch_mode", "Carry out this plan?")
    assert asked["options"] == ["allow_once", "reject_once"]
    assert asked["content"][0]["content"]["text"] == "1. mend the total"
    modes = [each["currentModeId"] for each in editor.list_updates(session, "current_mode_update")]
    assert modes == ["plan", "auto"]


def test_a_mode_that_is_chosen_during_a_turn_holds_after_it(editor: Editor, shop: Repo) -> None:
    session = editor.open(
        shop.root,
        [
            {"calls": [call("shell", command="while [ ! -e go ]; do sleep 0.05; done"), FIX]},
            {"text": "Done."},
        ],
    )
    answer = editor.spawn(editor.send_prompt(session, "wait"))
    editor.run(
        wait_until(lambda: "in_progress" in [c.get("status") for c in editor.read_calls(session).values()])
    )
    change = editor.spawn(editor.connection.set_session_mode(mode_id="plan", session_id=session))
    editor.run(editor.connection.list_sessions())  # answered behind the change: that has arrived
    assert not change.done()
    shop.write("go", "")
    assert answer.result(30).stop_reason == "end_turn"
    change.result(30)
    assert "items[1:]" not in shop.read("cart.py")
    assert editor.list_updates(session, "current_mode_update")[-1]["currentModeId"] == "plan"


def test_no_mode_is_wider_than_the_settings(tmp_path: Path, shop: Repo) -> None:
    model = script(tmp_path, [{"calls": [FIX]}, {"text": "Done."}])
    home = tmp_path / "home"
    editor = Editor(home, "--model", model, "--mode", "read-only", capabilities={}).start()
    session = editor.run(editor.connection.new_session(cwd=str(shop.root), mcp_servers=[]))
    assert "auto" not in [each.id for each in session.modes.available_modes]
    with pytest.raises(acp.RequestError, match="the mode is set to read-only"):
        editor.set_mode(session.session_id, "auto")
    editor.prompt(session.session_id, "change it")
    assert "items[1:]" in shop.read("cart.py")
    assert editor.stop() == 0


def test_a_key_opens_a_short_list_of_models_by_provider(tmp_path: Path, shop: Repo) -> None:
    model = script(shop.root.parent, [{"text": "Hi."}])
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}
    editor = Editor(tmp_path / "home", "--model", model, capabilities={}, **keys).start()
    session = editor.run(editor.connection.new_session(cwd=str(shop.root), mcp_servers=[]))
    groups = session.config_options[0].options
    assert {"anthropic", "gemini", "openai"} <= {each.group for each in groups}
    names = [option.value for group in groups for option in group.options]
    assert len(names) == len(set(names))
    assert 10 <= len(names) <= 26
    assert not any("instruct" in name or "audio" in name for name in names)
    assert len(session.model_dump_json()) < 8_000
    assert editor.stop() == 0


def test_the_model_and_its_effort_are_options(editor: Editor, shop: Repo) -> None:
    session = editor.open(shop.root)
    other = script(shop.root.parent, [{"text": "I am another."}], "other.json")
    changed = editor.run(editor.connection.set_config_option("model", session, other))
    assert [(each.id, each.current_value) for each in changed.config_options] == [
        ("model", other),
        ("effort", "default"),
    ]
    changed = editor.run(editor.connection.set_config_option("effort", session, "high"))
    assert changed.config_options[1].current_value == "high"
    editor.prompt(session, "who are you?")
    assert editor.read_text(session).startswith("I am another.")
    assert len(editor.list_updates(session, "config_option_update")) == 2
    efforts = [each.value for each in changed.config_options[1].options]
    assert efforts == ["default", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
    for option, value in (
        ("model", "nobody/nothing"),
        ("effort", "huge"),
        ("colour", "red"),
        ("model", True),
    ):
        with pytest.raises(acp.RequestError):
            editor.run(editor.connection.set_config_option(option, session, value))


def test_a_missing_key_is_told_with_the_way_to_give_it(editor: Editor, shop: Repo) -> None:
    session = editor.open(shop.root)
    with pytest.raises(acp.RequestError, match="OPENAI_API_KEY"):
        editor.run(editor.connection.set_config_option("model", session, "openai/gpt-5"))
    with pytest.raises(acp.RequestError, match="keys of models are read from the environment"):
        editor.run(editor.connection.authenticate(method_id="login"))


QUESTION = call(
    "ask_user",
    questions=[{"question": "Which one?", "options": ["a: the first", "b: the second"], "several": False}],
)


@pytest.mark.parametrize(
    ("filled", "heard"),
    [
        ({"choice": "b"}, "The user answers: b"),
        ({"answer": "neither"}, "The user answers: neither"),
        (None, "gave no answer"),
    ],
)
def test_a_question_of_the_model_is_a_form(
    editor: Editor, shop: Repo, filled: dict[str, Any] | None, heard: str
) -> None:
    session = editor.open(shop.root, [{"calls": [QUESTION]}, {"expect": [heard], "text": "I see."}])
    editor.fill = filled
    editor.prompt(session, "do one of them")
    [(message, form)] = editor.forms
    assert message == "Which one?"
    choice = form["properties"]["choice"]
    assert [(each["const"], each["title"]) for each in choice["oneOf"]] == [
        ("a", "a: the first"),
        ("b", "b: the second"),
    ]
    assert editor.read_text(session).startswith("I see.")


def test_servers_of_the_client_are_started_and_asked_about(editor: Editor, shop: Repo) -> None:
    shop.write("server.py", MCP_SERVER.read_text("utf-8"))
    shop.commit_all()
    server = McpServerStdio(
        name="my notes",
        command=sys.executable,
        args=[str(shop.root / "server.py")],
        env=[EnvVariable(name="NOTES", value="a b")],
    )
    plain = HttpMcpServer(type="http", name="plain", url="http://example.org/mcp", headers=[])
    with serve_attacks() as hostile:
        key = HttpHeader(name="Authorization", value="Bearer of-the-editor")
        remote = HttpMcpServer(type="http", name="remote", url=hostile.find("honest"), headers=[key])
        session = editor.open(
            shop.root,
            [
                {"calls": [call("mcp__my-notes__add", a=20, b=22)]},
                {"calls": [call("mcp__remote__add")]},
                {"text": "Done."},
            ],
            servers=[server, remote, plain],
        )
        editor.prompt(session, "use the servers")
    assert {each["authorization"] for _, _, each in hostile.seen} == {"Bearer of-the-editor"}
    assert "called add" in editor.find_call(session, "mcp__remote__add")["content"][0]["content"]["text"]
    [asked, _] = editor.asked
    assert asked["title"].startswith("mcp__my-notes__add: add ")
    assert "42" in editor.find_call(session, "mcp__my-notes__add")["content"][0]["content"]["text"]
    assert "MCP server plain is not used: example.org is another machine" in editor.read_text(session)


def test_a_form_of_a_server_is_one_form_and_shown_again_where_it_does_not_fit(
    editor: Editor, shop: Repo
) -> None:
    shop.write("server.py", MCP_SERVER.read_text("utf-8"))
    shop.commit_all()
    arguments = [str(shop.root / "server.py"), "form"]
    server = McpServerStdio(name="shop", command=sys.executable, args=arguments, env=[])
    turns = [{"calls": [call("mcp__shop__add", a=1, b=2)]}, {"text": "Done."}]
    session = editor.open(shop.root, turns, servers=[server])
    editor.fill = [{"age": 0}, {"age": 36, "size": "m"}]
    editor.prompt(session, "ask")
    [(message, form), (again, _)] = editor.forms
    assert message == "The MCP server shop asks: Who?"
    assert again == f"{message}\nage: it is not from 1 to …"
    assert form["properties"]["name"] == {"type": "string", "title": "Name", "default": "Ada"}
    assert form["properties"]["age"] == {"type": "integer", "minimum": 1}
    assert form["properties"]["size"]["oneOf"] == [{"const": "m", "title": "Medium"}]
    assert form["required"] == ["age"]
    result = editor.find_call(session, "mcp__shop__add")["content"][0]["content"]["text"]
    assert '{"action": "accept", "content": {"name": "Ada", "age": 36, "size": "m"}}' in result


def test_agents_are_nested_tool_calls(editor: Editor, shop: Repo) -> None:
    child = script(
        shop.root.parent,
        [{"calls": [call("read", path="cart.py")]}, {"text": "It is in cart.py."}],
        "child.json",
    )
    config = editor.home / "patchwright" / "config"
    (config / "agents").mkdir(exist_ok=True)
    (config / "agents" / "finder.md").write_text(
        f"---\nname: finder\ndescription: finds\ntools: Read\nmodel: {child}\n---\nFind it.\n", "utf-8"
    )
    session = editor.open(
        shop.root,
        [{"calls": [call("delegate", agent="finder", task="Where is the total?")]}, {"text": "Found."}],
    )
    editor.prompt(session, "where is the total?")
    calls = editor.read_calls(session)
    [delegate] = [each for each in calls.values() if each["title"].startswith("delegate")]
    [agent] = [each for each in calls.values() if each["title"].startswith("finder")]
    [read] = [each for each in calls.values() if each["title"] == "read cart.py"]
    assert "Where is the total?" in agent["title"]
    assert agent["status"] == read["status"] == delegate["status"] == "completed"
    assert agent["_meta"]["patchwright"]["parentToolCallId"] == delegate["toolCallId"]
    assert read["_meta"]["patchwright"]["parentToolCallId"] == agent["toolCallId"]
    assert "It is in cart.py." in agent["content"][0]["content"]["text"]
