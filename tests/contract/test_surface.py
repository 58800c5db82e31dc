"""What others rely on, compared with golden files: options, tools, events, settings, exit codes, slash commands.

A difference here breaks somebody's script, hook or benchmark. `GOLDEN=write pytest tests/contract/test_surface.py`
writes the files anew; the change then belongs into the changelog.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract import surface
from tests.support.cli import CHECKOUT, environment, run, script
from tests.support.golden import WRITING, compare_data
from tools.builtin_tools import describe_tools

GOLDEN = Path(__file__).parent / "golden"


def compare(seen: Any, name: str) -> None:
    compare_data(seen, GOLDEN / f"{name}.json")


@pytest.mark.slow
def test_every_command_has_its_options_and_arguments() -> None:
    compare(surface.commands(), "commands")


@pytest.mark.slow
def test_the_prepared_help_is_what_the_parser_writes(tmp_path: Path) -> None:
    code = "from patchwright.launcher import open_floors; open_floors(); from cli.app import main; main()"
    parsed = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        env=environment({"COLUMNS": "80"}), capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    path = CHECKOUT / "cli/help.txt"
    if WRITING:
        path.write_text(parsed)
    assert path.read_text() == parsed
    assert run("--help", cwd=tmp_path, env={"COLUMNS": "80"}).out == parsed
    assert run("-h", cwd=tmp_path, env={"COLUMNS": "200"}).out == parsed
    narrow = run("--help", cwd=tmp_path, env={"COLUMNS": "60"}).out
    assert narrow != parsed, "a narrower terminal gets lines of its width"


# ── Tools ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_tool_has_its_arguments_and_its_effect(tmp_path: Path) -> None:
    compare(surface.tools(tmp_path / "shop"), "tools")


def test_the_table_of_tools_is_what_their_functions_say() -> None:
    text = json.dumps(describe_tools(), indent=1, ensure_ascii=False) + "\n"  # arguments in their order
    path = CHECKOUT / "tools/tool_table.json"
    if WRITING:
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), "a tool has changed: GOLDEN=write"


def test_a_kernel_has_the_tools_as_functions() -> None:
    compare(surface.kernel_functions(), "kernel_functions")


MODELS = (
    "scripted:turns.json",
    "openai/gpt-5.1",
    "openai/gpt-4.1-nano",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-3-pro",
    "deepseek/deepseek-chat",
    "ollama/qwen3-coder",
    "somebody/unknown",
)


def test_models_are_told_the_edit_formats_that_their_family_writes_well() -> None:
    compare({name: surface.offered_by_format(name) for name in MODELS}, "edit_formats")


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": True}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}),
    ("Write", {"file_path": "a.py", "content": "x"}),
    ("Read", {"file_path": "a.py", "offset": 3, "limit": 10}),
    ("Bash", {"command": "ls", "description": "Look"}),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
    ),
    ("str_replace_based_edit_tool", {"command": "view", "path": "a.py", "view_range": [2, -1]}),
    (
        "str_replace_based_edit_tool",
        {"command": "insert", "path": "a.py", "insert_line": 1, "insert_text": "y"},
    ),
    ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "x"}),
    ("replace_in_file", {"path": "a.py", "diff": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"}),
    ("write_to_file", {"path": "a.py", "content": "x"}),
    ("apply_diff", {"path": "a.py", "diff": "@@ -1 +1 @@\n-x\n+y\n"}),
    ("apply_patch", {"input": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}),
    ("shell", {"command": ["bash", "-lc", "ls"]}),
    ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"]}),
    ("exec_command", {"cmd": "ls"}),
    ("run_terminal_cmd", {"command": "ls"}),
    ("Task", {"description": "Look", "prompt": "Where is it?", "subagent_type": "Explore"}),
    ("Grep", {"pattern": "total", "path": "src", "glob": "*.py", "output_mode": "content", "-n": True}),
    ("Glob", {"pattern": "**/*.py"}),
    ("LS", {"path": "src"}),
    ("TodoWrite", {"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]}),
    ("AskUserQuestion", {"questions": [{"question": "Which one?", "header": "One", "options": []}]}),
    ("Skill", {"skill": "pdf"}),
    ("view_file", {"absolute_path": "a.py", "start_line": 1, "end_line": 2}),
]
"""Calls as other agents' models write them."""


def test_calls_of_other_agents_tools_are_taken_as_ours() -> None:
    taken = [{"call": [name, given], "taken": surface.convert_call(name, given)} for name, given in CALLS]
    compare({"names": surface.aliases(), "calls": taken}, "aliases")


