"""`@tool`: a typed function with a docstring becomes a tool with a schema."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect, EffectKind
from tools.core.action import Action, Observation, ToolFailure

if typing.TYPE_CHECKING:
    from pydantic import BaseModel

    from tools.core.workspace import Workspace

ToolFunction = Callable[..., Awaitable[Observation]]
EffectOf = Callable[[Mapping[str, Any], "Workspace"], Effect]
Preview = Callable[[Mapping[str, Any], "Workspace"], str]


@dataclasses.dataclass(frozen=True)
class Tool:
    """A tool: its description for the model, its effect, and its function.

    ends: calling it ends the turn (`finish` and `propose`)
    runs_beside: whether a call with these arguments may run beside others, for a tool that does not only read
    is_tracked: others write for it, so that its changes are found as those of a command are
    preview: returns a diff of what a call with validated arguments would write now, None if that is not known
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: ToolFunction
    effect_of: EffectOf
    reads_only: bool
    ends: bool = False
    runs_beside: Callable[[Mapping[str, Any]], bool] | None = None
    is_tracked: bool = False
    preview: Preview | None = None

    @property
    def function(self) -> ToolFunction:
        """The function itself, whose signature has the types and defaults of the arguments."""
        return self.run

    def may_run_beside(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments, which are not checked yet, may run beside others."""
        return self.reads_only or (self.runs_beside is not None and self.runs_beside(arguments))

    @cached_property
    def _arguments_model(self) -> type[BaseModel]:
        from pydantic import ConfigDict, create_model

        hints = typing.get_type_hints(self.function)
        fields: dict[str, Any] = {}
        for name, parameter in _list_arguments(self.function):
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (hints[name], default)
        config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
        return create_model(f"{self.name}_arguments", __config__=config, **fields)

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check and coerce arguments. Raises ToolFailure with one line per problem."""
        from pydantic import ValidationError

        try:
            checked = self._arguments_model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolFailure(self._explain_problems(error.errors(include_url=False))) from None
        return {name: getattr(checked, name) for name in type(checked).model_fields}

    def _explain_problems(self, problems: Sequence[Mapping[str, Any]]) -> str:
        lines = [f"{self.name}: the arguments do not fit, so nothing was done:"]
        for problem in problems:
            where = ".".join(str(part) for part in problem["loc"])
            if problem["type"] == "extra_forbidden":
                lines.append(f"  {where}: there is no such argument")
            else:
                lines.append(f"  {where}: {problem['msg'].lower()} (got {problem.get('input')!r:.80})")
        lines.append(f"Arguments of {self.name}: {self.signature}")
        return "\n".join(lines)

    @cached_property
    def signature(self) -> str:
        """Name and arguments on one line, the optional ones with a question mark."""
        required = self.parameters.get("required", [])
        names = [name if name in required else f"{name}?" for name in self.parameters["properties"]]
        return f"{self.name}({', '.join(names)})"


@dataclasses.dataclass(frozen=True)
class ListedTool(Tool):
    """A tool that a table describes. load: imports its module and returns the tool itself, when it is called"""

    load: Callable[[], Tool] = dataclasses.field(kw_only=True)

    @property
    def function(self) -> ToolFunction:
        """The function, imported now."""
        return self.load().run


def tool(
    effect: EffectKind | EffectOf,
    *,
    name: str | None = None,
    ends: bool = False,
    preview: Preview | None = None,
) -> Callable[[ToolFunction], Tool]:
    """Make a `Tool` of an async function `(arguments…, *, at: Workspace) -> Observation`.

    The first paragraphs of the docstring are the description; lines `argument: text` at its end
    describe the arguments. `effect` is a kind, or a function from validated arguments and the workspace to an Effect.
    """

    def decorate(function: ToolFunction) -> Tool:
        text, arguments = _parse_docstring(function)
        effect_of: EffectOf = effect if callable(effect) else _make_constant_effect(effect)
        return Tool(
            name=name or function.__name__,
            description=text,
            parameters=_build_schema(function, arguments),
            run=function,
            effect_of=effect_of,
            reads_only=effect in ("read", "none"),
            ends=ends,
            preview=preview,
        )

    return decorate


class Toolbox:
    """The tools of a session, in the order in which the model sees them.

    The one place where tools are added and listed: runtime, gateway and kernel share it, so that a new tool is there
    for all of them at once. None is removed: the policy denies those that a mode forbids, and requests keep their
    prefix, which providers cache.

    accepted: more tools that are found by name, but are not offered to the model
    """

    def __init__(self, offered: Iterable[Tool], accepted: Iterable[Tool] = ()) -> None:
        self._offered = {each.name: each for each in offered}
        self._by_name = {**{each.name: each for each in accepted}, **self._offered}
        self._subscribers: list[Callable[[], None]] = []

    def __iter__(self) -> typing.Iterator[Tool]:
        """Iterate over the offered tools."""
        return iter(self._offered.values())

    def add(self, offered: Iterable[Tool] = (), accepted: Iterable[Tool] = ()) -> None:
        """Add tools after the present ones, which stay as they are; notify the subscribers of newly offered ones."""
        self._by_name = {**{each.name: each for each in accepted}, **self._by_name}
        new = {each.name: each for each in offered if each.name not in self._offered}
        self._offered |= new
        self._by_name |= new
        for notify in self._subscribers if new else ():
            notify()

    def describe_unknown_tool(self, name: str) -> str:
        """Return the message for a name that no tool has, with the nearest one and all of them."""
        nearest = self.find_nearest_name(name)
        hint = f" Did you mean {nearest}?" if nearest else ""
        return f"there is no tool {name!r}.{hint} Tools: {', '.join(tool.name for tool in self)}"

    def ends_turn(self, action: Action, observation: Observation) -> bool:
        """Return whether this action, with this observation, ends its turn."""
        tool = self.get(action.tool)
        ends = (tool is not None and tool.ends) or observation.data.get("ends") is True
        return ends and not observation.failed

    def include(self, other: Toolbox) -> None:
        """Add the offered and the accepted tools of another toolbox."""
        self.add(other, other._by_name.values())

    def subscribe(self, notify: Callable[[], None]) -> None:
        """Call `notify` whenever more tools are offered."""
        self._subscribers.append(notify)

    def get(self, name: str) -> Tool | None:
        return self._by_name.get(name)

    def find_nearest_name(self, name: str) -> str:
        """Return the known name most similar to an unknown one, or ""."""
        import difflib

        return next(iter(difflib.get_close_matches(name.lower(), self._offered, n=1)), "")


def _make_constant_effect(kind: EffectKind) -> EffectOf:
    def effect_of(arguments: Mapping[str, Any], at: Workspace) -> Effect:
        path = arguments.get("path")
        return Effect(kind=kind, paths=(path,) if isinstance(path, str) else ())

    return effect_of


def _list_arguments(function: ToolFunction) -> list[tuple[str, inspect.Parameter]]:
    return [(name, p) for name, p in inspect.signature(function).parameters.items() if name != "at"]


_ARGUMENT_LINE = compile_lazily(r"^(\w+): (.+)$")


def _parse_docstring(function: ToolFunction) -> tuple[str, dict[str, str]]:
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    names = {name for name, _ in _list_arguments(function)}
    described: dict[str, str] = {}
    kept: list[str] = []
    last = ""
    for line in lines:
        match = _ARGUMENT_LINE.match(line)
        if match and match[1] in names:
            last = match[1]
            described[last] = match[2]
        elif last and line.startswith("  "):
            described[last] += " " + line.strip()
        else:
            kept.append(line)
    return "\n".join(kept).strip(), described


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _build_schema(function: ToolFunction, described: Mapping[str, str]) -> dict[str, Any]:
    hints = typing.get_type_hints(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in _list_arguments(function):
        properties[name] = _build_type_schema(hints[name])
        if name in described:
            properties[name]["description"] = described[name]
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    schema = {"type": "object", "properties": properties}
    return schema | {"required": required} if required else schema  # an empty list would only cost tokens


def _build_type_schema(hint: Any) -> dict[str, Any]:
    origin = typing.get_origin(hint)
    if origin in (UnionType, typing.Union):
        inner = [each for each in typing.get_args(hint) if each is not NoneType]
        return _build_type_schema(inner[0])
    if origin is list:
        return {"type": "array", "items": _build_type_schema(typing.get_args(hint)[0])}
    if origin is typing.Literal:
        return {"type": "string", "enum": list(typing.get_args(hint))}
    if dataclasses.is_dataclass(hint):
        fields = typing.get_type_hints(hint)
        return {
            "type": "object",
            "properties": {name: _build_type_schema(each) for name, each in fields.items()},
            "required": [
                each.name
                for each in dataclasses.fields(hint)
                if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
            ],
        }
    if hint in _JSON_TYPES:
        return {"type": _JSON_TYPES[hint]}
    raise TypeError(f"no JSON schema for {hint!r}")
