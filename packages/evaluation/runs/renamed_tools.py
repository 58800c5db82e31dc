"""A model that sees the tools under other names: its calls are mapped back before anything else sees them.

Whether a model uses tools by their purpose, or repeats names that it was trained on, shows when the names change and
the work does not (AgentRefine, Fu et al., ICLR 2025). Log, permissions and tools keep the real names.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from typing import Any

from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Message,
    Model,
    Reply,
    Request,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
    change_call_form,
    compute_price,
    prepare_model,
)
from agent.session_settings import SessionSettings
from agent.turn.action_format import resolve_action_mode
from agent.turn.runtime import Runtime
from packages.evaluation.tasks.task_file import RenamedTool
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """Other names of one tool. arguments: other names by the real ones; description: in place of the tool's own, ""
    to keep it"""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


_KEYWORD = compile_lazily(r"\b(\w+)(?==)")


class RenamedTools:
    """A model, with other names of tools.

    names: by the real name of the tool; tools that it does not name keep theirs
    """

    def __init__(self, model: Model, names: Mapping[str, ToolNames]) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._names = names
        self._real = {each.name: real for real, each in names.items()}
        self._told: list[tuple[Message, Message]] = []  # messages of the session, and as sent to the model
        quoted = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        self._quoted = re.compile(rf"`({quoted})`")
        self._calling = re.compile(rf"(?<![\w.])({quoted})\((\w+=[^()\n]*)\)")
        self._known: dict[str, set[str]] = {}  # real arguments by the real name of the tool
        self._calls: dict[str, str] = {}  # names that the model gave, of calls that fit no offered tool

    async def prepare(self) -> None:
        """See `prepare_model`."""
        await prepare_model(self.inner)
        self.window = self.inner.window

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def change_form(self) -> str:
        """See `change_call_form`."""
        return change_call_form(self.inner)

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. Raises UserError for names that cannot be mapped back."""
        offered = {each.name for each in request.tools} - self._names.keys()
        if taken := sorted(offered & self._real.keys()):
            message = f"the task gives a tool the name {taken[0]!r}, which another has"
            raise UserError(Fault.CONFIGURATION, message)
        self._known |= {each.name: set(each.parameters.get("properties", ())) for each in request.tools}
        sent = replace(
            request,
            tools=tuple(self._rename_spec(each) for each in request.tools),
            messages=self._rename_messages(request.messages),
            **self._rename_system(request),
        )
        shown = {each.name for each in sent.tools}
        try:
            async with aclosing(self.inner.stream(sent)) as stream:  # type: ignore[type-var]
                async for delta in stream:
                    yield self._restore_calls(delta, shown) if isinstance(delta, Reply) else delta
        finally:
            self.window = self.inner.window  # a reply, or a refusal, may have updated it

    def _rename_system(self, request: Request) -> dict[str, Any]:
        shared, rest = request.split_system()
        if request.shared is None:
            return {"system": self._rename_text(request.system)}
        head = self._rename_text(shared)
        return {"system": f"{head}\n\n{self._rename_text(rest)}".strip(), "shared": len(head)}

    def _rename_text(self, text: str) -> str:
        """Return a text with the other names where it quotes a tool's name in backticks."""
        return self._quoted.sub(lambda match: f"`{self._names[match[1]].name}`", text)

    def _rename_hints(self, text: str) -> str:
        """Return a text of the harness with the other names in calls that it proposes, such as `recall(ref="e3")`.

        A call in a file that is shown is another one's unless it has a tool's name and arguments.
        """
        return self._calling.sub(self._rename_call, text)

    def _rename_call(self, match: re.Match[str]) -> str:
        name, arguments = match[1], match[2]
        if not {*_KEYWORD.findall(arguments)} <= self._known.get(name, set()):
            return match[0]
        other = self._names[name]
        return f"{other.name}({_KEYWORD.sub(lambda each: other.arguments.get(each[1], each[1]), arguments)})"

    def _rename_spec(self, tool: ToolSpec) -> ToolSpec:
        other = self._names.get(tool.name)
        if other is None:
            return replace(tool, description=self._rename_text(tool.description))
        parameters = dict(tool.parameters)
        properties = parameters.get("properties")
        if isinstance(properties, Mapping):
            renamed = {
                other.arguments.get(name, name): self._rename_schema(schema)
                for name, schema in properties.items()
            }
            if len(renamed) < len(properties):
                message = f"the task gives two arguments of the tool {tool.name!r} the same name"
                raise UserError(Fault.CONFIGURATION, message)
            parameters["properties"] = renamed
        if "required" in parameters:
            parameters["required"] = [other.arguments.get(name, name) for name in parameters["required"]]
        description = other.description or self._rename_text(tool.description)
        return ToolSpec(name=other.name, description=description, parameters=parameters)

    def _rename_schema(self, schema: Any) -> Any:
        if isinstance(schema, Mapping) and isinstance(text := schema.get("description"), str):
            return {**schema, "description": self._rename_text(text)}
        return schema

    def _rename_messages(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages with the other names. Each is changed once, so that its encoded bytes are cached, too."""
        same = 0
        for (message, _), now in zip(self._told, messages, strict=False):
            if message is not now:
                break
            same += 1
        del self._told[same:]
        self._told += [(message, self._rename_message(message)) for message in messages[same:]]
        return [told for _, told in self._told]

    def _rename_message(self, message: Message) -> Message:
        if isinstance(message, AssistantMessage) and message.actions:
            return replace(message, actions=tuple(map(self._rename_action, message.actions)), wire={})
        if isinstance(message, UserMessage) and not message.by_person:
            return _with_text(message, self._rename_hints(self._rename_text(message.text)))
        if isinstance(message, ToolMessage):
            name = self._find_shown_name(message.call, message.name)
            return replace(message, name=name, text=self._rename_outcome(message, name), wire={})
        return message

    def _rename_outcome(self, message: ToolMessage, shown: str) -> str:
        """Return an observation whose first word, line on the arguments, hints and, where it is about a mistake, quoted
        names of tools are the other ones. What a tool shows of files stays as it is."""
        other = self._names.get(message.name)
        text = self._rename_hints(message.text)
        if message.failed:
            text = self._rename_text(text)
        if other is None:
            return text
        if text.startswith(f"{message.name}: "):
            text = f"{shown}: {text.removeprefix(f'{message.name}: ')}"
        if not message.failed:
            return text
        head, line, tail = text.partition(f"\nArguments of {message.name}: ")
        if not line or message.call in self._calls:
            return head
        words = re.sub(r"\w+", lambda match: other.arguments.get(match[0], match[0]), tail)
        return f"{head}\nArguments of {shown}: {words}"

    def _find_shown_name(self, call: str, tool: str) -> str:
        other = self._names.get(tool)
        return self._calls.get(call) or (other.name if other is not None else tool)

    def _rename_action(self, action: Action) -> Action:
        other = self._names.get(action.tool)
        name = self._find_shown_name(action.id, action.tool)
        if other is None or action.problem or action.id in self._calls:
            return replace(action, tool=name)
        arguments = {other.arguments.get(each, each): value for each, value in action.arguments.items()}
        return replace(action, tool=name, arguments=arguments, raw=json.dumps(arguments, ensure_ascii=False))

    def _restore_calls(self, reply: Reply, shown: set[str]) -> Reply:
        return replace(reply, actions=tuple(self._restore_action(each, shown) for each in reply.actions))

    def _restore_action(self, action: Action, shown: set[str]) -> Action:
        """Return a call under the tool's real names; one of a tool that is not on offer is marked as unusable."""
        if action.tool not in shown:
            self._calls[action.id] = action.tool
            told = f"there is no tool {action.tool!r}; there are: {', '.join(sorted(shown))}"
            return replace(action, arguments={}, raw="", problem=told)
        real = self._real.get(action.tool)
        if real is None:
            return action
        if action.problem:
            return replace(action, tool=real)
        names = self._names[real].arguments
        back = {other: own for own, other in names.items()}
        unknown = [each for each in action.arguments if each in names and each not in back]
        if unknown:  # the real name of an argument that has another one
            self._calls[action.id] = action.tool
            told = f"there is no argument {unknown[0]!r} of {action.tool!r}"
            return replace(action, tool=real, arguments={}, raw="", problem=told)
        arguments = {back.get(each, each): value for each, value in action.arguments.items()}
        return replace(action, tool=real, arguments=arguments, raw=json.dumps(arguments, ensure_ascii=False))


def _with_text(message: UserMessage, text: str) -> UserMessage:
    return message if text == message.text else replace(message, text=text, wire={})


def rename_task_tools(runtime: Runtime, tools: Mapping[str, RenamedTool]) -> None:
    """Show the model, and one that takes its place, the task's names of tools. Raises UserError for one that acts by
    code."""
    if resolve_action_mode(runtime.model.name, runtime.settings.actions) == "code":
        raise UserError(
            Fault.CONFIGURATION,
            f"{runtime.model.name!r} acts by code, and the task gives tools other names",
            "Run it with --actions tools or hybrid.",
        )
    names = {
        real: ToolNames(name=each.name, arguments=each.arguments, description=each.description)
        for real, each in tools.items()
    }
    format_actions = runtime.apply_action_format
    runtime.model = runtime.loop.model = RenamedTools(runtime.model, names)
    runtime.apply_action_format = lambda model: RenamedTools(format_actions(model), names)


def keep_to_one_session(settings: SessionSettings) -> SessionSettings:
    """Return settings without agents, which are sessions with the real names."""
    return replace(settings, agents=replace(settings.agents, delegate=False))
