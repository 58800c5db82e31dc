"""Calls as one JSON object whose schema the server enforces: a grammar lets a weak model write nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.model.protocol import Reply, ToolSpec
from agent.model.wire_formats.wire_protocol import encode_json
from tools.core.action import Action

ANSWER = "answer"
"""Name in place of a tool's with which the model ends its turn."""


def build_schema(tools: Sequence[ToolSpec]) -> Mapping[str, Any]:
    """Return the schema of a reply: the call of one tool, or the answer."""
    answer = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    forms = [(each.name, dict(each.parameters)) for each in tools] + [(ANSWER, answer)]
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "name": {"const": name},
                    "arguments": {**schema, "additionalProperties": False},
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for name, schema in forms
        ]
    }


def build_guide(tools: Sequence[ToolSpec]) -> str:
    """Return the description of the tools for the system prompt."""
    lines = [
        encode_json(
            {"name": each.name, "description": each.description, "parameters": each.parameters}
        ).decode()
        for each in tools
    ]
    return "\n".join(
        [
            'Reply with one JSON object: {"name": TOOL, "arguments": {…}}. What it returns comes in the next message.',
            f'To end, reply with {{"name": "{ANSWER}", "arguments": {{"text": "…"}}}}. The tools:',
            *lines,
        ]
    )


def read_reply(reply: Reply, tools: Sequence[ToolSpec]) -> Reply | None:
    """Return the reply with its call as an action, or its answer as text; None if it is no such object."""
    try:
        value = json.loads(reply.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("arguments"), dict):
        return None
    name, arguments = str(value.get("name", "")), value["arguments"]
    if name == ANSWER:
        return replace(reply, text=str(arguments.get("text", "")))
    if name not in {each.name for each in tools}:
        return None
    action = Action(
        id=f"call_{os.urandom(6).hex()}", tool=name, arguments=arguments, raw=json.dumps(arguments)
    )
    return replace(reply, text="", actions=(action,), stop="actions")
