"""Sessions of other agents, as their newest releases write them: taken over once, gone on with; the source stays."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import MessageEvent, ObservationEvent, Prompt
from agent.session.log import read_events
from tests.support.cli import git, run, script

pytestmark = pytest.mark.slow

T = "2026-11-20T10:00:00.000Z"


def write_lines(path: Path, lines: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return path


def claude(home: Path, work: Path) -> Path:
    base = {"cwd": str(work), "sessionId": "s1", "timestamp": T, "isSidechain": False}

    def user(content: object, uuid: str, **more: object) -> dict[str, Any]:
        return {**base, "type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **more}

    def reply(block: Mapping[str, object], uuid: str, key: str = "m1", **more: object) -> dict[str, Any]:
        message = {"id": key, "role": "assistant", "model": "opus", "content": [block]}
        return {**base, "type": "assistant", "uuid": uuid, "message": message, **more}

    bash = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}}
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "1 failed", "is_error": True}]
    history = [
        user("mend the zebra", "u1", promptId="p1"),
        reply({"type": "thinking", "thinking": "hm"}, "a0"),
        reply({"type": "text", "text": "I run the tests."}, "a1"),
        reply(bash, "a2"),
        user(result, "u2"),
        reply({"type": "text", "text": "It fails by the stripes."}, "a3", key="m2"),
    ]
    again = [{**each, "uuid": f"again-{number}"} for number, each in enumerate(history)]
    return write_lines(
        home / ".claude/projects/-work/s1.jsonl",
        [
            {"type": "file-history-snapshot", "messageId": "x"},
            user("<command-name>/clear</command-name>", "u0"),
            user("Caveat: the messages below", "u00", isMeta=True),
            *history,
            {**base, "type": "system", "subtype": "compact_boundary"},
            user("This session is being continued from a previous conversation", "c", isCompactSummary=True),
            *again,
            user([{"type": "text", "text": "thanks"}], "u9", promptId="p2"),
            reply({"type": "text", "text": "side"}, "b", key="m8", isSidechain=True),
            reply({"type": "text", "text": "Welcome."}, "a9", key="m9"),
        ],
    )


def codex(home: Path, work: Path) -> Path:
    def item(**payload: object) -> dict[str, Any]:
        return {"timestamp": T, "type": "response_item", "payload": payload}

    def build_message(role: str, text: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        return item(type="message", role=role, content=[{"type": kind, "text": text}])

    output = json.dumps({"output": "1 failed", "metadata": {"exit_code": 1, "duration_seconds": 0.1}})
    return write_lines(
        home / ".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-s1.jsonl",
        [
            {"timestamp": T, "type": "session_meta", "payload": {"id": "s1", "cwd": str(work)}},
            build_message("developer", "<permissions instructions>"),
            build_message("user", "<environment_context>\n<cwd>/work</cwd></environment_context>"),
            {"timestamp": T, "type": "turn_context", "payload": {"model": "gpt", "cwd": str(work)}},
            build_message("user", "mend the zebra"),
            item(type="reasoning", summary=[], encrypted_content="x"),
            build_message("assistant", "I run the tests."),
            item(type="function_call", name="shell", arguments='{"command": "pytest"}', call_id="t1"),
            item(type="function_call_output", call_id="t1", output=output),
            build_message("assistant", "It fails by the stripes."),
            {"timestamp": T, "type": "compacted", "payload": {"message": "", "replacement_history": []}},
            build_message("user", "thanks"),
            build_message("assistant", "Welcome."),
        ],
    )


def gemini(home: Path, work: Path) -> Path:
    folder = home / ".gemini/tmp/work"
    folder.mkdir(parents=True)
    (folder / ".project_root").write_text(str(work))
    call = {"id": "t1", "name": "run_shell_command", "args": {"command": "pytest"}, "status": "error"}
    answered = {"functionResponse": {"id": "t1", "response": {"output": "1 failed"}}}
    half = {"id": "2", "timestamp": T, "type": "gemini", "content": "I run the tests.", "model": "gemini"}
    first = {"id": "1", "timestamp": T, "type": "user", "content": [{"text": "mend the zebra"}]}
    whole = {**half, "toolCalls": [{**call, "result": [answered]}], "thoughts": [{"subject": "hm"}]}
    return write_lines(
        folder / "chats/session-2026-11-20T10-00-s1.jsonl",
        [
            {"sessionId": "s1", "projectHash": "work", "startTime": T, "kind": "main"},
            {"id": "0", "timestamp": T, "type": "user", "content": "a first try"},
            {"$set": {"messages": [first]}},
            half,
            whole,
            {"id": "3", "timestamp": T, "type": "gemini", "content": "It fails by the stripes."},
            {"id": "x", "timestamp": T, "type": "user", "content": "wrong"},
            {"$rewindTo": "x"},
            {"id": "4", "timestamp": T, "type": "user", "content": "thanks"},
            {"id": "5", "timestamp": T, "type": "gemini", "content": "Welcome."},
        ],
    )


def opencode(home: Path, work: Path) -> Path:
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.execute("pragma journal_mode = wal")
    database.executescript(
        "create table session (id text, directory text, parent_id text, time_created integer);"
        "create table message (id text, session_id text, time_created integer, data text);"
        "create table part (id text, message_id text, session_id text, time_created integer, data text);"
    )
    database.execute("insert into session values ('s1', ?, null, 1)", (str(work),))
    database.execute("insert into session values ('s2', ?, 's1', 2)", (str(work),))
    state = {
        "status": "completed",
        "input": {"command": "pytest"},
        "output": "1 failed",
        "metadata": {"exit": 1},
    }
    rows: list[tuple[str, list[dict[str, Any]]]] = [
        (
            "user",
            [
                {"type": "text", "text": "mend the zebra"},
                {"type": "text", "text": "Called the Read tool", "synthetic": True},
            ],
        ),
        (
            "assistant",
            [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "I run the tests."},
                {"type": "tool", "callID": "t1", "tool": "bash", "state": state},
            ],
        ),
        ("assistant", [{"type": "text", "text": "It fails by the stripes."}]),
        ("user", [{"type": "text", "text": "thanks"}]),
        ("assistant", [{"type": "text", "text": "Welcome."}]),
    ]
    for number, (role, parts) in enumerate(rows):
        name = f"m{number}"
        database.execute(
            "insert into message values (?, 's1', ?, ?)", (name, number, json.dumps({"role": role}))
        )
        for place, part in enumerate(parts):
            database.execute(
                "insert into part values (?, ?, 's1', 0, ?)", (f"{name}p{place}", name, json.dumps(part))
            )
    database.commit()
    database.close()
    return path


@pytest.fixture(params=[claude, codex, gemini, opencode], ids=lambda each: each.__name__)
def foreign_log(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Path, Path]:
    """The agent, its log, and the folder of the work; home is a new one."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    git(work, "init", "-q")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    write: Callable[[Path, Path], Path] = request.param
    return request.param.__name__, write(home, work), work


