"""Tools under other names: a model that goes by their purpose solves the task, one that knows names by heart not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.context.projection.message_slots import NoteMessage
from agent.events import MessageEvent, ObservationEvent
from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Reply,
    Request,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from agent.session.log import read_events
from agent.session_settings import SessionSettings, StrategySettings
from agent.turn.runtime import Runtime
from packages.evaluation.mining.rename_tools import ARGUMENTS, NAMES, rename_tools
from packages.evaluation.mining.vary_tasks import vary_tasks
from packages.evaluation.runs.renamed_tools import RenamedTools, ToolNames, rename_task_tools
from packages.evaluation.runs.run_plan import make_plan
from packages.evaluation.runs.trial import run_trial
from packages.evaluation.runs.variant import make_variant
from packages.evaluation.tasks.suite_folder import load_suite
from packages.evaluation.tasks.task_file import RenamedTool
from sandbox.errors import UserError
from tests.support.evaluation_trials import EDIT, make_order, make_task, write_script
from tests.support.loopback import Loopback
from tools.builtin_tools import NAMES as OWN_NAMES
from tools.builtin_tools import load_default_tools


def edit_by_purpose(request: Request) -> Mapping[str, Any]:
    """Find the tool that replaces text by its description, and its arguments by their order."""
    if any(isinstance(each, ToolMessage) for each in request.messages):
        return {"text": "Done."}
    tool = next(each for each in request.tools if each.description.startswith("Replace text in a file"))
    names = list(tool.parameters["properties"])[:3]
    assert names == tool.parameters["required"]
    values = dict(zip(names, ("add.py", "a - b", "a + b"), strict=True))
    return {"calls": [{"tool": tool.name, "arguments": values}]}


@pytest.mark.slow
def test_a_model_that_goes_by_purpose_works_under_other_names(tmp_path: Path) -> None:
    make_task(tmp_path / "suite/add")
    vary_tasks(load_suite(tmp_path / "suite").tasks, tmp_path / "renamed", "renamed-tools", seed=4)
    (task,) = load_suite(tmp_path / "renamed").tasks
    shown = task.file.tools["edit"]
    with Loopback(edit_by_purpose) as server:
        order = make_order(task, "small", tmp_path)
        settings = replace(order.settings, api_base=server.url)
        result = asyncio.run(run_trial(replace(order, settings=settings)))
        bodies = [each.body for each in server.requests if each.body.get("tools")]
    assert (result.solved, result.tool_failures) == (True, 0), result
    log = list(read_events(order.folders.sessions / result.session))
    action = next(each for each in log if isinstance(each, MessageEvent) and each.actions).actions[0]
    assert (action.tool, action.arguments) == ("edit", EDIT["arguments"])
    offered = {each["function"]["name"] for each in bodies[0]["tools"]}
    assert shown.name in offered
    assert not offered & NAMES.keys()
    call = next(each for each in bodies[1]["messages"] if each.get("tool_calls"))["tool_calls"][0]["function"]
    assert call["name"] == shown.name
    assert set(json.loads(call["arguments"])) == {shown.arguments[each] for each in ("path", "old", "new")}


@pytest.mark.slow
def test_a_real_name_is_refused_and_scripts_speak_the_other_names(tmp_path: Path) -> None:
    fields = {"tools": {"edit": {"name": "amend", "arguments": {"old": "before"}}}}
    task = make_task(tmp_path / "suite/add", **fields)
    renamed = {"path": "add.py", "before": "a - b", "new": "a + b"}
    half = {"tool": "amend", "arguments": EDIT["arguments"]}
    turns = [{"calls": [EDIT]}, {"calls": [half]}, {"text": "Done.", "repeat": 9}]
    result = asyncio.run(run_trial(make_order(task, write_script(tmp_path / "a.json", turns), tmp_path)))
    assert (result.solved, result.failure, result.tool_failures) == (False, "no-change", 2)
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    told = [each.text for each in log if isinstance(each, ObservationEvent) and each.failed]
    assert "there is no tool 'edit'; there are: amend" in told[0]
    assert "there is no argument 'old' of 'amend'" in told[1]
    turns = [{"calls": [{"tool": "amend", "arguments": renamed}]}, {"text": "Done."}]
    order = make_order(task, write_script(tmp_path / "b.json", turns), tmp_path, key="b" * 64)
    result = asyncio.run(run_trial(order))
    assert result.solved
    log = list(read_events(tmp_path / "data/sessions" / result.session))
    assert [each.actions[0].tool for each in log if isinstance(each, MessageEvent) and each.actions] == [
        "edit"
    ]
    clashes = {
        "edit": ({"edit": {"name": "amend", "arguments": {"old": "new"}}}, "the same name"),
        "read": ({"edit": {"name": "read"}}, "which another has"),
    }
    for name, (tools, words) in clashes.items():
        other = make_task(tmp_path / f"suite/{name}", tools=tools)
        model = write_script(tmp_path / "c.json", [{"text": "Done."}])
        failed = asyncio.run(run_trial(make_order(other, model, tmp_path, key=name * 16)))
        assert (failed.failure, words in failed.detail) == ("configuration", True), failed
    code = replace(order, settings=replace(order.settings, actions="code"), key="c" * 64)
    refused = asyncio.run(run_trial(code))
    assert (refused.failure, "acts by code" in refused.detail) == ("configuration", True)


def test_tables_follow_their_seed_and_no_two_names_meet() -> None:
    assert rename_tools("1") == rename_tools("1")
    assert len({json.dumps({t: r.name for t, r in rename_tools(str(n)).items()}) for n in range(20)}) > 15
    words = [word for table in (NAMES, ARGUMENTS) for words in table.values() for word in words]
    assert len(set(words)) == len(words)
    assert not {word for words in NAMES.values() for word in words} & OWN_NAMES
    table = rename_tools("2")
    for tool in load_default_tools():
        own = list(tool.parameters["properties"])
        others = [table[tool.name].arguments.get(each, each) for each in own]
        assert len(set(others)) == len(own)
        assert tool.name in table


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ({"read": {"name": "x"}, "edit": {"name": "x"}}, "two tools have the same name"),
        ({"read": {"name": "x", "arguments": {"a": "z", "b": "z"}}}, "two arguments have the same name"),
        ({"read": {"name": "no name"}}, "tools.read.name"),
    ],
)
def test_a_table_that_cannot_be_mapped_back_is_refused(
    tools: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folder = make_task(tmp_path / "suite/add").folder
    import tomlkit

    from packages.evaluation.tasks.task_folder import load_task

    text = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(text + "\n" + tomlkit.dumps({"tools": tools}))
    with pytest.raises(UserError, match=words):
        load_task(folder)


def test_harness_texts_have_the_other_names_and_files_and_prompts_keep_theirs() -> None:
    sent: list[Request] = []

    class Listener:
        name, window = "listener", 1000

        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            sent.append(request)
            yield Reply(text="")

        async def close(self) -> None: ...

    names = {
        "recall": ToolNames(name="look_back", arguments={"ref": "handle"}),
        "read": ToolNames(name="show_lines", arguments={"path": "where"}),
    }
    tools = tuple(
        ToolSpec(name=name, description="", parameters={"properties": {each: {} for each in arguments}})
        for name, arguments in (("recall", ("ref", "find")), ("read", ("path", "start")))
    )
    shown = "file.read(path=1)\nread(size=2)\n`read` it\n"
    messages = [
        UserMessage(text="Mend `read`."),
        ToolMessage(call="1", name="shell", text=shown + '[more: read(path="a", start=3)]'),
        ToolMessage(call="2", name="shell", text="Use `read`.", failed=True),
        NoteMessage(text='cut; recall(ref="e1", find=WORDS) shows it; or `read` it'),
    ]

    async def ask() -> None:
        request = Request(system="", messages=messages, tools=tools)
        async for _ in RenamedTools(Listener(), names).stream(request):
            pass

    asyncio.run(ask())
    assert [each.text for each in sent[0].messages if not isinstance(each, AssistantMessage)] == [
        "Mend `read`.",
        shown + '[more: show_lines(where="a", start=3)]',
        "Use `show_lines`.",
        'cut; look_back(handle="e1", find=WORDS) shows it; or `show_lines` it',
    ]


def test_strategies_with_further_sessions_are_refused(tmp_path: Path) -> None:
    task = make_task(tmp_path / "suite/add", tools={"edit": {"name": "amend"}})
    for name in ("sample", "tree"):
        settings = SessionSettings(model="offline", strategy=StrategySettings(name=name))
        with pytest.raises(UserError, match=f"the strategy '{name}' would not see"):
            make_plan("s", [task], [make_variant("x", settings)], trials=1, seed=0, version="1")


@pytest.mark.slow
def test_agents_are_not_offered_and_a_switched_model_sees_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []

    def keep(runtime: Runtime, tools: Mapping[str, RenamedTool]) -> None:
        rename_task_tools(runtime, tools)
        found.extend((runtime.settings.agents.delegate, runtime.apply_action_format(runtime.model)))

    monkeypatch.setattr("packages.evaluation.runs.renamed_tools.rename_task_tools", keep)
    task = make_task(tmp_path / "suite/add", tools={"edit": {"name": "amend"}})
    model = write_script(tmp_path / "a.json", [{"text": "Done."}])
    asyncio.run(run_trial(make_order(task, model, tmp_path)))
    assert (found[0], type(found[1])) == (False, RenamedTools)
