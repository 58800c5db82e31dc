"""What becomes of an input here: each kind is read by the part of the product that reads it for users."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

State = Mapping[str, Any]

_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "PATCHWRIGHT_HOME")


def read_input(kind: str, given: Mapping[str, Any]) -> State:
    """Return what became of an input, with what is named as not used in `left`."""
    return _READERS[kind](given)


@contextmanager
def _make_places(files: Mapping[str, str]) -> Iterator[tuple[Path, Path]]:
    """Make a home folder and a workspace with the files; those below `~/` are in the home."""
    before = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        home, root = Path(folder, "home"), Path(folder, "work")
        for place in (home, root):
            place.mkdir()
        for name, text in files.items():
            path = home / name[2:] if name.startswith("~/") else root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@ROOT@", str(root)), "utf-8")
        os.environ["HOME"] = str(home)
        try:
            yield home, root
        finally:
            del os.environ["HOME"]
            os.environ.update(before)


def _import(given: Mapping[str, Any]) -> State:
    """Take over an agent's settings, and read what was written as a session would."""
    from agent.app_dirs import Home
    from agent.extension.commands.command_catalog import load_commands
    from agent.extension.hooks.hook_catalog import load_hooks
    from agent.team.definitions.agent_catalog import load_agents
    from packages.setup.commands.import_ import Agent, read_plan
    from packages.setup.importing.import_plan import write_plan

    with _make_places(given["files"]) as (home, root):
        plan = read_plan(Agent(given["agent"]), root)
        ours = Home.from_environment()
        write_plan(plan, ours)
        loaded = load_hooks(ours, root)
        agents = load_agents(ours, root).agents
        return {
            "settings": plan.settings,
            "files": {name: content.decode("utf-8", "replace") for name, content in plan.files.items()},
            "hooks": [_describe_hook(each) for each in loaded.hooks],
            "agents": {name: _describe_agent(each) for name, each in agents.items()},
            "commands": sorted(load_commands(ours, root).commands),
            "left": [each.replace(str(home), "~") for each in plan.left],
        }


def _describe_hook(hook: Any) -> dict[str, Any]:
    names = ("event", "kind", "matcher", "runs", "timeout", "condition", "dialect", "subject", "refusal")
    return {
        **{name: getattr(hook, name) for name in names},
        "strict": hook.is_strict,
        "async": hook.is_async,
        "args": list(hook.args or ()),
        "headers": dict(hook.headers),
    }


def _describe_agent(agent: Any) -> dict[str, Any]:
    return {
        "description": agent.description,
        "instructions": agent.instructions,
        "tools": None
        if agent.tools is None
        else sorted({name for each in agent.tools for name in each.tools}),
        "agents": sorted({name for each in agent.tools or () for name in each.agents}),
        "denied": sorted({name for each in agent.denied for name in each.tools}),
        "model": agent.model,
        "mode": str(agent.mode or ""),
        "effort": agent.effort or "",
        "max_turns": agent.max_turns,
        "background": agent.background,
        "isolation": agent.isolation,
        "memory": agent.memory,
        "skills": list(agent.skills),
    }


def _hooks(given: Mapping[str, Any]) -> State:
    """Read a file with hooks in Claude Code's schema."""
    from agent.extension.hooks.hook_parser import parse_hook_file

    left: list[str] = []
    found = parse_hook_file(given["text"].encode(), "hooks.json", left, is_project=False)
    return {"hooks": [_describe_hook(each) for each in found], "left": left}


def _hook(given: Mapping[str, Any]) -> State:
    """Run what a hook is told and what it answers through the translation of its format."""
    from agent.extension.hooks.hook_answer import parse_answer
    from agent.extension.hooks.hook_definition import HookDefinition
    from agent.extension.hooks.hook_dialect import (
        build_environment,
        find_dialect,
        name_tools,
        translate_input,
    )

    dialect = given.get("dialect", "")
    event = find_dialect(dialect)[1]["event"] if dialect else given["event"]
    hook = HookDefinition(event=event, kind="command", runs="x", dialect=dialect)
    told = translate_input(dialect, given.get("told", {})) if dialect else given.get("told", {})
    answer = parse_answer(hook, given.get("code", 0), given.get("answer", ""), given.get("error", ""))
    return {
        "event": event,
        "told": told,
        "environment": build_environment(dialect, told) if dialect else {},
        "names": list(name_tools(dialect, given.get("names", []))) if dialect else [],
        "answer": asdict(answer),
        "left": [answer.message, answer.problem],
    }


def _agent(given: Mapping[str, Any]) -> State:
    from agent.team import OWN_TOOLS
    from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
    from tools.builtin_tools import NAMES

    try:
        agent = parse_agent_file(given["text"], "a.md", given.get("stem", "a"), NAMES | OWN_TOOLS)
    except BadAgentFile as error:
        return {"left": [str(error)]}
    return {"name": agent.name, **_describe_agent(agent), "left": list(agent.warnings)}


def _plugin(given: Mapping[str, Any]) -> State:
    """Read a plugin's folder as `patchwright plugin check` does."""
    with _make_places(given["files"]) as (_, root):
        return read_plugin_folder(root)


