"""Forms of servers: their fields with types, titles, defaults and choices, and values that fit them.

Source: the schema of elicitation in MCP 2025-11-25, with the defaults of SEP-1034 and the choices of SEP-1330.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from sandbox.sanitize import sanitize_text

MOST_FIELDS = 40
"""Fields of a form: more are no question in between."""

MOST_CHOICES = 200
LONGEST_TEXT = 1_000
LONGEST_VALUE = 8_000

_KEPT = ("type", "default", "format", "pattern", "minLength", "maxLength", "minimum", "maximum")
_KEPT_OF_LISTS = ("minItems", "maxItems")
_TYPES = ("string", "number", "integer", "boolean", "array")

Field = Mapping[str, Any]


def read_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a form's schema with what is known of it; None for one that cannot be shown.

    Choices become `enum`, or `oneOf` with titles; those of which several may be chosen are below `items`.
    """
    given, needed = schema.get("properties"), schema.get("required")
    fields = given if isinstance(given, Mapping) else {}
    if len(fields) > MOST_FIELDS or not all(isinstance(each, Mapping) for each in fields.values()):
        return None
    found = {}
    for name, each in fields.items():
        field = _read_field(each)
        if field is None:
            return None
        found[str(name)] = field
    required = [each for each in needed if each in found] if isinstance(needed, list) else []
    return {"type": "object", "properties": found, **({"required": required} if required else {})}


def _read_field(given: Field) -> dict[str, Any] | None:
    kind = given.get("type", "string")
    if kind not in _TYPES:
        return None
    field = {key: given[key] for key in _KEPT if given.get(key) is not None} | {"type": kind}
    for key in ("title", "description"):
        if isinstance(given.get(key), str):
            field[key] = sanitize_text(given[key])[:LONGEST_TEXT]
    choices = _read_choices(given)
    if kind == "array":
        items = given.get("items")
        choices = _read_choices(items) if isinstance(items, Mapping) else []
        field |= {key: given[key] for key in _KEPT_OF_LISTS if isinstance(given.get(key), int)}
        if not choices:
            return None
        titled = [{"const": value, "title": title} for value, title in choices]
        has_titles = any(value != title for value, title in choices)
        field["items"] = (
            {"anyOf": titled} if has_titles else {"type": "string", "enum": [each for each, _ in choices]}
        )
    elif choices and any(value != title for value, title in choices):
        field["oneOf"] = [{"const": value, "title": title} for value, title in choices]
    elif choices:
        field["enum"] = [each for each, _ in choices]
    if len(choices) > MOST_CHOICES:
        return None
    if "default" in field and check_value(field, field["default"]):
        del field["default"]
    return field


def _read_choices(given: Field) -> list[tuple[str, str]]:
    """Return the values that a field may have, each with its title."""
    values = given.get("enum")
    if isinstance(values, list):
        titles = given.get("enumNames")
        names = titles if isinstance(titles, list) and len(titles) == len(values) else values
        return [
            (value, sanitize_text(str(title)))
            for value, title in zip(values, names, strict=True)
            if isinstance(value, str)
        ]
    titled = given.get("oneOf") or given.get("anyOf")
    return [
        (each["const"], sanitize_text(str(each.get("title") or each["const"])))
        for each in (titled if isinstance(titled, list) else [])
        if isinstance(each, Mapping) and isinstance(each.get("const"), str)
    ]


def list_choices(field: Field) -> list[tuple[str, str]]:
    """Return the values that a field of a form may have, each with its title; [] for one that is no choice."""
    return _read_choices(field.get("items", {}) if field.get("type") == "array" else field)


