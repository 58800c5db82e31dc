"""A tool that the server offers: its schemas, its annotations and its function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

LONGEST_QUOTE = 80
"""Characters of a bad argument that are quoted."""


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, so that a misspelt one is not ignored."""

    model_config = ConfigDict(extra="forbid")


Function = Callable[[Any, ServedRepository, OpenCall], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """A tool and how clients may treat it.

    reads_only: offered by a server that only reads, too; destructive: it may overwrite or remove files
    idempotent: a second call with the same arguments changes nothing more; open_world: it may reach a model
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[BaseModel]
    run: Function
    reads_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False

    def parse_arguments(self, given: Mapping[str, Any]) -> Arguments:
        """Validate the arguments of a call. Raises UserError with a line for each problem."""
        try:
            return self.arguments.model_validate(dict(given))
        except ValidationError as error:
            problems = [_describe_problem(each) for each in error.errors(include_url=False)]
            known = ", ".join(self.arguments.model_fields)
            raise UserError(
                Fault.USAGE, f"{self.name}: {'; '.join(problems)}", f"Its arguments are {known}."
            ) from None


def build_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model, without the titles that pydantic makes of names."""
    schema = model.model_json_schema()
    schema.pop("description", None)
    cleaned = _drop_titles(schema)
    assert isinstance(cleaned, dict)
    return cleaned


def _drop_titles(schema: object) -> object:
    if isinstance(schema, dict):
        return {
            key: _drop_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_drop_titles(each) for each in schema] if isinstance(schema, list) else schema


def _describe_problem(problem: Mapping[str, Any]) -> str:
    where = ".".join(map(str, problem["loc"])) or "arguments"
    if problem["type"] == "extra_forbidden":
        return f"there is no argument {where[:LONGEST_QUOTE]!r}"
    if problem["type"] == "missing":
        return f"{where} is missing"
    given = repr(problem.get("input"))
    shown = given if len(given) <= LONGEST_QUOTE else f"{given[:LONGEST_QUOTE]}…"
    return f"{where}: {problem['msg'][:200].lower()} (got {shown})"
