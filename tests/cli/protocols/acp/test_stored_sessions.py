"""Sessions over their lives: load, resume, list, close, delete; also after a kill, and in the terminal."""

from __future__ import annotations

import shutil
from pathlib import Path

import acp
import pytest

from agent.session.log import Session
from tests.cli.protocols.acp.conftest import FIX
from tests.cli.protocols.acp.editor import Editor, Repo, call, script, wait_until
from tests.support.cli import run

pytestmark = pytest.mark.slow


def test_load_replays_the_history(editor: Editor, shop: Repo) -> None:
    turns = [{"reasoning": "Hm.", "text": "Look.", "calls": [FIX]}, {"text": "Done."}, {"text": "More."}]
    session = editor.open(shop.root, turns)
    editor.prompt(session, "make it right")
    live = list(editor.updates[session])
    editor.run(editor.connection.close_session(session_id=session))
    editor.updates.pop(session)
    loaded = editor.run(
        editor.connection.load_session(cwd=str(shop.root), session_id=session, mcp_servers=[])
    )
    assert loaded.modes.current_mode_id == "auto"
    [prompt] = editor.list_updates(session, "user_message_chunk")
    assert prompt["content"]["text"] == "make it right"
    replayed = editor.read_text(session)
    assert replayed.startswith("Look.Done.")
    assert editor.read_text(session, "agent_thought_chunk").startswith("Hm.")
    edits = [each for each in live if each.get("content") and each.get("status") == "completed"]
    assert editor.find_call(session, "edit cart.py")["content"] == edits[0]["content"]
    editor.use_script(session, shop.root, turns)
    assert editor.prompt(session, "more").stop_reason == "end_turn"
    assert editor.read_text(session)[len(replayed) :].startswith("More.")


def test_resume_replays_nothing_and_knows_the_past(editor: Editor, shop: Repo) -> None:
    turns = [{"text": "one"}, {"expect": [{"anywhere": "first"}], "text": "two"}]
    session = editor.open(shop.root, turns)
    editor.prompt(session, "first")
    editor.run(editor.connection.close_session(session_id=session))
    editor.updates.pop(session)
    editor.run(editor.connection.resume_session(cwd=str(shop.root), session_id=session, mcp_servers=[]))
    assert editor.list_updates(session, "user_message_chunk") == []
    editor.use_script(session, shop.root, turns)
    editor.prompt(session, "second")
    assert editor.read_text(session).startswith("two")


def test_a_closed_or_unknown_session_is_an_error(editor: Editor, shop: Repo) -> None:
    session = editor.open(shop.root)
    editor.run(editor.connection.close_session(session_id=session))
    for unknown in (session, "20200101-000000-aaaa"):
        with pytest.raises(acp.RequestError, match="no session") as error:
            editor.prompt(unknown, "hi")
        assert error.value.code == -32002
    for name in ("../../x", "nothing", ""):
        with pytest.raises(acp.RequestError, match="no session"):
            editor.run(editor.connection.load_session(cwd=str(shop.root), session_id=name, mcp_servers=[]))


def test_sessions_are_listed_in_pages_and_deleted(editor: Editor, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "many")
    session = editor.open(repo.root, [{"text": "hello"}])
    editor.prompt(session, "hi")
    editor.run(editor.connection.close_session(session_id=session))
    [folder] = editor.home.glob(f"patchwright/**/sessions/{session}")
    sessions = [session, *(f"20260101-0000{number}-aaaa" for number in range(10, 62))]
    for name in sessions[1:]:
        shutil.copytree(folder, folder.with_name(name))
    first = editor.run(editor.connection.list_sessions(cwd=str(repo.root)))
    second = editor.run(editor.connection.list_sessions(cwd=str(repo.root), cursor=first.next_cursor))
    assert (len(first.sessions), len(second.sessions), second.next_cursor) == (50, 3, None)
    listed = [each.session_id for each in (*first.sessions, *second.sessions)]
    assert sorted(listed) == sorted(sessions)
    assert {each.cwd for each in first.sessions} == {str(repo.root)}
    with pytest.raises(acp.RequestError, match="cursor"):
        editor.run(editor.connection.list_sessions(cursor="nonsense"))
    delete = editor.connection._conn.send_request
    for _ in range(2):  # again: it is deleted
        assert editor.run(delete("session/delete", {"sessionId": listed[0]})) == {}
    left = editor.run(editor.connection.list_sessions(cwd=str(repo.root)))
    assert listed[0] not in [each.session_id for each in left.sessions]
    assert not list(editor.home.glob(f"patchwright/**/sessions/{listed[0]}"))


def test_a_killed_agent_loses_nothing(tmp_path: Path, shop: Repo) -> None:
    model = script(tmp_path, [{"calls": [FIX, call("shell", command="sleep 60")]}, {"text": "Done."}])
    editor = Editor(tmp_path / "home", "--model", model).start()
    session = editor.open(shop.root)
    editor.spawn(editor.send_prompt(session, "make it right"))
    editor.run(wait_until(lambda: editor.list_updates(session, "tool_call") != []))
    editor.run(
        wait_until(
            lambda: any(
                each["title"] == "sleep 60" and each["status"] == "in_progress"
                for each in editor.read_calls(session).values()
            )
        )
    )
    editor.kill()
    again = Editor(tmp_path / "home").start()
    again.run(again.connection.load_session(cwd=str(shop.root), session_id=session, mcp_servers=[]))
    assert again.find_call(session, "edit cart.py")["status"] == "completed"
    assert again.find_call(session, "sleep 60")["status"] == "failed"
    assert again.prompt(session, "go on").stop_reason == "end_turn"
    assert again.read_text(session).startswith("Done.")

    # The terminal goes on with the same session, and the editor with what was said there.
    environment = again.environment
    more = script(
        tmp_path, [{"expect": [{"anywhere": "make it right"}], "text": "in the terminal"}], "more.json"
    )
    words = ("run", "and now?", "--session", session, "--model", more, "--no-commit")
    busy = run(*words, cwd=shop.root, env=environment)
    assert "is open in another" in busy.err
    again.run(again.connection.close_session(session_id=session))
    assert run(*words, cwd=shop.root, env=environment).out.startswith("in the terminal")
    again.run(again.connection.load_session(cwd=str(shop.root), session_id=session, mcp_servers=[]))
    assert "in the terminal" in again.read_text(session)
    assert again.stop() == 0
    assert again.check.problems == []


def test_a_session_that_another_program_has_open_is_an_error(editor: Editor, shop: Repo) -> None:
    session = editor.open(shop.root, [{"text": "hello"}])
    editor.prompt(session, "hi")
    editor.run(editor.connection.close_session(session_id=session))
    [folder] = editor.home.glob(f"patchwright/**/sessions/{session}")
    held = Session.open(folder)
    try:
        with pytest.raises(acp.RequestError, match="open"):
            editor.run(editor.connection.load_session(cwd=str(shop.root), session_id=session, mcp_servers=[]))
        with pytest.raises(acp.RequestError, match="open in another program"):
            editor.run(editor.connection._conn.send_request("session/delete", {"sessionId": session}))
    finally:
        held.close()
    assert folder.is_dir()