def check_content(schema: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a form with its defaults, and what is wrong with them, a line each."""
    found, problems = {}, []
    for name, field in schema["properties"].items():
        value = content.get(name)
        if isinstance(value, str):
            value = value[:LONGEST_VALUE]
        if value is None or (value == "" and "minLength" not in field and field["type"] == "string"):
            value = field.get("default", value)
        if value is None or (value == "" and name not in schema.get("required", ())):
            if name in schema.get("required", ()):
                problems.append(f"{get_title(name, field)}: it is needed")
            continue
        if problem := check_value(field, value):
            problems.append(f"{get_title(name, field)}: {problem}")
        found[name] = value
    return found, problems


def get_title(name: str, field: Field) -> str:
    """Return what a field is called."""
    return str(field.get("title") or sanitize_text(name)[:LONGEST_TEXT])


def check_value(field: Field, value: object) -> str:
    """Return what is wrong with a value of a field, "" for nothing."""
    kind, choices = field.get("type"), [each for each, _ in list_choices(field)]
    match kind:
        case "boolean":
            return "" if isinstance(value, bool) else "it is neither true nor false"
        case "integer" | "number":
            return _check_number(field, kind, value)
        case "array":
            if not isinstance(value, list) or not all(each in choices for each in value):
                return f"it is none of {', '.join(choices)}"
            least, most = field.get("minItems", 0), field.get("maxItems", len(value))
            return "" if least <= len(value) <= most else f"choose from {least} to {most}"
    if not isinstance(value, str):
        return "it is no text"
    if choices:
        return "" if value in choices else f"it is none of {', '.join(choices)}"
    least, most = field.get("minLength", 0), field.get("maxLength", LONGEST_VALUE)
    if not least <= len(value) <= most:
        return f"it has {len(value)} characters, not from {least} to {most}"
    return _check_format(str(field.get("format", "")), value)


def _check_number(field: Field, kind: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "it is no number"
    if kind == "integer" and not float(value).is_integer():
        return "it is no whole number"
    least, most = field.get("minimum", value), field.get("maximum", value)
    if not least <= value <= most:
        return f"it is not from {field.get('minimum', '…')} to {field.get('maximum', '…')}"
    return ""


def _check_format(form: str, value: str) -> str:
    try:
        match form:
            case "date":
                date.fromisoformat(value)
            case "date-time":
                datetime.fromisoformat(value)
            case "uri":
                if not urlsplit(value).scheme:
                    return "it is no address"
            case "email":
                if not re.fullmatch(r"[^@\s]+@[^@\s]+", value):
                    return "it is no e-mail address"
    except ValueError:
        return f"it is no {form}"
    return ""


def read_words(field: Field, answer: str) -> Any:
    """Return typed words as a value of a field; the words themselves where they are none.

    Choices are named by their value, title or number.
    """
    match field.get("type"):
        case "boolean":
            return {"yes": True, "true": True, "no": False, "false": False}.get(answer.lower(), answer)
        case "integer" | "number":
            try:
                return int(answer)
            except ValueError:
                return _read_float(answer)
        case "array":
            return [_read_choice(field, each.strip()) for each in answer.split(",") if each.strip()]
    return _read_choice(field, answer)


def _read_float(answer: str) -> float | str:
    try:
        value = float(answer)
    except ValueError:
        return answer
    return value if abs(value) < float("inf") else answer


def _read_choice(field: Field, answer: str) -> str:
    choices = list_choices(field)
    names: dict[str, str] = {}
    for value, title in choices:
        for each in (value, title, title.partition(": ")[0].strip()):
            names.setdefault(each, value)
    if answer in names:
        return names[answer]
    if answer.isdecimal() and 0 < int(answer) <= len(choices):
        return choices[int(answer) - 1][0]
    return answer


def describe_field(name: str, field: Field) -> str:
    """Return a field as a line of text: its title, what it is about, and which values it may have."""
    about = str(field.get("description") or "")
    hints = []
    if field["type"] in ("integer", "number"):
        hints.append("a whole number" if field["type"] == "integer" else "a number")
    if field["type"] == "array":
        hints.append("several, with commas between them")
    limits = _describe_limits(field)
    hints += [limits] if limits else []
    if field.get("format"):
        hints.append(str(field["format"]))
    if "default" in field:
        hints.append(f"else {_show(field['default'])}")
    text = f"{get_title(name, field)}: {about}" if about else get_title(name, field)
    return f"{text} ({'; '.join(hints)})" if hints else text


def _describe_limits(field: Field) -> str:
    for least, most, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", ""),
    ):
        if least in field or most in field:
            return f"from {field.get(least, '…')} to {field.get(most, '…')}{unit}"
    return ""


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
