"""Cause of a failure: the statements that made the failing values, found backwards (dynamic slicing).

Korel and Laski 1988, simplified: names by frame, attributes by name only, the value of a call by the return
statement that ran, arguments by the whole calling statement. Conditions are left out, so it is short and not
complete.
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..process.json_lines import Json

# Number of last lines that are kept; earlier ones are not found.
MOST_EVENTS = 50_000
MOST_STEPS = 12
# Characters of a shown value, elements of a shown collection.
LONGEST, MOST_ELEMENTS = 60, 8
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_COMPOUND = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list")


class LineEvent:
    """A line of the workspace that is about to run in a frame; `call` is the caller's event for a frame's first."""

    __slots__ = ("call", "frame", "line", "path", "values")

    def __init__(self, path: str, line: int, frame: int, call: LineEvent | None) -> None:
        self.path, self.line, self.frame, self.call = path, line, frame, call
        self.values: dict[str, str] = {}


class ExecutionTrace:
    """The lines that run, with the plain values after them."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self._name = name
        self._frames: dict[types.FrameType, LineEvent] = {}
        self._count = 0
        self.events: deque[LineEvent] = deque(maxlen=MOST_EVENTS)

    def start(self) -> None:
        sys.settrace(self._trace_call)

    def stop(self) -> None:
        sys.settrace(None)
        self._frames.clear()

    def _trace_call(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        path = self._name(frame.f_code.co_filename)
        if not path:
            return None
        self._count += 1
        number, above = self._count, frame.f_back
        while above is not None and above not in self._frames:
            above = above.f_back
        call = self._frames[above] if above is not None else None

        def trace_line(frame: types.FrameType, event: str, argument: Any) -> Any:
            last = self._frames.get(frame)
            if last is not None:
                last.values = _describe_plain_values(frame)
            if event == "line":
                here = LineEvent(path, frame.f_lineno, number, call)
                self._frames[frame] = here
                self.events.append(here)
            elif event == "return":
                self._frames.pop(frame, None)
            return trace_line

        return trace_line


def compute_slice(
    events: Sequence[LineEvent], place: tuple[str, int], text: Callable[[str], str]
) -> list[Json]:
    """Return the slice of the values at `place` (path, line), last first: path, line, code, and the values after it."""
    files: dict[str, dict[int, Any]] = {}
    sources: dict[str, list[str]] = {}
    wanted: dict[int, set[str]] = {}
    wanted_attributes: set[str] = set()
    found: list[Json] = []
    taken: set[tuple[str, int]] = set()
    seen: set[int] = set()
    begun = False
    for event in reversed(events):
        if event.path not in files:
            files[event.path], sources[event.path] = _index_statements(text(event.path))
        statement = files[event.path].get(event.line)
        if statement is None or (not begun and (event.path, event.line) != place):
            continue
        names = wanted.setdefault(event.frame, set())
        bound, attributes = _collect_bound(statement)
        made = bool(bound & names) or bool(attributes & wanted_attributes)
        if event.frame not in seen:
            seen.add(event.frame)
            if (
                begun
                and event.call is not None
                and _is_in_slice(event.call, files, wanted, wanted_attributes, taken)
            ):
                made = made or isinstance(statement, ast.Return)
        if begun and not made:
            continue
        begun = True
        names -= bound
        wanted_attributes -= attributes
        read, read_attributes = _collect_read(statement)
        names |= read
        wanted_attributes |= read_attributes
        if event.call is not None:  # arguments come from its caller
            outside = files.get(event.call.path, {}).get(event.call.line)
            wanted.setdefault(event.call.frame, set()).update(
                _collect_read(outside)[0] if outside is not None else ()
            )
        if (event.path, event.line) not in taken:
            taken.add((event.path, event.line))
            code = sources[event.path][statement.lineno - 1].strip()
            shown = bound or read
            values = {name: event.values[name] for name in sorted(shown) if name in event.values}
            found.append({"path": event.path, "line": statement.lineno, "code": code, "values": values})
            if len(found) == MOST_STEPS:
                break
    return found


def _is_in_slice(
    call: LineEvent, files: dict[str, dict[int, Any]], wanted: dict[int, set[str]], attributes: set[str],
    taken: set[tuple[str, int]],
) -> bool:  # fmt: skip
    """Return whether the calling statement is, or will be, part of the slice: it makes a wanted value."""
    statement = files.get(call.path, {}).get(call.line)
    if statement is None:
        return False
    bound, stored = _collect_bound(statement)
    asked = bool(bound & wanted.get(call.frame, set())) or bool(stored & attributes)
    return asked or (call.path, call.line) in taken or isinstance(statement, (ast.Return, ast.Assert))


def _index_statements(text: str) -> tuple[dict[int, Any], list[str]]:
    """Return line → the statement whose own text is there; and the lines."""
    table: dict[int, Any] = {}
    try:
        tree = ast.parse(text)
    except SyntaxError:  # written for a newer Python than the one that runs it: not possible
        return table, text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
            for line in range(node.lineno, max(node.lineno, last) + 1):
                table[line] = node
    return table, text.split("\n")


def _iter_own_nodes(statement: Any) -> Iterator[ast.AST]:
    """Yield the nodes of a statement's own text: of a compound one, its header."""
    todo = [value for name, value in ast.iter_fields(statement) if name not in _COMPOUND]
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            todo.extend(value)
        elif isinstance(value, ast.AST):
            yield value
            todo.extend(each for _, each in ast.iter_fields(value))


def _collect_bound(statement: Any) -> tuple[set[str], set[str]]:
    """Return names, and attributes, that it binds."""
    nodes = list(_iter_own_nodes(statement))
    stored = [n for n in nodes if isinstance(getattr(n, "ctx", None), ast.Store)]
    inside = [n.value for n in stored if isinstance(n, ast.Subscript)]  # an element is part of its collection
    names = {n.id for n in [*stored, *inside] if isinstance(n, ast.Name)}
    return names, {n.attr for n in [*stored, *inside] if isinstance(n, ast.Attribute)}


def _collect_read(statement: Any) -> tuple[set[str], set[str]]:
    nodes = [n for n in _iter_own_nodes(statement) if isinstance(getattr(n, "ctx", None), ast.Load)]
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        names.add(statement.target.id)
    return names, {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _describe_plain_values(frame: types.FrameType) -> dict[str, str]:
    """Return values whose `repr` runs no code of the project."""
    return {name: repr(v)[:LONGEST] for name, v in frame.f_locals.items() if _is_plain(v)}


def _is_plain(value: object) -> bool:
    if type(value) in (list, tuple, set):
        return len(value) <= MOST_ELEMENTS and all(type(each) in _PLAIN for each in value)  # type: ignore[arg-type,attr-defined]
    if type(value) is dict:
        return len(value) <= MOST_ELEMENTS and all(type(e) in _PLAIN for pair in value.items() for e in pair)
    return type(value) in _PLAIN and not (isinstance(value, (str, bytes)) and len(value) > 10 * LONGEST)
