"""`plan`, `recall`, `finish`, and all tools together."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.model.providers.model_family import find_family
from tests.tools.workspaces import call, refused, workspace
from tools.builtin_tools import TOOLS, load_default_tools
from tools.core.workspace import PlanItem
from tools.session.finish import finish
from tools.session.plan import plan
from tools.session.recall import recall

REPOSITORY = Path(__file__).resolve().parents[3]


def test_a_plan_replaces_the_one_before(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    first = [{"text": "read", "status": "doing"}, {"text": "fix"}]
    assert call(plan, at, items=first).text == "plan: 0 of 2 items done\n[>] read\n[ ] fix"
    second = [{"text": "read", "status": "done"}, {"text": "fix", "status": "doing"}]
    observation = call(plan, at, items=second)
    assert observation.text == "plan: 1 of 2 items done\n[x] read\n[>] fix"
    assert observation.data == {"items": second}
    assert at.plan == [PlanItem(text="read", status="done"), PlanItem(text="fix", status="doing")]


def test_a_plan_with_unknown_status_or_empty_text_changes_nothing(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    call(plan, at, items=[{"text": "read"}])
    assert "'open', 'doing' or 'done'" in refused(plan, at, items=[{"text": "a", "status": "later"}])
    assert "needs a text" in refused(plan, at, items=[{"text": " "}])
    assert "too many" in refused(plan, at, items=[{"text": str(n)} for n in range(50)])
    assert [item.text for item in at.plan] == ["read"]


def test_the_schema_of_a_plan_says_what_an_item_is() -> None:
    assert plan.parameters["properties"]["items"]["items"] == {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "status": {"type": "string", "enum": ["open", "doing", "done"]},
        },
        "required": ["text"],
    }


def test_recall_shows_any_part_of_a_whole_output(tmp_path: Path) -> None:
    at = workspace(tmp_path)
    ref = at.artifacts.save("".join(f"row {n}\n" for n in range(1, 1001)).encode())
    assert (
        call(recall, at, ref=ref, start=999).text
        == "out:1: lines 999–1000 of 1,000\n999\trow 999\n1000\trow 1000"
    )
    assert call(recall, at, ref=ref).text.endswith('[more: recall(ref="out:1", start=401)]')
    assert call(recall, at, ref=ref, start=3, end=3).ref == ref
    assert "no output 'out:9'" in refused(recall, at, ref="out:9")
    assert "there are 1,000 lines" in refused(recall, at, ref=ref, start=1001)
    assert call(recall, at, ref=at.artifacts.save(b"")).text == "out:2 is empty"


def test_finish_ends_the_turn_with_its_summary(tmp_path: Path) -> None:
    observation = call(finish, workspace(tmp_path), summary=" fixed the total ")
    assert observation.text == "fixed the total"
    assert observation.data == {"summary": "fixed the total", "status": "done"}
    assert finish.ends


@pytest.mark.parametrize("model", ["openai/gpt-5", "anthropic/claude-x", "ollama/qwen3", "deepseek/x"])
def test_the_tools_of_a_session_are_told_in_eight_kilobytes(model: str) -> None:
    tools = load_default_tools(find_family(model).formats)
    assert [tool.name for tool in tools if tool.ends] == ["finish"]
    specs = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
        if tool.name != "rename"  # offered where the user has set up a language server
    ]
    assert len(json.dumps(specs)) < 8_000
    assert len({tool.name for tool in tools}) == len(tools)
    assert len({tool.name for tool in load_default_tools()}) == len(TOOLS)


def test_argument_names_are_those_that_scripts_rely_on() -> None:
    signatures = {tool.name: tool.signature for tool in load_default_tools()}
    expected = (
        "read(path, start?, end?)",
        "list(path?, depth?)",
        "search(pattern, path?, glob?)",
        "edit(path, old, new, all?)",
        "write(path, content)",
        "shell(command, timeout?)",
        "run_tests(targets?)",
        "plan(items)",
        "git_commit(message)",
        "recall(ref?, find?, start?, end?)",
        "memory(note?, forget?)",
        "finish(summary, status?)",
    )
    assert [signatures[each.partition("(")[0]] for each in expected] == list(expected)


@pytest.mark.slow
def test_importing_the_tools_imports_nothing_heavy() -> None:
    heavy = (
        "git",
        "tree_sitter",
        "pydantic",
        "litellm",
        "rich",
        "prompt_toolkit",
        "httpx",
        "xml.etree.ElementTree",
    )
    code = (
        "import tools.builtin_tools as d, sys; d.load_default_tools();"
        f" print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert done.stdout.strip() == "[]"
