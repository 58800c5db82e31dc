"""What in a SKILL.md deviates from the specification (agentskills.io/specification), as its own validator tells it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from agent.extension.front_matter import BadFrontMatter, split_front_matter
from agent.extension.skills.skill_file import LONGEST_DESCRIPTION

SPECIFIED = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""Fields of the specification."""

LONGEST_NAME = 64
LONGEST_COMPATIBILITY = 500

MOST_LINES = 500
"""Lines of instructions that the specification recommends at most: all of them are read at each use."""


def find_deviations(text: str, folder: str) -> list[str]:
    """Return what of a SKILL.md does not follow the specification, a line each. folder: name of its folder"""
    try:
        found = split_front_matter(text)
    except BadFrontMatter as error:
        return [str(error)]
    if found is None:
        return ["there is no front matter"]
    fields, body = found
    problems = []
    if extra := [each for each in fields if each not in SPECIFIED]:
        problems.append(f"not in the specification: {', '.join(sorted(extra))}")
    problems += _check_name(fields.get("name"), folder)
    problems += _check_text(fields.get("description"), "description", LONGEST_DESCRIPTION, required=True)
    problems += _check_text(fields.get("compatibility"), "compatibility", LONGEST_COMPATIBILITY)
    if not isinstance(fields.get("allowed-tools") or "", str):
        problems.append("`allowed-tools` is no text with spaces between the tools")
    metadata = fields.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        problems.append("`metadata` is no table")
    if (lines := body.count("\n") + 1) > MOST_LINES:
        problems.append(f"{lines} lines of instructions: move parts into files that they name")
    return problems


def _check_name(value: object, folder: str) -> Iterator[str]:
    if not isinstance(value, str) or not value.strip():
        yield "there is no `name`"
        return
    name = unicodedata.normalize("NFKC", value.strip())
    if len(name) > LONGEST_NAME:
        yield f"the name has {len(name)} characters, {LONGEST_NAME} are allowed"
    if name != name.lower():
        yield f"the name {name!r} has capital letters"
    if not all(each.isalnum() or each == "-" for each in name):
        yield f"the name {name!r} has other characters than letters, digits and -"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield f"the name {name!r} begins or ends with -, or has two of them"
    if name != unicodedata.normalize("NFKC", folder):
        yield f"the name {name!r} is not that of its folder, {folder!r}"


def _check_text(value: object, name: str, longest: int, *, required: bool = False) -> Iterator[str]:
    if value is None and not required:
        return
    if not isinstance(value, str) or not value.strip():
        yield f"`{name}` is no text"
    elif len(value) > longest:
        yield f"`{name}` has {len(value)} characters, {longest} are allowed"
