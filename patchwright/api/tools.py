"""Functions of a program as tools of the model: name, description and schema from the function itself."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

Function = TypeVar("Function", bound=Callable[..., Any])

_MARK = "__patchwright_tool__"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that the model may call.

    reads_only: it changes nothing, so that it may run in every mode and beside other calls
    asks: each call is first shown to the session's `approve`
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    reads_only: bool = False
    asks: bool = False

    def describe(self) -> dict[str, Any]:
        """Return the tool as the protocol describes it."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "reads_only": self.reads_only,
        }

    async def call(self, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Call the function, in a thread unless it is asynchronous; return (result as text, whether it failed)."""
        try:
            converted = _convert_arguments(self.function, arguments)
            if inspect.iscoroutinefunction(self.function):
                result = await self.function(**converted)
            else:
                result = await asyncio.to_thread(self.function, **converted)
            return (
                result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
            ), False
        except Exception as error:  # of the program's own function: the model is told
            return f"{type(error).__name__}: {error}", True


def tool(*, reads_only: bool = False, asks: bool = False) -> Callable[[Function], Function]:
    """Say of a function how the model may call it; see `FunctionTool`. A plain function needs no decorator."""

    def mark(function: Function) -> Function:
        setattr(function, _MARK, {"reads_only": reads_only, "asks": asks})
        return function

    return mark


def make_tool(function: Callable[..., Any]) -> FunctionTool:
    """Return the tool of a function. Raises TypeError for an argument without a type that JSON has."""
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: the argument {name!r} cannot be given by name")
        if name not in hints:
            raise TypeError(f"{function.__name__}: the argument {name!r} has no type")
        properties[name] = build_schema(hints[name])
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, str | int | float | bool):
            properties[name] = {**properties[name], "default": parameter.default}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return FunctionTool(
        name=function.__name__,
        description=inspect.getdoc(function) or "",
        parameters=parameters,
        function=function,
        **getattr(function, _MARK, {}),
    )


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def build_schema(hint: Any) -> dict[str, Any]:
    """Return the JSON schema of a type: plain ones, lists, dicts, Literal, unions, dataclasses. Raises TypeError."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return {}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [build_schema(each) for each in arguments]}
    if hint is list or origin is list:
        return {"type": "array", **({"items": build_schema(arguments[0])} if arguments else {})}
    if hint is dict or origin is dict:
        values = {"additionalProperties": build_schema(arguments[1])} if arguments else {}
        return {"type": "object", "properties": {}, **values}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        missing = dataclasses.MISSING
        return {
            "type": "object",
            "properties": {each.name: build_schema(hints[each.name]) for each in dataclasses.fields(hint)},
            "required": [
                each.name
                for each in dataclasses.fields(hint)
                if each.default is missing and each.default_factory is missing
            ],
            "additionalProperties": False,
        }
    raise TypeError(f"no JSON schema for {hint!r}")


def convert_value(value: Any, hint: Any) -> Any:
    """Return a value of JSON as the type says: dataclasses are made of objects, also within lists and dicts."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        hints = typing.get_type_hints(hint)
        return hint(**{name: convert_value(each, hints[name]) for name, each in value.items()})
    if origin is list and isinstance(value, list):
        return [convert_value(each, arguments[0]) for each in value]
    if origin is dict and isinstance(value, Mapping):
        return {key: convert_value(each, arguments[1]) for key, each in value.items()}
    if origin in (Union, types.UnionType):
        if isinstance(value, Mapping):
            for each in arguments:
                if isinstance(each, type) and dataclasses.is_dataclass(each):
                    return convert_value(value, each)
        return value
    return value


def _convert_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(function)
    return {name: convert_value(value, hints.get(name, Any)) for name, value in arguments.items()}
