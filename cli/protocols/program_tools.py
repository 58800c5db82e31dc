"""Tools of the program that drives a session: a line out for each call, a line in with its result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace

SERVER = "program"
"""The driving program, where rules name its tools: `mcp(program.NAME)`."""

LONGEST_NAME = 64
"""Characters of a tool's name that every provider accepts."""

_NAME = compile_lazily(rf"[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}")

LONGEST_RESULT = 1 << 20
"""Characters of a result; more is cut."""


class ProgramTools:
    """The tools of a driving program, and the calls that wait for their results."""

    def __init__(self, write: Callable[[Mapping[str, Any]], None]) -> None:
        """write: writes one line of fields to the program"""
        self._write = write
        self._waiting: dict[str, asyncio.Future[Observation]] = {}
        self._called = 0
        self._is_closed = False

    def make_tools(self, described: object) -> list[Tool]:
        """Return the tools of a line's field `tools`: name, description, parameters, reads_only. Raises UserError."""
        if not isinstance(described, list):
            raise _explain("`tools` has to be a list")
        return [self._make_tool(each) for each in described]

    def take_result(self, fields: Mapping[str, Any]) -> bool:
        """Take the result of a call; False if no such call waits."""
        waiting = self._waiting.get(str(fields.get("id", "")))
        if waiting is None or waiting.done():
            return False
        text = str(fields.get("text", ""))[:LONGEST_RESULT]
        waiting.set_result(Observation(text=text, failed=fields.get("failed") is True))
        return True

    def close(self) -> None:
        """Let all calls fail: the program is gone."""
        self._is_closed = True
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(ToolFailure("the program that has this tool is gone"))

    def _make_tool(self, fields: object) -> Tool:
        if not isinstance(fields, Mapping):
            raise _explain("each of `tools` has to be an object")
        name, parameters = fields.get("name"), fields.get("parameters", {"type": "object", "properties": {}})
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _explain(
                f"a tool's name has up to {LONGEST_NAME} letters, digits, _ and -, not {name!r:.80}"
            )
        _check_parameters(name, parameters)
        reads_only = fields.get("reads_only") is True

        async def run(arguments: Mapping[str, Any], *, at: Workspace) -> Observation:
            return await self._call(name, arguments)

        def effect_of(arguments: Mapping[str, Any], at: Workspace) -> Effect:
            if reads_only:
                return Effect(kind="none")
            given = json.dumps(arguments.get("arguments", {}), ensure_ascii=False)
            return Effect(
                kind="mcp",
                server_tool=f"{SERVER}.{name}",
                call=f"{name} {given}",
                reason="only the program that drives the session knows what that does",
            )

        return ProgramTool(
            name=name,
            description=str(fields.get("description", ""))[:4_000],
            parameters=parameters,
            run=run,
            effect_of=effect_of,
            reads_only=reads_only,
        )

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> Observation:
        if self._is_closed:
            raise ToolFailure("the program that has this tool is gone")
        self._called += 1
        number = f"t{self._called}"
        result: asyncio.Future[Observation] = asyncio.get_running_loop().create_future()
        self._waiting[number] = result
        self._write({"kind": "tool-call", "id": number, "tool": name, "arguments": dict(arguments)})
        try:
            return await result
        except asyncio.CancelledError:
            self._write({"kind": "tool-cancel", "id": number})
            raise
        finally:
            self._waiting.pop(number, None)


@dataclass(frozen=True)
class ProgramTool(Tool):
    """A tool of the driving program, with arguments checked against its schema."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """See `Tool.validate`."""
        from jsonschema.exceptions import best_match
        from jsonschema.validators import Draft202012Validator

        problem = best_match(Draft202012Validator(self.parameters).iter_errors(dict(arguments)))
        if problem is not None:
            where = "/".join(map(str, problem.absolute_path)) or "the arguments"
            raise ToolFailure(f"{self.name}: {where}: {problem.message}; nothing was done")
        return {"arguments": dict(arguments)}


def _check_parameters(name: str, parameters: object) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator

    if not isinstance(parameters, dict) or not isinstance(parameters.get("properties"), dict):
        raise _explain(f"the parameters of {name!r} have to be a JSON schema of an object with properties")
    if _has_references(parameters):
        raise _explain(f"the parameters of {name!r} refer to another place ($ref): write them out")
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        raise _explain(f"the parameters of {name!r} are no JSON schema: {error.message}") from None


def _has_references(schema: object) -> bool:
    if isinstance(schema, Mapping):
        return "$ref" in schema or "$dynamicRef" in schema or any(map(_has_references, schema.values()))
    return isinstance(schema, Sequence) and not isinstance(schema, str) and any(map(_has_references, schema))


def _explain(what: str) -> UserError:
    return UserError(Fault.USAGE, what)
