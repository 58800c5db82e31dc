"""Checks of requirements that run nothing: files, names, signatures, dependencies and the size of the change."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent.verify.requirement import Kind, Requirement, Result
from packages.search.requirements.definition_text import read_definition, read_signatures
from packages.search.requirements.dependencies import list_dependencies, reads_dependencies
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.errors import UserError
from sandbox.fs.line_diff import compute_opcodes
from tools.code.code_tool import query_index
from tools.core.text import join_names
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.code.index.symbol_queries import FoundDefinition

MOST_NAMED = 5
"""Files or names in a detail."""


def met(detail: str = "") -> Result:
    """Return the result of a check that held."""
    return Result(state="met", evidence="static", detail=detail)


def unmet(detail: str) -> Result:
    """Return the result of a check that did not hold."""
    return Result(state="not met", evidence="static", detail=detail)


async def check_statically(each: Requirement, changes: TurnChanges, at: Workspace) -> Result | None:
    """Return the result of a requirement; None for a kind that is not checked here."""
    if (check := _CHECKS.get(each.kind)) is not None:
        return check(each.check, changes, at)
    if (look := _LOOKUPS.get(each.kind)) is not None:
        try:
            return await asyncio.to_thread(look, each.check, at)
        except UserError as problem:
            return Result(detail=f"the code index cannot be asked: {problem.message}")
    return None


def is_same_file(path: str, wanted: str) -> bool:
    """Return whether a path is a wanted one: itself, below a wanted folder, matched by a pattern, or its short form."""
    if wanted == "tests":
        from tools.lint.honesty.file_changes import find_role

        return find_role(path) in ("test", "expected")
    name = wanted.removeprefix("./")
    if stems := _DOCUMENTS.get(name):
        return PurePosixPath(path).stem.lower() in stems
    if name.endswith("/"):
        return path.startswith(name) or f"/{name}" in f"/{path}"
    if any(sign in name for sign in "*?["):
        return fnmatch.fnmatchcase(path, name)
    return path == name or path.startswith(f"{name}/") or ("/" not in name and path.endswith(f"/{name}"))


_DOCUMENTS = {
    "readme": ("readme", "index"),
    "changelog": ("changelog", "changes", "history", "news", "release-notes", "release_notes"),
    "contributors": ("contributors", "authors", "credits"),
    "authors": ("contributors", "authors", "credits"),
}
"""Documents that are named by a word, and the stems of their files."""


def has_tail(path: str, wanted: str) -> bool:
    """Return whether a path ends in a wanted one: people name it from the folder that they think of."""
    return f"/{path}".endswith(f"/{wanted.removeprefix('./')}")


def _exists(path: str, at: Workspace) -> bool:
    name = path.removeprefix("./").rstrip("/")
    is_there = at.files.has_file(name, or_folder=True)
    return is_there and not (path.endswith("/") and at.files.has_file(name))


def _check_exists(path: str, changes: TurnChanges, at: Workspace) -> Result:
    if _exists(path, at):
        return met()
    near = [each for each in changes.list_changed_files() if is_same_file(each, path) or has_tail(each, path)]
    return met(near[0]) if near and _exists(near[0], at) else unmet(f"there is no {path}")


def _check_gone(path: str, changes: TurnChanges, at: Workspace) -> Result:
    if not _exists(path, at):
        return met()
    near = [each for each in changes.list_changed_files() if has_tail(each, path) and not _exists(each, at)]
    return met(near[0]) if near else unmet(f"{path} is still there")


def _check_changed(path: str, changes: TurnChanges, at: Workspace) -> Result:
    found = [
        each for each in changes.list_changed_files() if is_same_file(each, path) or has_tail(each, path)
    ]
    return met(join_names(found, MOST_NAMED)) if found else unmet(f"{path} was not changed")


def _check_unchanged(path: str, changes: TurnChanges, at: Workspace) -> Result:
    found = [each for each in changes.list_changed_files() if is_same_file(each, path)]
    if path == "tests":  # one more test changes none
        found = [each for each in found if changes.read_before(each) is not None]
    return unmet(f"{join_names(found, MOST_NAMED)} was changed") if found else met()


def _check_only(paths: str, changes: TurnChanges, at: Workspace) -> Result:
    wanted = [each.strip() for each in paths.split(",")]
    others = [
        path for path in changes.list_changed_files() if not any(is_same_file(path, each) for each in wanted)
    ]
    return unmet(f"{join_names(others, MOST_NAMED)} was changed, too") if others else met()


def _check_unchanged_name(check: str, changes: TurnChanges, at: Workspace) -> Result:
    return _compare(check, changes, read_definition, "was changed")


def _check_signature(check: str, changes: TurnChanges, at: Workspace) -> Result:
    return _compare(check, changes, read_signatures, "has another signature")


def _compare(
    check: str, changes: TurnChanges, read: Callable[[str, str | None, str], list[str]], said: str
) -> Result:
    place, name = split_place(check)
    before: list[str] = []
    after: list[str] = []
    for path in changes.list_changed_files():
        if not place or is_same_file(path, place):
            before += read(path, changes.read_before(path), name)
            after += read(path, changes.read_after(path), name)
    lost = [each for each in before if each not in after]
    if not lost:
        return met()
    if not after:
        return unmet(f"{name} is not defined any more")
    return unmet(f"{name} {said}: {_shorten(lost[0])} is now {_shorten(after[0])}")


def _shorten(text: str) -> str:
    line = text.split("\n", 1)[0].strip()
    return f"`{line if len(line) <= 100 else line[:99] + '…'}`"


def _check_lines(check: str, changes: TurnChanges, at: Workspace) -> Result:
    count = sum(
        count_changed_lines(changes.read_before(path) or "", changes.read_after(path) or "")
        for path in changes.list_changed_files()
    )
    told = f"{count} lines were added or removed"
    return met(told) if count <= int(check) else unmet(f"{told}, at most {check} are allowed")


def count_changed_lines(before: str, after: str) -> int:
    """Return the number of lines that a diff adds and removes."""
    codes = compute_opcodes(before.splitlines(), after.splitlines())
    return sum((i2 - i1) + (j2 - j1) for kind, i1, i2, j1, j2 in codes if kind != "equal")


def _check_files(check: str, changes: TurnChanges, at: Workspace) -> Result:
    found = changes.list_changed_files()
    told = f"{len(found)} files were changed"
    return met(told) if len(found) <= int(check) else unmet(f"{told}, at most {check} are allowed")


def _check_dependencies(check: str, changes: TurnChanges, at: Workspace) -> Result:
    added: list[str] = []
    for path in filter(reads_dependencies, changes.list_changed_files()):
        try:
            before, after = (
                list_dependencies(path, read(path)) for read in (changes.read_before, changes.read_after)
            )
        except ValueError:
            return Result(detail=f"{path} was changed, and cannot be parsed")
        added += [f"{name} ({path})" for name in sorted(after - before)]
    return unmet(f"added: {join_names(added, MOST_NAMED)}") if added else met()


def split_place(check: str) -> tuple[str, str]:
    """Return (file or "", name) of `cart.py:total`."""
    place, colon, name = check.rpartition(":")
    if not colon or place.endswith(":"):
        return "", check
    return place, name


def find_name(check: str, at: Workspace) -> list[str]:
    """Return where a name is defined, or an option is written, as `path:line`. Raises UserError."""
    from tools.code.index.symbol_queries import is_test

    place, name = split_place(check)
    if name.startswith("-"):
        # `--dry-run` as it is written, or the parameter of which a library makes it
        bare = name.lstrip("-")
        parameter = rf"|(?<![\w-]){bare.replace('-', '_')}(?![\w-])" if len(bare) > 1 else ""
        written = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]){parameter}")
        return query_index(
            at,
            lambda index: [
                path
                for path in index.code
                if not is_test(path)
                and (not place or is_same_file(path, place))
                and written.search(index.read_source(path))
            ],
        )
    return [
        f"{each.path}:{each.symbol.line}"
        for each in query_definitions(name, at)
        if not place or is_same_file(each.path, place) or has_tail(each.path, place)
    ]


def query_definitions(name: str, at: Workspace) -> list[FoundDefinition]:
    """Return the definitions of a name in the workspace. Raises UserError."""
    from tools.code.index.symbol_queries import find_definitions

    return query_index(at, lambda index: find_definitions(index, name))


def _look_for_name(check: str, at: Workspace) -> Result:
    found = find_name(check, at)
    place, name = split_place(check)
    if found:
        return met(found[0])
    return unmet(f"{name} is not defined{f' in {place}' if place else ''}")


def _look_for_absence(check: str, at: Workspace) -> Result:
    found = find_name(check, at)
    return unmet(f"{split_place(check)[1]} is still defined: {found[0]}") if found else met()


_CHECKS: Mapping[Kind, Callable[[str, TurnChanges, Workspace], Result]] = {
    "file-exists": _check_exists,
    "file-gone": _check_gone,
    "file-changed": _check_changed,
    "file-unchanged": _check_unchanged,
    "only-files": _check_only,
    "name-unchanged": _check_unchanged_name,
    "signature": _check_signature,
    "max-lines": _check_lines,
    "max-files": _check_files,
    "no-dependency": _check_dependencies,
}

_LOOKUPS: Mapping[Kind, Callable[[str, Workspace], Result]] = {
    "name-exists": _look_for_name,
    "name-gone": _look_for_absence,
}
