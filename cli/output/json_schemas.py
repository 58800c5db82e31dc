"""`patchwright schema`: the published JSON schemas of output, input and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

from agent.events import FORMAT

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_events_schema() -> dict[str, Any]:
    """Build the schema of one line of `--output stream-json`, and of a session's log."""
    from pydantic import Discriminator, TypeAdapter

    from agent.events.parsing import KINDS

    union: Any = reduce(or_, dict.fromkeys(KINDS.values()))
    schema = TypeAdapter[Any](Annotated[union, Discriminator("kind")]).json_schema()
    note = "Events of other kinds, and other fields, may come with a later version: pass over them."
    return _add_title("Patchwright events", f"urn:patchwright:events:{FORMAT}", note, schema)


def build_result_schema() -> dict[str, Any]:
    """Build the schema of the object that `--output json` prints."""
    from pydantic import TypeAdapter

    from agent.events import End

    schema = TypeAdapter(End).json_schema()
    schema["properties"] |= {
        "session": {"type": "string", "description": "id of the session, for `patchwright resume`"},
        "model": {"type": "string"},
        "notices": {"type": "array", "items": {"type": "string"}, "description": "what a person should know"},
        "requirements": {
            "type": "array",
            "items": {"type": "object"},
            "description": "the requirements with their state and evidence, where they are checked",
        },
        "goal": {
            "type": "object",
            "description": "text, check, turns, results of the check and `reached`, where the run is a goal",
        },
        "rubric": {
            "type": "object",
            "description": "score and items of the rubric, where one is written: an opinion",
        },
        "spec_check": {
            "type": "array",
            "items": {"type": "object"},
            "description": "contradictions and loopholes of the task, where they are looked for",
        },
        "structured": {"description": "the answer, where --output-schema asked for one"},
    }
    schema["required"] = ["kind", "outcome", "exit_code", "summary", "session", "model"]
    return _add_title("Patchwright result", f"urn:patchwright:result:{FORMAT}", "", schema)


_TOOL = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "description": {"type": "string"},
        "parameters": {"type": "object"},
        "reads_only": {"type": "boolean"},
    },
    "required": ["name"],
}
"""A tool of the program that drives a session."""


def build_input_schema() -> dict[str, Any]:
    """Build the schema of one line that `--input stream-json` accepts."""

    def build_line_schema(kind: str, *required: str, **fields: Any) -> dict[str, Any]:
        properties = {"kind": {"const": kind}, **fields}
        return {"type": "object", "properties": properties, "required": ["kind", *required]}

    text = {"type": "string", "minLength": 1}
    lines = [
        build_line_schema("prompt", "text", text=text, schema={"type": ["object", "boolean"]}),
        build_line_schema("steer", "text", text=text),
        build_line_schema("interrupt"),
        build_line_schema("stop"),
        build_line_schema(
            "decision",
            "id",
            "verdict",
            id={"type": "string"},
            verdict={"enum": ["allow", "deny"]},
            reason={"type": "string"},
        ),
        build_line_schema(
            "configure",
            tools={"type": "array", "items": _TOOL},
            deltas={"type": "boolean"},
            answers={"type": "boolean"},
        ),
        build_line_schema(
            "tool-result",
            "id",
            "text",
            id={"type": "string"},
            text={"type": "string"},
            failed={"type": "boolean"},
        ),
        build_line_schema("answer", "id", "text", id={"type": "string"}, text={"type": "string"}),
    ]
    return _add_title("Patchwright input", "urn:patchwright:input:1", "", {"oneOf": lines})


def build_settings_schema() -> dict[str, Any]:
    """Build the schema of the settings file, which an editor can use for completion."""
    from pydantic import TypeAdapter

    from cli.settings.settings_types import build_file_type

    schema = TypeAdapter(build_file_type()).json_schema()
    return _add_title("Patchwright settings", "urn:patchwright:settings:1", "", schema)


def _add_title(title: str, name: str, note: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    head = {"$schema": DIALECT, "$id": name, "title": title}
    return {
        **head,
        **({"description": note} if note else {}),
        **{k: v for k, v in schema.items() if k not in head},
    }


SCHEMAS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "events": build_events_schema,
    "result": build_result_schema,
    "input": build_input_schema,
    "settings": build_settings_schema,
}
