"""Manifests of plugins: the name, and the files and folders that hold the parts.

Agent Plugins 1.0.0: `plugin.json` with fixed places. Claude Code's: `.claude-plugin/plugin.json`, whose fields name
more places, or a marketplace's entry in its stead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from agent.extension.plugins.source_tree import SourceTree
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

NEUTRAL, VENDOR, MARKETPLACE = "plugin.json", ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"

SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"

_FIELDS: Mapping[str, type] = {
    **dict.fromkeys(("$schema", "name", "version", "description", "homepage", "repository", "license"), str),
    "author": dict,
    "keywords": list,
    "extensions": dict,
}
"""Fields of Agent Plugins 1.0.0, section 5.2, and their types."""

_NEUTRAL_NAME = compile_lazily(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_VENDOR_NAME = compile_lazily(r"[a-z0-9][a-z0-9_.-]{0,63}")

_PLACES: Mapping[str, tuple[str, ...]] = {
    "skills": ("skills",),
    "commands": ("commands",),
    "agents": ("agents",),
    "hooks": ("hooks/hooks.json",),
    "servers": (".mcp.json",),
}
"""Where the parts are in the vendor's layout, besides those that the manifest names."""

_NAMED_BY = {"skills": "skills", "commands": "commands", "agents": "agents", "hooks": "hooks"} | {
    "servers": "mcpServers"
}

MOST_NAMED = 5
"""Files of a place that are named."""

_UNUSED_PLACES = ("workflows", "output-styles", "themes", "monitors", "bin", ".lsp.json", "settings.json")
"""Places of parts that there is nothing like here."""

_NOT_USED = (
    *("lspServers", "outputStyles", "themes", "monitors", "channels", "userConfig", "settings"),
    *("workflows", "dependencies", "experimental"),
)
"""Fields of parts that there is nothing like here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """layout: by kind of part the files and folders that hold them; left: unused fields and places, a line each"""

    name: str
    version: str
    description: str
    layout: Mapping[str, tuple[str, ...]]
    left: tuple[str, ...]


def read_manifest(tree: SourceTree) -> Manifest:
    """Return a plugin's manifest. Raises UserError for a folder that is no plugin."""
    neutral, vendor = read_table(tree, NEUTRAL), read_table(tree, VENDOR)
    if vendor is None and neutral is None:
        raise _build_error(tree, f"there is neither {NEUTRAL} nor {VENDOR}")
    left: list[str] = []
    layout: dict[str, tuple[str, ...]] = {}
    if vendor is not None:
        layout = {kind: tuple(_list_places(tree, kind, vendor, left)) for kind in _PLACES}
        if unused := [each for each in _NOT_USED if each in vendor]:
            left.append(f"there is nothing like it here: {', '.join(unused)}")
    left += _list_unused_places(tree)
    if neutral is not None and (vendor is None or neutral.get("$schema") == SCHEMA):
        _check_neutral(tree, neutral, left)
        both = {"skills": ("skills",), "servers": ("mcp.json",)}
        for kind, places in both.items():
            there = [each for each in places if _has_place(tree, each)]
            layout[kind] = tuple(dict.fromkeys((*there, *layout.get(kind, ()))))
        vendor = neutral
    assert vendor is not None
    name = str(vendor.get("name") or "").lower()
    if not _VENDOR_NAME.fullmatch(name):
        raise _build_error(tree, f"its name {vendor.get('name')!r} is none: small letters, digits, - and .")
    return Manifest(
        name=name,
        version=_read_text(vendor, "version"),
        description=_read_text(vendor, "description"),
        layout={kind: places for kind, places in layout.items() if places},
        left=tuple(left),
    )


def read_table(tree: SourceTree, name: str) -> dict[str, Any] | None:
    """Return a JSON file's table, None if there is no such file. Raises UserError for one that is no table."""
    content = tree.read_file(name, SETTINGS)
    if content is None:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _build_error(tree, f"{name} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _build_error(tree, f"{name} is no table")
    return found


def _check_neutral(tree: SourceTree, given: Mapping[str, Any], left: list[str]) -> None:
    """Check the rules of section 5: an unknown field and odd `extensions` are told, all else refuses the plugin."""
    if given.get("$schema") != SCHEMA:
        raise _build_error(tree, f"{NEUTRAL} is for {given.get('$schema')!r}; known is {SCHEMA}")
    if unknown := [each for each in given if each not in _FIELDS]:
        left.append(f"{NEUTRAL}: unknown, not used: {', '.join(unknown)}")
    for field, kind in _FIELDS.items():
        if field in given and field != "extensions" and not isinstance(given[field], kind):
            raise _build_error(tree, f"{NEUTRAL}: `{field}` has the wrong type")
    name, author, keywords = given.get("name", ""), given.get("author", {}), given.get("keywords", [])
    if not _NEUTRAL_NAME.fullmatch(name):
        raise _build_error(tree, f"{NEUTRAL}: {name!r} is no name: small letters, digits, - and .")
    if set(author) - {"name", "email", "url"} or not all(isinstance(each, str) for each in author.values()):
        raise _build_error(tree, f"{NEUTRAL}: `author` has other fields than texts name, email and url")
    if not all(isinstance(each, str) for each in keywords):
        raise _build_error(tree, f"{NEUTRAL}: `keywords` are no texts")
    if not isinstance(given.get("extensions", {}), dict):
        left.append(f"{NEUTRAL}: `extensions` is no table, not used")


def _list_places(tree: SourceTree, kind: str, given: Mapping[str, Any], left: list[str]) -> Iterator[str]:
    """Yield the files and folders of a kind of part; the manifest itself for parts written in it."""
    found = [each for each in _PLACES[kind] if _has_place(tree, each)]
    if kind == "skills" and not found and "SKILL.md" in tree.entries:
        found.append(".")
    field = _NAMED_BY[kind]
    named = given.get(field)
    if named and given.get("strict") is False:  # the entry of a marketplace whose plugins share a folder
        found = []
    if isinstance(named, dict):
        if kind in ("hooks", "servers"):
            found.append(VENDOR)
        else:
            named = [each.get("source") for each in named.values() if isinstance(each, dict)]
    for each in [named] if isinstance(named, str) else named if isinstance(named, list) else ():
        place = _normalize_place(each)
        if place is None or not (place == "." or _has_place(tree, place)):
            left.append(f"{VENDOR}: `{field}` names {each!r}, which there is not")
        else:
            found.append(place)
    yield from dict.fromkeys(found)


def _list_unused_places(tree: SourceTree) -> Iterator[str]:
    for place in _UNUSED_PLACES:
        files = sorted(each for each in tree.entries if each == place or each.startswith(f"{place}/"))
        if files:
            more = f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
            yield f"there is nothing like it here: {', '.join(files[:MOST_NAMED])}{more}"


def _normalize_place(place: object) -> str | None:
    """Return a path inside the plugin without `./`; None for one that leads out."""
    if not isinstance(place, str) or place.startswith("/"):
        return None
    parts = [each for each in PurePosixPath(place).parts if each != "."]
    return None if ".." in parts else "/".join(parts) or "."


def _has_place(tree: SourceTree, place: str) -> bool:
    return place in tree.entries or any(each.startswith(f"{place}/") for each in tree.entries)


def _read_text(given: Mapping[str, Any], field: str) -> str:
    value = given.get(field)
    return " ".join(value.split())[:1_000] if isinstance(value, str) else ""


def _build_error(tree: SourceTree, problem: str) -> UserError:
    return UserError(
        Fault.USAGE, f"{tree.origin!r} is no plugin: {problem}", "Name the plugin's folder with --path."
    )