def test_a_session_is_taken_over_once_and_its_log_stays(foreign_log: tuple[str, Path, Path]) -> None:
    agent, log, work = foreign_log
    before = {each: each.read_bytes() for each in log.parent.iterdir() if each.is_file()}
    done = run("sessions", "import", agent, cwd=work)
    assert done.code == 0, done.err
    [name] = done.out.split()
    assert "2 prompts, 1 actions; not kept: " in done.err
    assert "1 block of reasoning" in done.err
    events = list(read_events(Home.from_environment().get_project_folder(work) / "sessions" / name))
    told = [
        (type(each).__name__, each.text)
        for each in events
        if isinstance(each, Prompt | MessageEvent | ObservationEvent)
    ]
    assert [text for _, text in told if not text.startswith("1 failed")] == [
        "mend the zebra",
        "I run the tests.",
        "It fails by the stripes.",
        "thanks",
        "Welcome.",
    ]
    [result] = [each for each in events if isinstance(each, ObservationEvent)]
    assert result.failed
    assert result.text.startswith("1 failed")
    again = run("sessions", "import", agent, cwd=work)
    assert again.out == ""
    assert "that is not here yet" in again.err
    assert {each: each.read_bytes() for each in log.parent.iterdir() if each.is_file()} == before


def test_what_was_taken_over_is_searched_listed_and_gone_on_with(
    foreign_log: tuple[str, Path, Path], tmp_path: Path
) -> None:
    agent, log, work = foreign_log
    [name] = run("sessions", "import", agent, str(log), cwd=work).out.split()
    assert name in run("session", "search", "stripes", cwd=work).out
    assert "mend the zebra" in run("sessions", cwd=work).out
    model = script(
        tmp_path,
        [
            {
                "text": "Still the stripes.",
                "expect": [{"anywhere": "by the stripes"}, {"anywhere": "thanks"}, {"anywhere": "1 failed"}],
            }
        ],
    )
    done = run("run", "and now?", "--session", name, "--model", model, "--no-commit", cwd=work)
    assert done.code == 0, done.err
    assert "Still the stripes." in done.out


def test_an_unknown_agent_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = run("sessions", "import", "somebody", cwd=tmp_path)
    assert done.code != 0
    assert "claude, codex, gemini, opencode" in done.err
    assert run("sessions", "import", "codex", "no-such-file", cwd=tmp_path).code != 0
    assert run("sessions", "import", cwd=tmp_path).code != 0
