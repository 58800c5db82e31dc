"""Canonical behaviour of a program: results that count as equal have equal keys.

Numbers are compared as Python does (1 == 1.0 == True), floats to six significant digits. What a program prints is part
of its behaviour only where it returns nothing: else it is most often left over from debugging. An exception that it
raises on purpose is told by its type; all that happens to it otherwise is one way to fail: most often the input is not
meant for the function.
"""

from __future__ import annotations

import json
import math
from typing import Any

from packages.search.programs.program_runner import Result
from packages.search.programs.program_worker import describe

FAILS = "<fails>"
"""Key of a result that is neither a value nor an exception raised on purpose."""


def compute_key(result: Result) -> str:
    """Return the key of a result: equal for results that count as the same behaviour."""
    if result[0] == "value":
        value = json.dumps(_normalize(result[1]), ensure_ascii=False)
        return f"{value} printed {result[2]!r}" if result[1] is None and result[2] else value
    if result[0] == "raised":
        return f"raises {result[1]}"
    return FAILS if result[0] == "failed" else f"<{result[0]}>"


def compute_value_key(value: Any) -> str:
    """Return the key of a call that returns this value."""
    return json.dumps(_normalize(describe(value)), ensure_ascii=False)


def has_value(key: str) -> bool:
    """Return whether the key is of a call that returned."""
    return not key.startswith(("raises ", "<"))


def format_key(key: str) -> str:
    """Return a key as short text for a person."""
    if not has_value(key):
        return key.strip("<>")
    text, separator, printed = key.partition(" printed ")
    shown = _format_value(json.loads(text))
    return f"{shown}, printed {printed}" if separator else shown


def _normalize(value: Any) -> Any:
    match value:
        case bool():
            return ["number", str(int(value))]
        case ["number", text]:
            return ["number", _normalize_number(text)]
        case [("list" | "tuple" | "set" | "iterator") as kind, *size, items]:
            return [kind, *size, [_normalize(each) for each in items]]
        case ["dict", size, pairs]:
            return ["dict", size, [[_normalize(name), _normalize(each)] for name, each in pairs]]
        case ["object", name, own]:
            return ["object", name, _normalize(own)]
    return value


def _normalize_number(text: str) -> str:
    if text.lstrip("-").isdecimal():
        return text
    try:
        number = float(text)
    except ValueError:  # a complex number, or a very long integer that was cut
        return text
    if math.isfinite(number) and number == int(number) and abs(number) < 1e15:
        return str(int(number))
    shortened = f"{number:.6g}"
    return str(int(float(shortened))) if shortened.lstrip("-").isdecimal() else shortened


def _format_value(value: Any) -> str:
    if not isinstance(value, list):
        return repr(value)
    match value:
        case ["number", text]:
            return str(text)
        case [("list" | "tuple" | "set") as kind, _, [*items]]:
            inside = ", ".join(map(_format_value, items))
            if kind == "tuple":
                return f"({inside},)" if len(items) == 1 else f"({inside})"
            return f"[{inside}]" if kind == "list" else f"{{{inside}}}" if items else "set()"
        case ["dict", _, [*pairs]]:
            return "{" + ", ".join(f"{_format_value(a)}: {_format_value(b)}" for a, b in pairs) + "}"
        case ["str", _, text]:
            return f"{text!r}…"
        case [kind, *_]:
            return f"<{kind}>"
    return repr(value)