def read_plugin_folder(folder: Path, name: str = "") -> State:
    """Return the parts of a plugin by kind, with what each does."""
    from agent.app_dirs import Home
    from agent.extension.plugins.plugin_install import discard_plugin, stage_plugin
    from sandbox.errors import UserError

    ours = Home.from_environment()
    try:
        staged = stage_plugin(ours, str(folder), name)
    except UserError as error:
        return {"left": [error.message]}
    try:
        parts: dict[str, dict[str, str]] = {}
        for part in staged.contents.parts:
            parts.setdefault(part.kind, {})[part.name.rpartition(":")[2]] = part.does
        return {"name": staged.plugin.name, **parts, "left": list(staged.left)}
    finally:
        discard_plugin(ours, staged)


def _instructions(given: Mapping[str, Any]) -> State:
    from agent.context.project_instructions import read_project_instructions

    with _make_places(given["files"]) as (_, root):
        found = read_project_instructions(root, root / given.get("working", "."))
        return {"files": dict(found.files), "order": list(found.files), "left": found.left}


def _reply(given: Mapping[str, Any]) -> State:
    """Receive a stream of events from a server on loopback."""
    from agent.model.protocol import ReasoningDelta, Reply, Request, UserMessage
    from sandbox.errors import UserError
    from tests.support.formats import model
    from tests.support.raw_endpoint import RawAnswer, RawEndpoint

    lines = [each if each == "[DONE]" else each.strip() for each in given["events"].strip().splitlines()]
    body = "".join(f"data: {each}\n\n" for each in lines).encode()

    async def receive(asked: Any) -> list[Any]:
        request = Request(system="s", messages=[UserMessage(text="go")])
        return [each async for each in asked.stream(request)]

    with RawEndpoint(
        lambda request, number: RawAnswer(pieces=[body], status=given.get("status", 200))
    ) as server:
        try:
            items = asyncio.run(receive(model(given["wire"], server)))
        except UserError as error:
            return {"error": error.message, "requests": len(server.requests), "left": [error.message]}
        sent = len(server.requests)
    reply = items[-1]
    assert isinstance(reply, Reply)
    return {
        "text": reply.text,
        "reasoning": reply.reasoning,
        "streamed": "".join(each.text for each in items if isinstance(each, ReasoningDelta)),
        "stop": reply.stop,
        "usage": asdict(reply.usage),
        "actions": [{"tool": each.tool, "arguments": dict(each.arguments)} for each in reply.actions],
        "kept": json.loads(json.dumps([dict(each) for each in reply.kept], default=dict)),
        "requests": sent,
        "left": [],
    }


def _form(given: Mapping[str, Any]) -> State:
    from tools.mcp.forms import check_content, list_choices, read_schema

    schema = read_schema(json.loads(given["schema"]))
    if schema is None:
        return {"left": ["it cannot be shown"]}
    content, problems = check_content(schema, json.loads(given.get("filled", "{}")))
    choices = {
        name: [list(each) for each in list_choices(field)] for name, field in schema["properties"].items()
    }
    return {"schema": schema, "choices": choices, "content": content, "left": problems}


def _span(given: Mapping[str, Any]) -> State:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from agent.events import End, MessageEvent, Prompt
    from agent.events.event_base import UsageRecord
    from packages.telemetry.session_spans import SessionSpans

    memory, reader, tracing = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(memory))
    spans = SessionSpans(tracing.get_tracer("x"), MeterProvider([reader]).get_meter("x"), "s")
    message = MessageEvent(text="x", model=given["model"], usage=UsageRecord(**given.get("usage", {})))
    for event in (Prompt(text="p"), message, End(outcome="done", exit_code=0, summary="")):
        event.time = event.time or 1.0
        spans.handle_event(event)
    data = reader.get_metrics_data()
    metrics = [
        each.name
        for one in (data.resource_metrics if data is not None else ())
        for scope in one.scope_metrics
        for each in scope.metrics
    ]
    [chat] = [each for each in memory.get_finished_spans() if each.name.startswith("chat ")]
    return {"attributes": dict(chat.attributes or {}), "name": chat.name, "metrics": metrics, "left": []}


def _rule(given: Mapping[str, Any]) -> State:
    """Translate a permission rule of Claude Code's form."""
    from packages.setup.importing.foreign_rules import add_rule
    from packages.setup.importing.import_plan import ImportPlan

    plan = ImportPlan()
    add_rule(plan, given["text"], given["verdict"], "settings.json")
    [*rules] = plan.settings.get(f"permissions.{given['verdict']}", [])
    return {"rule": rules[0], "left": plan.left} if rules else {"left": plan.left}


def _tool(given: Mapping[str, Any]) -> State:
    from tools.builtin_tools import NAMES
    from tools.core.tool_names import parse_grant

    try:
        grant = parse_grant(given["text"], NAMES, unknown_patterns="none")
    except ValueError as error:
        return {"left": [str(error)]}
    left = [] if grant.tools else [f"no tool for {given['text']}"]
    return {
        "tools": list(grant.tools),
        "scope": grant.scope or "",
        "agents": list(grant.agents),
        "left": left,
    }


_READERS: Mapping[str, Callable[[Mapping[str, Any]], State]] = {
    "import": _import,
    "hooks": _hooks,
    "hook": _hook,
    "agent": _agent,
    "plugin": _plugin,
    "instructions": _instructions,
    "reply": _reply,
    "form": _form,
    "span": _span,
    "rule": _rule,
    "tool": _tool,
}
