"""Packages that a test command at the root takes in, by ecosystem; `None` means that this cannot be said."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json, parse_toml
from tools.testing.project_files import Project


def list_cargo_members(project: Project, *, is_whole: bool, folders: Collection[str]) -> list[str]:
    """Return the folders of a Cargo workspace that a command takes in, "" for the root's own package."""
    data = _read_toml(project.read_text("Cargo.toml"))
    workspace, own = data.get("workspace"), "package" in data
    if not isinstance(workspace, Mapping):
        return [""]
    chosen = None if is_whole else workspace.get("default-members")
    if chosen is None and own and not is_whole:
        return [""]
    patterns = list(map(str, chosen if chosen is not None else workspace.get("members", ())))
    left_out = list(map(str, workspace.get("exclude", ())))
    found = [each for each in folders if is_matched(each, patterns) and not is_matched(each, left_out)]
    if chosen is None:
        found += _follow_paths(
            project, ["", *found], {each for each in folders if not is_matched(each, left_out)}
        )
    return [*found, *([""] if own else [])]


def _follow_paths(project: Project, members: Sequence[str], folders: Collection[str]) -> list[str]:
    """Return the packages to which members depend by path: they are members too."""
    found: list[str] = []
    waiting = list(members)
    while waiting:
        folder = waiting.pop()
        text = project.read_text(f"{folder}/Cargo.toml".lstrip("/"))
        for path in re.findall(r"""\bpath\s*=\s*["']([^"']+)""", text):
            place = posixpath.normpath(f"{folder}/{path}".lstrip("/"))
            if place in folders and place not in found and place not in members:
                found.append(place)
                waiting.append(place)
    return found


def has_unlisted_members(project: Project) -> bool:
    """Return whether plain `cargo test` leaves out members of the workspace that the root's package does not choose."""
    if "[workspace" not in project.read_text("Cargo.toml"):
        return False
    data = _read_toml(project.read_text("Cargo.toml"))
    workspace = data.get("workspace")
    return "package" in data and isinstance(workspace, Mapping) and "default-members" not in workspace


def cover_cargo(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    words = command.split()
    if {"-p", "--package", "--manifest-path"} & set(words):
        return None
    return list_cargo_members(project, is_whole=bool({"--workspace", "--all"} & set(words)), folders=folders)


_EVERY_PACKAGE = compile_lazily(
    r"--workspaces|\s-ws\b|\bpnpm\b.*\s(?:-r|--recursive|--filter)\b|\byarn workspaces (?:foreach|run)"
    r"|\bbun\b.*--filter"
    r"|\b(?:turbo|nx|lerna|rush|moon|wireit)\b"
)


def runs_every_package(script: str) -> bool:
    """Return whether a script of the root starts those of the workspace's members."""
    return _EVERY_PACKAGE.search(script) is not None


def cover_node(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    try:
        script = str(parse_json(project.read_text("package.json") or "{}")["scripts"]["test"])
    except (ValueError, KeyError, TypeError):
        return None
    if runs_every_package(script):
        return [*folders, ""]
    paths = [word.strip("\"'").removeprefix("./").rstrip("/") for word in script.split()[1:]]
    named = [each for each in paths if each and (project.root / each).exists()]
    if not named:
        return None
    return [
        each
        for each in (*folders, "")
        if any(contains_place(each, one) or contains_place(one, each) for one in named)
    ]


def list_go_modules(project: Project) -> list[str]:
    """Return the folders of the modules that `go.work` uses, "." for the root's."""
    text = re.sub(r"//.*", "", project.read_text("go.work"))
    blocks = re.findall(r"^use\s*\(([^)]*)\)", text, re.M) + re.findall(r"^use\s+([^\s(]+)", text, re.M)
    return [
        word.strip('"').removeprefix("./").rstrip("/") or "." for block in blocks for word in block.split()
    ]


def cover_go(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    modules = list_go_modules(project)
    return ["" if each == "." else each for each in modules] if modules else [""]


def cover_maven(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    found, waiting = {""}, [""]
    while waiting:
        folder = waiting.pop()
        for name in re.findall(
            r"<module>\s*([^<]+?)\s*</module>", project.read_text(f"{folder}/pom.xml".lstrip("/"))
        ):
            inner = f"{folder}/{name}".lstrip("/")
            if inner not in found:
                found.add(inner)
                waiting.append(inner)
    return found


def cover_gradle(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    found = list_gradle_projects(project)
    return None if found is None else ["", *found]


def list_gradle_projects(project: Project) -> list[str] | None:
    """Return the folders of the projects that the settings include, None where they may be others."""
    text = project.read_text("settings.gradle") + project.read_text("settings.gradle.kts")
    if not text or "includeBuild" in text or "projectDir" in text:
        return None
    calls = re.findall(r"^\s*include\b([^\n]*(?:,\s*\n[^\n]*)*)", text, re.M)
    names = [name for call in calls for name in re.findall(r"[\"']([^\"']+)[\"']", call)]
    return [name.strip(":").replace(":", "/") for name in names]


def cover_unknown(project: Project, command: str, folders: Collection[str]) -> Collection[str] | None:
    return None


def is_matched(folder: str, patterns: Sequence[str]) -> bool:
    """Return whether a folder is one of a list of paths with wildcards; only a final `**` goes over a slash."""
    parts = folder.split("/")
    for pattern in patterns:
        wanted = pattern.removeprefix("./").rstrip("/").split("/")
        deep = wanted[-1] == "**" and len(parts) >= len(wanted)
        if (deep or len(parts) == len(wanted)) and all(map(fnmatchcase, parts, wanted)):
            return True
    return False


def contains_place(folder: str, place: str) -> bool:
    """Return whether a file or folder is a folder or in it."""
    return place == folder or place.startswith(f"{folder}/")


def _read_toml(text: str) -> Mapping[str, Any]:
    try:
        return parse_toml(text)
    except ValueError:
        return {}
