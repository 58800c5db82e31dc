"""Marketplaces: a list of plugins in a repository (`.claude-plugin/marketplace.json`), of which one is chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.extension.plugins.plugin_manifest import MARKETPLACE, NEUTRAL, VENDOR, read_table
from agent.extension.plugins.source_tree import SourceEntry, SourceTree
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import join_names

MOST_NAMED = 30
"""Plugins that an error names."""

_OF_MANIFESTS = ("name", "description", "version", "skills", "commands", "agents", "hooks", "mcpServers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A plugin in another repository. reference: branch, tag or commit; path: of the plugin inside it"""

    address: str
    reference: str
    path: str


def select_plugin(tree: SourceTree, name: str) -> SourceTree | Elsewhere:
    """Return the plugin of a name, or the one that there is. Raises UserError.

    name: of one in the marketplace, or a folder inside; "" for the source itself
    """
    market = read_table(tree, MARKETPLACE)
    if market is None:
        return tree.narrow(name)
    given = market.get("plugins")
    entries = {
        str(each["name"]): each
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    }
    if not name and (VENDOR in tree.entries or NEUTRAL in tree.entries or not entries):
        return tree
    if not name and len(entries) == 1:
        name = next(iter(entries))
    if name not in entries:
        if name and any(each.startswith(f"{name.strip('./')}/") for each in tree.entries):
            return tree.narrow(name)
        problem = f"has no plugin {name!r}" if name else "has several plugins"
        listed = join_names(sorted(entries), MOST_NAMED)
        raise UserError(Fault.USAGE, f"{tree.origin!r} {problem}", f"Name one of: {listed}.")
    return _open_entry(tree, market, entries[name])


def _open_entry(
    tree: SourceTree, market: Mapping[str, Any], entry: Mapping[str, Any]
) -> SourceTree | Elsewhere:
    source = entry.get("source", "./")
    if isinstance(source, str):
        metadata = market.get("metadata")
        root = str(metadata.get("pluginRoot") or "") if isinstance(metadata, dict) else ""
        path = source if source.startswith("./") or not root else f"{root}/{source}"
        return _add_manifest(tree.narrow(path), entry)
    kind = source.get("source") if isinstance(source, dict) else None
    address = str(source.get("url") or "") if kind in ("url", "git-subdir", "git") else ""
    if kind == "github":
        address = f"https://github.com/{source.get('repo')}"
    if not address:
        raise UserError(
            Fault.USAGE,
            f"{entry['name']!r} of {tree.origin!r} is at a {kind!r}: only git repositories are fetched",
            "Add it from a folder.",
        )
    reference = str(source.get("sha") or source.get("ref") or "")
    return Elsewhere(address=address, reference=reference, path=str(source.get("path") or ""))


def _add_manifest(tree: SourceTree, entry: Mapping[str, Any]) -> SourceTree:
    """Return a plugin with its entry as its manifest, where it has none of its own."""
    if VENDOR in tree.entries or NEUTRAL in tree.entries:
        return tree
    fields = {key: entry[key] for key in _OF_MANIFESTS if key in entry}
    fields["strict"] = False
    content = json.dumps(fields, indent=1, ensure_ascii=False).encode()
    entries = {**tree.entries, VENDOR: SourceEntry(len(content), False)}
    read = tree.read

    def read_with_manifest(names: Any) -> Mapping[str, bytes]:
        found = dict(read([each for each in names if each != VENDOR]))
        return found | ({VENDOR: content} if VENDOR in names else {})

    return replace(tree, entries=entries, read=read_with_manifest)
