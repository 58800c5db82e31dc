"""Logs of other agents, in the forms in which they write them: traced, triaged and diagnosed like our own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.session.session_index import load_session_summaries
from packages.setup.sessions.import_sessions import import_sessions
from packages.trace.diagnosis import diagnose
from packages.trace.rows.traced_sessions import read_traces
from packages.trace.session_reports import triage_sessions
from sandbox.errors import UserError

PASSED = "============================= 2 passed in 0.03s =============================="
FAILED = """\
FAILED tests/test_cart.py::test_total - assert 3 == 6
========================= 1 failed, 1 passed in 0.12s ========================="""

Step = tuple[str, Mapping[str, Any], str, bool]
"""Tool, arguments, output, failed."""


def write_claude_log(path: Path, work: Path, steps: Sequence[Step], answer: str) -> None:
    base = {
        "cwd": str(work),
        "sessionId": "s1",
        "timestamp": "2026-11-20T10:00:00.000Z",
        "isSidechain": False,
    }

    def line(kind: str, content: object, **message: object) -> dict[str, Any]:
        return {**base, "type": kind, "message": {"role": kind, "content": content, **message}}

    def reply(number: int, block: Mapping[str, Any]) -> dict[str, Any]:
        return line("assistant", [block], id=f"m{number}", model="claude-opus")

    lines = [line("user", "Mend total.")]
    for number, (tool, arguments, output, failed) in enumerate(steps):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output}
        lines += [reply(number, call), line("user", [{**result, **({"is_error": True} if failed else {})}])]
    lines.append(reply(99, {"type": "text", "text": answer}))
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")


def write_codex_log(path: Path, work: Path, steps: Sequence[Step], answer: str) -> None:
    def item(**payload: object) -> dict[str, Any]:
        return {"timestamp": "2026-11-20T10:00:00.000Z", "type": "response_item", "payload": payload}

    def message(role: str, text: str) -> dict[str, Any]:
        return item(type="message", role=role, content=[{"type": "input_text", "text": text}])

    meta = {"id": "s1", "cwd": str(work)}
    lines = [
        {"timestamp": "2026-11-20T10:00:00.000Z", "type": "session_meta", "payload": meta},
        message("user", "Mend total."),
    ]
    for number, (tool, arguments, output, failed) in enumerate(steps):
        told = json.dumps({"output": output, "metadata": {"exit_code": int(failed), "duration_seconds": 0.1}})
        call = f"call_{number}"
        if tool == "apply_patch":
            asked = item(type="custom_tool_call", name=tool, input=arguments["input"], call_id=call)
        else:
            asked = item(type="function_call", name=tool, arguments=json.dumps(arguments), call_id=call)
        lines += [
            item(type="reasoning", summary=[], encrypted_content="x"),
            asked,
            item(type="function_call_output", call_id=call, output=told),
        ]
    lines.append(message("assistant", answer))
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")


def write_trajectory(path: Path, work: Path, steps: Sequence[Step], answer: str) -> None:
    """As Harbor's Terminus writes it: results without the ids of their calls, nothing that says that one failed."""
    told: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": "Mend total."}]
    for number, (tool, arguments, output, _) in enumerate(steps, 2):
        call = {"tool_call_id": f"call_{number}_1", "function_name": tool, "arguments": arguments}
        told.append(
            {
                "step_id": number,
                "source": "agent",
                "model_name": "m",
                "message": "Analysis: go on",
                "tool_calls": [call],
                "observation": {"results": [{"content": output}]},
            }
        )
    told.append({"step_id": len(told) + 1, "source": "agent", "message": answer})
    whole = {
        "schema_version": "ATIF-v1.5",
        "session_id": "s1",
        "agent": {"name": "terminus-2", "version": "2.0.0", "model_name": "m"},
        "steps": told,
    }
    path.write_text(json.dumps(whole), "utf-8")


PATCH = (
    "*** Begin Patch\n*** Update File: cart.py\n@@\n-    return sum(items[1:])\n+    return 3\n*** End Patch"
)

CLAUDE: list[Step] = [
    ("Read", {"file_path": "@/cart.py"}, "1\tdef total(items):\n2\t    return sum(items[1:])", False),
    ("Bash", {"command": "python -m pytest -q"}, PASSED, False),
    (
        "Edit",
        {"file_path": "@/cart.py", "old_string": "sum(items[1:])", "new_string": "3"},
        "The file @/cart.py has been updated.",
        False,
    ),
    ("Bash", {"command": "python -m pytest -q"}, f"Exit code 1\n{FAILED}", True),
]
CODEX: list[Step] = [
    ("shell", {"command": ["bash", "-lc", "cat cart.py"]}, "def total(items):", False),
    ("shell", {"command": ["bash", "-lc", "pytest -q"]}, PASSED, False),
    ("apply_patch", {"input": PATCH}, "Success. Updated the following files:\nM cart.py", False),
    ("shell", {"command": ["bash", "-lc", "pytest -q"]}, FAILED, True),
]
ATIF: list[Step] = [
    ("bash_command", {"keystrokes": "cat cart.py\n", "duration": 0.1}, "def total(items):", False),
    ("bash_command", {"keystrokes": "pytest -q\n", "duration": 5.0}, PASSED, False),
    ("str_replace_editor", {"command": "str_replace", "path": "@/cart.py", "new_str": "3"}, "edited", False),
    ("bash_command", {"keystrokes": "pytest -q\n", "duration": 5.0}, FAILED, False),
]

