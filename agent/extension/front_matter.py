"""Front matter: the fields between two lines `---` at the start of a Markdown file.

Agents, skills, commands and rules are such files. Blank lines and HTML comments may come before it. Fields that are no
YAML, as a description with a colon or with examples on several lines, are read one by one, since other agents accept
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.lazy_pattern import compile_lazily


class BadFrontMatter(ValueError):
    """Front matter that cannot be read; its text says why and what to do, without the name of the file."""


NO_FRONT_MATTER = "there is no front matter: begin with a line `---`, `name:` and `description:`, and `---`"


_BEFORE = compile_lazily(r"(?:\s|<!--.*?-->)*", re.DOTALL)
"""Text that may come before the front matter."""

_FIELDS = frozenset(
    (
        *(
            "name",
            "description",
            "model",
            "effort",
            "color",
            "version",
            "license",
            "compatibility",
            "metadata",
        ),
        *(
            "tools",
            "disallowedTools",
            "allowed-tools",
            "disallowed-tools",
            "permissionMode",
            "maxTurns",
            "skills",
        ),
        *(
            "memory",
            "background",
            "isolation",
            "hooks",
            "mcpServers",
            "initialPrompt",
            "paths",
            "globs",
            "context",
        ),
        *("argument-hint", "arguments", "when_to_use", "user-invocable", "disable-model-invocation", "agent"),
        *("shell", "alwaysApply", "kind", "temperature", "max_turns", "timeout_mins"),
    )
)
"""Fields of such files: lines that begin so end a text on several lines, which may hold lines like `user: "How?"`."""

_LINE = compile_lazily(r"([A-Za-z_][\w-]*):(?:[ \t]+(.*))?")


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str] | None:
    """Return the fields, and the text after them; None for a text without front matter. Raises BadFrontMatter."""
    found = split_head(text)
    if found is None:
        return None
    head, body = found
    fields = _parse_fields(head)
    if fields is None and _find_start(text):  # two rules across a text
        return None
    if fields is None:
        raise BadFrontMatter("the front matter is no list of `field: value` lines")
    _refuse_unrun_guards(fields)
    return fields, body


def _refuse_unrun_guards(fields: Mapping[str, Any]) -> None:
    for name, hooks in fields.items():
        if name.casefold().strip() in ("hooks", "hook") and hooks:
            from agent.extension.hooks.hook_parser import explain_unrun_guards

            if problem := explain_unrun_guards(hooks):
                raise BadFrontMatter(problem)


def split_head(text: str) -> tuple[str, str] | None:
    """Return the lines between the first two `---`, and the text after them; None for a text without such lines."""
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = whole[_find_start(whole) :].split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        return None
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :])


def _find_start(text: str) -> int:
    """Return where the front matter begins, if there is one."""
    match = _BEFORE.match(text)
    return match.end() if match is not None else 0


def _parse_fields(head: str) -> Mapping[str, Any] | None:
    """Return the fields, None for lines that are none."""
    found = _parse_yaml(head)
    if isinstance(found, dict):
        return {str(key): value for key, value in found.items()}
    return {} if found is None and not head.strip() else _read_field_by_field(head)


def _parse_yaml(text: str) -> object:
    """Return a text's content, None for one that is no YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
    try:
        return yaml.load(text, loader)  # both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: an impossible date
        return None


def _read_field_by_field(head: str) -> Mapping[str, Any] | None:
    """Return fields each of which is YAML, or a text as it stands, with all lines up to the next field."""
    blocks: dict[str, list[str]] = {}
    last, is_text = "", False
    for line in head.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None and (not is_text or match[1] in _FIELDS):
            last, is_text = match[1], False
            blocks[last] = [line]
        elif last:
            is_text = is_text or not line.startswith((" ", "\t", "- ", "#"))
            blocks[last].append(line)
        elif line.strip() and not line.startswith("#"):
            return None
    return {name: _read_block(name, lines) for name, lines in blocks.items()} or None


def _read_block(name: str, lines: Sequence[str]) -> Any:
    found = _parse_yaml("\n".join(lines))
    if isinstance(found, dict) and list(found) == [name]:
        return found[name]
    value = "\n".join([lines[0].partition(":")[2], *lines[1:]]).strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def read_text_field(fields: Mapping[str, Any], name: str) -> str:
    """Return a field as one line of text, "" if there is none. Raises BadFrontMatter for a list or a table."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise BadFrontMatter(f"`{name}: {value}` must be a text")
    return " ".join(str(value).split())


def read_flag_field(fields: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return a field that is true or false. Raises BadFrontMatter."""
    value = str(fields.get(name, default)).lower()
    if value not in ("true", "false", "yes", "no"):
        raise BadFrontMatter(f"`{name}: {fields[name]}` must be true or false")
    return value in ("true", "yes")


def read_list_field(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the entries of a list of names or tools: a YAML list, or text with commas or spaces.

    Raises BadFrontMatter.
    """
    from tools.core.tool_names import split_entries

    value = fields.get(name)
    if value is None:
        return ()
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    if isinstance(value, str):
        return tuple(split_entries(value))
    raise BadFrontMatter(f"`{name}: {value}` must be a list of names")
