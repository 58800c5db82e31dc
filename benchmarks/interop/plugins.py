"""Public repositories with plugins: what of them loads, and whether it has the names of their files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.interop.readers import read_plugin_folder

_SECONDS = 300
_KINDS = ("skill", "command", "agent")


def describe_plugins(sources: Sequence[str], folder: Path) -> str:
    """Return a table of plugins: parts in their files by Claude Code's rules, parts here, and names on one side only.

    A source is a folder, a bare repository in one, or OWNER/NAME on GitHub.
    """
    lines = [
        "## Public plugins",
        "",
        "| repository | plugin | parts there | same name here | named | missing |",
    ]
    lines.append("|---|---|--:|--:|--:|---|")
    total = [0, 0, 0, 0]
    for source in sources:
        place = _fetch(source, folder)
        if place is None:
            lines.append(f"| {source} | could not be fetched | | | | |")
            continue
        for plugin, given, entry in find_plugins(place):
            theirs = list_parts(plugin, entry)
            state = read_plugin_folder(given, str(entry.get("name", "")))
            left = "\n".join(state.get("left", ()))
            ours = {kind: set(state.get(kind, {})) for kind in _KINDS}
            same = sum(len(theirs[kind] & ours[kind]) for kind in _KINDS)
            gone = [f"{kind} {name}" for kind in _KINDS for name in sorted(theirs[kind] - ours[kind])]
            named = [each for each in gone if each.partition(" ")[2] in left]
            silent = [each for each in gone if each not in named]
            count = sum(map(len, theirs.values()))
            total = [a + b for a, b in zip(total, (count, same, len(named), len(silent)), strict=True)]
            shown = plugin.relative_to(place).as_posix()
            lines.append(
                f"| {source} | {shown} | {count} | {same} | {len(named)} | {', '.join(silent[:5])} |"
            )
    lines.append(f"| all | | {total[0]} | {total[1]} | {total[2]} | {total[3]} |")
    return "\n".join([*lines, ""])


def _fetch(source: str, folder: Path) -> Path | None:
    given = Path(source)
    if given.is_dir() and not (given / "HEAD").is_file():
        return given
    place = folder / source.strip("/").replace("/", "+")
    address = str(given) if given.is_dir() else f"https://github.com/{source}"
    done = subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", address, str(place)],
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return place if done.returncode == 0 else None


def find_plugins(root: Path) -> list[tuple[Path, Path, Mapping[str, Any]]]:
    """Return the plugins below a folder: their folder, what is given to read them, and their entry in a marketplace.

    They have a manifest, or a marketplace names them; the entry is {} for those with a manifest.
    """
    found: list[tuple[Path, Path, Mapping[str, Any]]] = []
    found += [(path.parents[1], path.parents[1], {}) for path in root.rglob(".claude-plugin/plugin.json")]
    own = {place for place, _, _ in found}
    for path in root.rglob(".claude-plugin/marketplace.json"):
        try:
            entries = json.loads(path.read_text("utf-8")).get("plugins", [])
        except ValueError:
            continue
        for each in entries:
            source = each.get("source") if isinstance(each, dict) else None
            place = (path.parents[1] / source).resolve() if isinstance(source, str) else None
            if place is not None and place.is_dir() and place.is_relative_to(root.resolve()):
                inside = root / place.relative_to(root.resolve())
                found += [] if inside in own else [(inside, path.parents[1], each)]
    return sorted(found, key=lambda each: (each[0], str(each[2].get("name"))))


def list_parts(folder: Path, entry: Mapping[str, Any] = {}) -> Mapping[str, set[str]]:
    """Return the names that Claude Code gives to a plugin's parts: files of its folders, by their paths or fields.

    Skills are folders with SKILL.md; commands are Markdown below `commands`; skills and agents have a name in their
    front matter. entry: of a marketplace, whose lists count where there is no manifest
    """
    manifest: Any = entry
    path = folder / ".claude-plugin/plugin.json"
    if path.is_file():
        try:
            manifest = json.loads(path.read_text("utf-8"))
        except ValueError:
            manifest = {}
    parts: dict[str, set[str]] = {kind: set() for kind in _KINDS}
    for place in _list_places(folder, manifest, "skills"):
        files = [place / "SKILL.md"] if (place / "SKILL.md").is_file() else place.glob("*/SKILL.md")
        parts["skill"] |= {_read_name(each, each.parent.name) for each in files}
    for place in _list_places(folder, manifest, "commands"):
        files = [place] if place.is_file() else place.rglob("*.md")
        top = place.parent if place.is_file() else place
        parts["command"] |= {
            ":".join(each.relative_to(top).with_suffix("").parts) for each in files if each.suffix == ".md"
        }
    for place in _list_places(folder, manifest, "agents"):
        files = [place] if place.is_file() else place.rglob("*.md")
        parts["agent"] |= {_read_name(each, each.stem).lower() for each in files if each.suffix == ".md"}
    return {
        "skill": parts["skill"],
        "command": {each.rpartition(":")[2] for each in parts["command"]},
        "agent": parts["agent"],
    }


def _list_places(folder: Path, manifest: Mapping[str, Any], kind: str) -> list[Path]:
    given = manifest.get(kind)
    more = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    names = [*more] if more and manifest.get("strict") is False else [kind, *more]
    return [
        folder / each for each in dict.fromkeys(names) if isinstance(each, str) and (folder / each).exists()
    ]


def _read_name(path: Path, default: str) -> str:
    for line in path.read_text("utf-8", "replace").splitlines()[:30]:
        if line.startswith("name:"):
            return line.partition(":")[2].strip().strip("\"'") or default
    return default