Writer = Callable[[Path, Path, Sequence[Step], str], None]
AGENTS: list[tuple[str, Writer, list[Step]]] = [
    ("claude", write_claude_log, CLAUDE),
    ("codex", write_codex_log, CODEX),
    ("atif", write_trajectory, ATIF),
]


def take_over(tmp_path: Path, agent: str, write: Writer, steps: Sequence[Step], answer: str) -> Path:
    """Import a log that the agent wrote; return the folder of our session."""
    work, log = tmp_path / "work", tmp_path / "log"
    work.mkdir()
    placed = json.loads(json.dumps(steps).replace("@/", f"{work}/"))
    write(log, work, placed, answer)
    home = Home.from_environment()
    [found] = import_sessions(home, work, agent, str(log))
    return home.get_project_folder(work) / "sessions" / found.id


@pytest.mark.parametrize(("agent", "write", "steps"), AGENTS, ids=[each[0] for each in AGENTS])
def test_a_foreign_session_that_broke_a_test_is_diagnosed_and_triaged(
    tmp_path: Path, agent: str, write: Writer, steps: list[Step]
) -> None:
    folder = take_over(tmp_path, agent, write, steps, "I could not mend it.")
    traces = read_traces(folder)
    edit, run = traces[0].find_step(3), traces[0].find_step(4)
    assert edit is not None
    assert run is not None
    [call] = edit.detail["calls"]
    assert (call["effect"], call["paths"]) == ("write", ["cart.py"])
    assert (run.tests, run.failed) == ([1, 1], True)
    assert run.detail["failing"] == ["tests/test_cart.py::test_total"]
    found = diagnose(traces)
    assert found is not None
    assert (found.step, found.kind) == (3, "Incorrect Problem Identification")
    assert "broke tests/test_cart.py::test_total" in found.reason
    assert "1 tests failed when they last ran, at step 4" in found.outcome
    [summary] = load_session_summaries(Home.from_environment(), tmp_path / "work")
    [triaged] = triage_sessions([summary])
    assert triaged.reasons[0].startswith("step 3: ")


@pytest.mark.parametrize(("agent", "write", "steps"), AGENTS, ids=[each[0] for each in AGENTS])
def test_one_that_went_well_has_no_diagnosis(
    tmp_path: Path, agent: str, write: Writer, steps: list[Step]
) -> None:
    folder = take_over(tmp_path, agent, write, steps[:3] + steps[1:2], "Done.")
    assert diagnose(read_traces(folder)) is None


@pytest.mark.parametrize(("agent", "write", "steps"), AGENTS, ids=[each[0] for each in AGENTS])
def test_a_loop_of_a_foreign_session_is_seen(
    tmp_path: Path, agent: str, write: Writer, steps: list[Step]
) -> None:
    folder = take_over(tmp_path, agent, write, [steps[0]] * 4, "I stop.")
    [trace] = read_traces(folder)
    assert [each.name for row in trace.rows for each in row.signals] == ["loop"]
    found = diagnose([trace])
    assert found is None or found.kind == "Resource Abuse"


def test_a_trajectory_of_our_own_export_says_that_it_failed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_trajectory(log, tmp_path, ATIF[:1], "I stop.")
    whole = json.loads(log.read_text("utf-8"))
    whole["final_metrics"] = {"extra": {"outcome": "not-achieved", "exit_code": 13}}
    log.write_text(json.dumps(whole), "utf-8")
    home = Home.from_environment()
    [found] = import_sessions(home, tmp_path, "atif", str(log))
    diagnosis = diagnose(read_traces(home.get_project_folder(tmp_path) / "sessions" / found.id))
    assert diagnosis is not None
    assert "exit code 13" in diagnosis.outcome


@pytest.mark.parametrize("content", ["[]", "{", '{"steps": 3}', "\xff"])
def test_what_is_no_trajectory_is_refused(tmp_path: Path, content: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(content.encode("latin-1"))
    with pytest.raises(UserError, match="no trajectory"):
        list(import_sessions(Home.from_environment(), tmp_path, "atif", str(log)))
    with pytest.raises(UserError, match="no place of their own"):
        list(import_sessions(Home.from_environment(), tmp_path, "atif"))


@pytest.mark.timeout(60)
def test_a_pipe_and_deep_nesting_are_no_trajectory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "deep").write_text('{"steps": ' + "[" * 500 + "]" * 500 + "}")
    for name, told in (("pipe", "no file"), ("deep", "no trajectory")):
        with pytest.raises(UserError, match=told):
            list(import_sessions(Home.from_environment(), tmp_path, "atif", str(tmp_path / name)))