OFFERED: dict[str, tuple[list[str], dict[str, str]]] = {
    "workspace": ([], {}),
    "mode read-only": (["--mode", "read-only"], {}),
    "mode full": (["--mode", "full"], {}),
    "actions tools": (["--actions", "tools"], {}),
    "actions code": (["--actions", "code"], {}),
    "no commit": (["--no-commit"], {}),
    "a language server": ([], {"PATCHWRIGHT_LANGUAGE_SERVERS": '{python = "sh"}'}),
    **{
        f"edits as {', '.join(each)}": ([], {"PATCHWRIGHT_EDIT__FORMATS": json.dumps(each)})
        for each in (
            ["replace", "whole"],
            ["symbol", "whole"],
            ["lines", "whole"],
            ["patch"],
            ["blocks"],
            ["diff"],
            ["whole"],
        )
    },
}
"""Situations in which a model may be offered other tools: options, and settings by variable."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_session_offers_its_model_the_tools_of_its_mode(ledger: Path, tmp_path: Path) -> None:
    """As the first request of a real run has them."""
    model = script(tmp_path, [{"text": "Nothing to do."}])
    offered = {}
    for name, (options, env) in OFFERED.items():
        done = run("run", "go", "--model", model, "--output", "stream-json", *options, cwd=ledger, env=env)
        assert done.code == 0, done.out
        [tools] = [event["request"]["tools"] for event in done.events if event["kind"] == "message"]
        offered[name] = [each["name"] for each in tools]
        if name == "workspace":
            known = json.loads((GOLDEN / "tools.json").read_text("utf-8"))
            for each in tools:
                assert surface.without_prose(each["parameters"]) == known[each["name"]]["arguments"]
    compare(offered, "offered_tools")


# ── Events ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_the_published_schemas_keep_their_shape(tmp_path: Path) -> None:
    names = ("events", "input", "result", "settings")
    schemas = {name: json.loads(run("schema", name, cwd=tmp_path).out) for name in names}
    compare({name: [schemas[name]["$id"], schemas[name]["title"]] for name in names}, "schemas")
    events = [surface.without_prose(each) for each in _by_kind(schemas["events"])]
    compare({each["properties"]["kind"]["const"]: each for each in events}, "events")
    for name in ("input", "result"):
        compare(surface.without_prose(schemas[name]), f"schema_{name}")


def _by_kind(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**each, "$defs": schema["$defs"]} for each in schema["oneOf"]]


LINES = (GOLDEN / "event_lines.jsonl").read_bytes().splitlines(keepends=True)
"""A line of each kind, as a real session wrote it (make_sessions.py)."""


@pytest.mark.parametrize("line", LINES, ids=lambda line: json.loads(line)["kind"])
def test_an_event_is_written_as_it_was_read(line: bytes) -> None:
    assert surface.read_and_write(line) == line


def test_there_is_a_line_of_every_kind_of_event() -> None:
    known = json.loads((GOLDEN / "events.json").read_text("utf-8"))
    assert sorted(json.loads(line)["kind"] for line in LINES) == sorted(known)


# ── Settings ─────────────────────────────────────────────────────────────────────────────────────────


VALUES: dict[str, Any] = {
    "actions": "code",
    "agents.models": {"explore": "openai/gpt-5-mini"},
    "skills.budget": 500,
    "prompts": {"name": "Reply with one name."},
    "descriptions": {"read": "Read a file."},
    "discipline.named": {"read-before-edit": "enforce"},
    "edit.formats": ["whole"],
    "hosting": {"git.example.org": "gitea"},
    "language_servers": {"c": "clangd"},
    "max_cost": 1.5,
    "max_tokens": 1000,
    "mcp": {"tickets": "tickets-mcp"},
    "models.catalog": {"openai/local": {"window": 8000}},
    "models.limits": {"openai": {"calls": 60}},
    "models.temperature": 0.5,
    "resident_sandbox": False,
    "sandbox": "landlock",
    "strategy.budget": "5, 10m",
    "strategy.name": "sample",
    "strategy.temperatures": [0.2, 0.9],
    "tool_search": "always",
    "visible_paths": ["/usr/share"],
    "web.search": "brave",
    "web.search_url": "https://search.example",
    "web.search_tool": "search.find",
    "rules": [{"name": "no-push", "kind": "commands", "commands": ["git push *"]}],
    "terminal.keys": {"unfold": ["f2"]},
    **{f"permissions.{each}": ["shell(ls *)"] for each in ("allow", "ask", "deny")},
}
"""A value for each setting whose schema does not suggest one."""


@pytest.mark.slow
def test_every_setting_has_its_type_default_variable_and_places(tmp_path: Path) -> None:
    found = surface.settings()
    for key, each in found.items():
        value = VALUES[key] if key in VALUES else _other(each["schema"])
        each["may_be_set"] = {"to": value, "by": surface.may_set(tmp_path, key, value)}
    compare(found, "settings")


def _other(schema: dict[str, Any]) -> Any:
    """A value that is not the default."""
    default = schema.get("default")
    if "anyOf" in schema:
        return _other({**schema["anyOf"][0], "default": default})
    if "enum" in schema:
        return next(each for each in schema["enum"] if each != default)
    kinds = {"string": "text", "boolean": not default, "array": ["text"]}
    return kinds[schema["type"]] if schema["type"] in kinds else default + 1000


@pytest.mark.slow
def test_the_environment_has_the_variables_that_are_no_settings() -> None:
    compare(surface.variables(), "variables")


# ── Exit codes, slash commands, hooks ────────────────────────────────────────────────────────────────


def test_exit_codes_keep_their_numbers_and_are_documented() -> None:
    found = surface.exit_codes()
    compare(found, "exit_codes")
    rows = re.findall(
        r"^\| (\d+) \| .+ \|$", (CHECKOUT / "docs/exit-codes.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(map(int, rows)) == sorted(found["codes"].values())


def test_every_slash_command_has_its_argument() -> None:
    compare(surface.slash_commands(), "slash_commands")


def test_git_hooks_have_their_names() -> None:
    compare(surface.hooks(), "hooks")
