"""Requirements in a file: a table of TOML for each, or a checklist of Markdown whose items are read like a prompt.

A file of the workspace is a stranger's until its commands are trusted; whatever else it says can only be checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from agent.verify.requirement import (
    NUMERIC,
    WITHOUT_CHECK,
    Kind,
    Requirement,
    RequirementFile,
    number_requirements,
)
from packages.search.requirements.extraction import build_requirements
from packages.search.requirements.patterns import find_checks
from sandbox import parsed_data
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_pattern import compile_lazily

LARGEST = 200_000
"""Bytes of a file of requirements."""

MOST = 300
"""Requirements of one file."""

_ITEM = compile_lazily(r"^(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>\S.*)$")


def load_requirements(path: Path, root: Path) -> RequirementFile:
    """Read a file that the user names. Raises UserError that names the file and the place. root: of the workspace"""
    place = Path(os.path.abspath(path))  # noqa: PTH100 - without `..`, its links as they are
    inside = place.is_relative_to(root.absolute()) or place.resolve().is_relative_to(root.resolve())
    if inside:
        base = root.absolute() if place.is_relative_to(root.absolute()) else root.resolve()
        name = (place if place.is_relative_to(base) else place.resolve()).relative_to(base).as_posix()
        content = read_workspace_file(root, name, LARGEST)
    else:
        name, content = str(path), read_regular_file(place, LARGEST)
    if content is None:
        raise UserError(Fault.USAGE, f"no file of requirements: {str(path)!r}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is no UTF-8 text: {error.reason}") from None
    parse = parse_toml if path.suffix.lower() == ".toml" else parse_checklist
    found = parse(text, f"file:{name}")
    if not found:
        raise UserError(
            Fault.CONFIGURATION,
            f"{str(path)!r} has no requirements",
            "Write a list item for each, or a [[requirement]] table in a .toml file: docs/requirements.md.",
        )
    if len(found) > MOST:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} has {len(found)} requirements, more than {MOST}")
    return RequirementFile(name=name, requirements=tuple(found), inside=inside)


def parse_toml(text: str, source: str) -> list[Requirement]:
    """Return the `[[requirement]]` tables of a text. Raises UserError. source: of them"""
    name = source.removeprefix("file:")
    from pydantic import TypeAdapter, ValidationError

    try:
        tables = parsed_data.parse_toml(text.replace("\r\n", "\n"))
    except ValueError as error:
        raise UserError(Fault.CONFIGURATION, f"{name}: {error}") from None
    rows = tables.pop("requirement", [])
    if tables:
        raise UserError(
            Fault.CONFIGURATION, f"{name}: unknown key {min(tables)!r}", "Only [[requirement]] is known."
        )
    if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        raise UserError(
            Fault.CONFIGURATION, f"{name}: `requirement` is no list of tables", "Write [[requirement]]."
        )
    found: list[Requirement] = []
    for number, row in enumerate(rows, 1):
        given = {"id": "", "text": "", **row, "source": source}
        try:
            each = TypeAdapter(Requirement).validate_python(given)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise UserError(
                Fault.CONFIGURATION, f"{name}: requirement {number}: {where}: {first['msg']}"
            ) from None
        found.append(_complete(each, f"{name}: requirement {number}"))
    _check_tree(found, name)
    return number_requirements(found)


def _complete(each: Requirement, where: str) -> Requirement:
    from dataclasses import replace

    from packages.search.requirements.extraction import describe_check

    if not each.check.strip() and each.kind not in WITHOUT_CHECK:
        raise UserError(Fault.CONFIGURATION, f"{where}: kind {each.kind!r} needs `check`")
    if each.kind in NUMERIC and not re.fullmatch(r"\d{1,6}", each.check.strip()):
        raise UserError(Fault.CONFIGURATION, f"{where}: `check` of {each.kind!r} is a number in quotes")
    if not each.text.strip() and each.kind in ("judged", "group"):
        raise UserError(Fault.CONFIGURATION, f"{where}: kind {each.kind!r} needs `text`")
    return replace(
        each, text=each.text.strip() or describe_check(each.kind, each.check), check=each.check.strip()
    )


def _check_tree(found: Sequence[Requirement], name: str) -> None:
    named = [each.id for each in found if each.id]
    if doubled := next((each for each in named if named.count(each) > 1), ""):
        raise UserError(Fault.CONFIGURATION, f"{name}: two requirements have the id {doubled!r}")
    groups = {each.id: each for each in found if each.kind == "group" and each.id}
    for each in found:
        if each.parent and each.parent not in groups:
            raise UserError(Fault.CONFIGURATION, f"{name}: {each.parent!r} is no group that is a parent")
        seen, above = {each.id}, each.parent
        while above:
            if above in seen:
                raise UserError(Fault.CONFIGURATION, f"{name}: {above!r} is a part of itself")
            seen.add(above)
            above = groups[above].parent


def parse_checklist(text: str, source: str) -> list[Requirement]:
    """Return the list items of a Markdown text; an item with others below it is their group.

    What code cannot check is a requirement for a model.
    """
    rows = [
        (len(match["indent"].expandtabs(4)), match["text"].strip())
        for line in _drop_fences(text).splitlines()
        if (match := _ITEM.match(line))
    ]
    found: list[Requirement] = []
    open_groups: list[tuple[int, str]] = []
    for place, (indent, item) in enumerate(rows):
        while open_groups and open_groups[-1][0] >= indent:
            open_groups.pop()
        parent = open_groups[-1][1] if open_groups else ""
        sentence = item.rstrip(".!; ")
        if place + 1 < len(rows) and rows[place + 1][0] > indent:
            group = Requirement(
                id=f"r{len(found) + 1}", text=sentence, kind="group", parent=parent, source=source
            )
            found.append(group)
            open_groups.append((indent, group.id))
            parent = group.id
            made = build_requirements(sentence, find_item_checks(sentence), source=source, number=len(found))
        else:
            made = build_requirements(sentence, find_item_checks(sentence), source=source, number=len(found))
            made = made or [Requirement(id=f"r{len(found) + 1}", text=sentence, source=source)]
        found += [_put_below(each, parent) for each in made]
    return found


_STATES = tuple(
    (compile_lazily(rf"^(?P<what>.+?) {state}$", re.IGNORECASE), order)
    for state, order in (
        (r"(?:exists?|is there|are there)", r"\g<what> must exist"),
        (
            r"(?:is|are|stays?|remains?) (?:un(?:changed|touched)|not (?:changed|touched)|as (?:it is|they are))",
            r"do not change \g<what>",
        ),
        (r"(?:is|are) (?:changed|updated|edited)", r"update \g<what>"),
        (r"(?:is|are) (?:gone|deleted|removed)", r"delete \g<what>"),
        (r"(?:succeeds?|pass(?:es)?|works?)", r"\g<what> must pass"),
    )
)
"""Items of a list that tell the state to be reached, and the same as the orders of a prompt are worded."""


def find_item_checks(item: str) -> list[tuple[Kind, str]]:
    """Return the checks that an item of a list asks for: unlike a sentence of a prompt, it may tell a state."""
    if found := find_checks(item):
        return found
    for pattern, order in _STATES:
        if pattern.match(item):
            return find_checks(pattern.sub(order, item))
    return []


def _put_below(each: Requirement, parent: str) -> Requirement:
    from dataclasses import replace

    return each if each.parent else replace(each, parent=parent)


def _drop_fences(text: str) -> str:
    return re.sub(r"^ *(```|~~~).*?(?:^ *\1|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
