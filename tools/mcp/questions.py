"""Questions of a server to the person: a form is asked field by field, an address is shown and never opened by us."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tools.mcp.server_settings import check_url

Ask = Callable[[str, Sequence[str]], Awaitable[str]]
"""Asks the person a question with options; returns "" if they gave no answer."""

MOST_FIELDS = 8
"""Fields of a form: more are no question in between."""

MOST_OPTIONS = 8
LONGEST_QUESTION = 1_000
LONGEST_ANSWER = 8_000

_YES, _NO = "yes", "no"
_OPENED = "I have opened it"
_DECLINE = "no: the server is told that you declined"


async def ask_form(ask: Ask, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask for the fields of a form; return its content, None if the person declined or a field cannot be asked for."""
    properties, required = schema.get("properties"), schema.get("required")
    fields = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    head = f"The MCP server {server} asks: {message[:LONGEST_QUESTION]}"
    if len(fields) > MOST_FIELDS or not all(isinstance(each, Mapping) for each in fields.values()):
        return None
    if not fields:
        return {} if (await ask(head, (_YES, _DECLINE))).strip().lower() == _YES else None
    content: dict[str, Any] = {}
    for name, field in fields.items():
        answer = (await ask(f"{head}\n{_describe_field(name, field)}", _list_options(field))).strip()
        value = _read_value(field, answer[:LONGEST_ANSWER])
        if value is not None:
            content[name] = value
        elif answer or name in needed:  # what is no value of this field, or no answer to one that is needed
            return None
    return content


async def ask_to_open(ask: Ask, server: str, message: str, url: str) -> bool:
    """Show an address that the server wants opened; return whether the person has opened it."""
    try:
        check_url(url)
    except ValueError:
        return False
    text = f"The MCP server {server} asks you to open this address: {message[:LONGEST_QUESTION]}\n{url}"
    return (await ask(text, (_OPENED, _DECLINE))).strip() == _OPENED


def _describe_field(name: str, field: Mapping[str, Any]) -> str:
    title = str(field.get("title") or name)
    about = str(field.get("description") or "")
    return f"{title}: {about}"[:LONGEST_QUESTION] if about else title[:LONGEST_QUESTION]


def _list_options(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field.get("type") == "boolean":
        return (_YES, _NO)
    return tuple(_list_choices(field)[:MOST_OPTIONS])


def _list_choices(field: Mapping[str, Any]) -> list[str]:
    """Return the values of a field that is a choice: `enum`, or `const` in `oneOf` and `anyOf`, also of its items."""
    if field.get("type") == "array":
        items = field.get("items")
        return _list_choices(items) if isinstance(items, Mapping) else []
    given = field.get("enum")
    if isinstance(given, list):
        return [each for each in given if isinstance(each, str)]
    titled = field.get("oneOf") or field.get("anyOf")
    entries = titled if isinstance(titled, list) else []
    return [
        each["const"] for each in entries if isinstance(each, Mapping) and isinstance(each.get("const"), str)
    ]


def _read_value(field: Mapping[str, Any], answer: str) -> Any:
    """Return an answer as a value of the field, its default for none; None for what is no value."""
    if not answer:
        return field.get("default")
    choices = _list_choices(field)
    match field.get("type"):
        case "boolean":
            return {_YES: True, "true": True, _NO: False, "false": False}.get(answer.lower())
        case "integer" | "number" as kind:
            try:
                return int(answer) if kind == "integer" else float(answer)
            except ValueError:
                return None
        case "array":
            chosen = [each.strip() for each in answer.split(",")]
            return chosen if all(each in choices for each in chosen) else None
        case _:
            labels = {each.partition(": ")[0].strip(): each for each in choices}
            return labels.get(answer, answer if answer in choices or not choices else None)
