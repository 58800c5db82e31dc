"""Front matter: the fields between two lines `---` at the start of a Markdown file.

Agents, skills and commands are such files. Fields that are no YAML, as a description with a colon, are read line by
line, since other agents accept them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


class BadFrontMatter(ValueError):
    """Front matter that cannot be read; its text says why and what to do, without the name of the file."""


NO_FRONT_MATTER = "there is no front matter: begin with a line `---`, `name:` and `description:`, and `---`"


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str] | None:
    """Return the fields, and the text after them; None for a text without front matter. Raises BadFrontMatter."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if lines[0].rstrip() != "---" or not end:
        return None
    return _parse_fields("\n".join(lines[1:end])), "\n".join(lines[end + 1 :])


def _parse_fields(head: str) -> Mapping[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it was built
    try:
        found = yaml.load(head, loader)  # both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: an impossible date
        found = _read_plain_lines(head)
    if found is None:
        found = {}
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found):
        raise BadFrontMatter("the front matter is no list of `field: value` lines")
    return found


_LINE = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")


def _read_plain_lines(head: str) -> Mapping[str, Any] | None:
    """Read lines `field: value`, each value as it stands, with indented lines after it; None for anything else."""
    found: dict[str, str] = {}
    last = ""
    for line in head.split("\n"):
        match = _LINE.fullmatch(line)
        if match is not None:
            last = match[1]
            found[last] = (match[2] or "").strip()
        elif last and line[:1] in (" ", "\t"):
            found[last] = f"{found[last]} {line.strip()}".strip()
        elif line.strip():
            return None
    return found


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
