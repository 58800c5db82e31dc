"""Questions of a server to the person: a form as a whole, or field by field; an address is shown and never opened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.mcp.forms import (
    check_content,
    check_value,
    describe_field,
    list_choices,
    read_schema,
    read_words,
)
from tools.mcp.server_settings import check_url

Ask = Callable[[str, Sequence[str]], Awaitable[str]]
"""Asks the person a question with options; returns "" if they gave no answer."""

Fill = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Shows the person a form, a text and a schema of `read_schema`; returns its content, None if they declined."""

MOST_FIELDS = 8
"""Fields that are asked for one after the other."""

MOST_OPTIONS = 8
MOST_TRIES = 3
"""Times that a form, or a field of it, is asked for until its values fit."""

LONGEST_QUESTION = 1_000
LONGEST_ANSWER = 8_000

_YES, _NO = "yes", "no"
_OPENED = "I have opened it"
_DECLINE = "no: the server is told that you declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Whom servers may ask. ask: one question; fill: a whole form, None where none can be shown"""

    ask: Ask
    fill: Fill | None = None


async def ask_form(
    asker: Asker, server: str, message: str, schema: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Ask for the fields of a form; return its content, None if the person declined or it cannot be asked for."""
    form = read_schema(schema)
    head = f"The MCP server {server} asks: {message[:LONGEST_QUESTION]}"
    if form is None:
        return None
    if not form["properties"]:
        return {} if (await asker.ask(head, (_YES, _DECLINE))).strip().lower() == _YES else None
    if asker.fill is not None:
        return await _fill_form(asker.fill, head, form)
    if len(form["properties"]) > MOST_FIELDS:
        return None
    return await _ask_fields(asker.ask, head, form)


async def _fill_form(fill: Fill, head: str, form: Mapping[str, Any]) -> dict[str, Any] | None:
    """Show a form until its values fit, with what is wrong with those before."""
    text = head
    for _ in range(MOST_TRIES):
        filled = await fill(text, form)
        if filled is None:
            return None
        content, problems = check_content(form, filled)
        if not problems:
            return content
        text = "\n".join([head, *problems])
    return None


async def _ask_fields(ask: Ask, head: str, form: Mapping[str, Any]) -> dict[str, Any] | None:
    fields, content = form["properties"], {}
    for number, (name, field) in enumerate(fields.items(), 1):
        place = f"{number} of {len(fields)} " if len(fields) > 1 else ""
        question = f"{head}\n{place}{describe_field(name, field)}"[: 2 * LONGEST_QUESTION]
        problem = ""
        for _ in range(MOST_TRIES):
            answer = (await ask(f"{question}{problem}", _list_options(field))).strip()[:LONGEST_ANSWER]
            value = read_words(field, answer) if answer else field.get("default")
            if value is None:
                break
            wrong = check_value(field, value)
            if not wrong:
                content[name] = value
                break
            problem = f"\n{answer[:100]}: {wrong}"
        if name not in content and (answer or name in form.get("required", ())):
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


def _list_options(field: Mapping[str, Any]) -> tuple[str, ...]:
    if field.get("type") == "boolean":
        return (_YES, _NO)
    return tuple(title for _, title in list_choices(field)[:MOST_OPTIONS])
