"""The tools of the session as functions, and the values that they return."""

from __future__ import annotations

import collections
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .channel import Channel


MODULE = "patchwright_tools"

_RECORDS: dict[tuple[str, ...], Any] = {}


class ToolError(Exception):
    """A tool failed; the text says why."""


class Functions:
    """Builds the module `patchwright_tools`: `from patchwright_tools import read` works anywhere in the
    kernel.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._calls = 0
        self.module = types.ModuleType(MODULE, "The tools of this session.")
        setattr(self.module, "ToolError", ToolError)  # noqa: B010
        ToolError.__module__ = MODULE
        sys.modules[MODULE] = self.module

    def add(self, name: str, tool: str, parameters: list[list[Any]], doc: str) -> None:
        """Define one function. parameters: [name] or [name, default] of each, in order."""
        arguments = ", ".join(each[0] if len(each) == 1 else "%s=%r" % tuple(each) for each in parameters)
        given = ", ".join("%r: %s" % (each[0], each[0]) for each in parameters)
        source = "def %s(%s):\n    return _call(%r, {%s})\n" % (name, arguments, tool, given)
        place: dict[str, Any] = {"_call": self.call, "__name__": MODULE}
        exec(compile(source, "<%s>" % MODULE, "exec"), place)
        place[name].__doc__ = doc
        setattr(self.module, name, place[name])

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Ask the host to run a tool. Raises ToolError with the tool's message if it fails."""
        if self._channel.forked:
            raise ToolError("%s: a forked process cannot call tools" % tool)
        self._calls += 1
        frame = {"kind": "call", "id": self._calls, "tool": tool, "arguments": _to_plain_value(arguments)}
        answer = self._channel.exchange(frame)
        if "error" in answer:
            raise ToolError(answer["error"])
        return decode_value(answer.get("value"))


def decode_value(value: Any) -> Any:
    """Decode JSON: an object with the one key "$" is a record [name, fields, values]."""
    if isinstance(value, list):
        return [decode_value(each) for each in value]
    if not isinstance(value, dict):
        return value
    if list(value) != ["$"]:
        return {key: decode_value(each) for key, each in value.items()}
    name, fields, values = value["$"]
    key = (name, *fields)
    if key not in _RECORDS:
        _RECORDS[key] = collections.namedtuple(name, fields, module=MODULE)
    return _RECORDS[key](*map(decode_value, values))


def _to_plain_value(value: Any) -> Any:
    """Convert arguments to JSON: a value that is no text, number, list or mapping becomes its text (a Path),
    a function its source.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _to_plain_value(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _to_plain_value(each) for key, each in value._asdict().items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_to_plain_value(each) for each in value]
    if isinstance(value, types.FunctionType):
        import inspect
        import textwrap

        return textwrap.dedent(inspect.getsource(value))
    return str(value)
