"""What is taken over from another agent, and what is not: shown first, then written into the user's own folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.model.providers.endpoints import BARE
from cli.settings.setting_sources import store_setting
from cli.settings.settings_files import FILE, read_settings_file
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import SETTINGS, SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(slots=True)
class ImportPlan:
    """settings: values by key, with dots; lists are added to, tables by their entries
    files: content by path below the user's configuration folder
    programs: those of the files that can be started
    shown: what the files would run, a line each
    left: what is not taken, and why or what to do, a line each
    """

    settings: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    programs: set[str] = field(default_factory=set)
    shown: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def set_value(self, key: str, value: object) -> None:
        """Take a setting."""
        self.settings[key] = value

    def add_to_list(self, key: str, value: str) -> None:
        """Take an entry of a setting that is a list."""
        entries = self.settings.setdefault(key, [])
        if value not in entries:
            entries.append(value)

    def add_to_table(self, key: str, name: str, value: object) -> None:
        """Take an entry of a setting that is a table."""
        self.settings.setdefault(key, {})[name] = value

    def set_model(self, key: str, name: object, source: str) -> None:
        """Take a model's name, unless it is a nickname that means something only to the other agent."""
        if not isinstance(name, str) or not name:
            return
        if "/" in name or any(name.startswith(each) for each in BARE):
            self.set_value(key, name)
        else:
            self.left.append(
                f"{source}: the model {name!r}: set {key!r} to a name like anthropic/claude-opus-4-5"
            )

    def leave_unknown(self, given: Mapping[str, Any], known: set[str], source: str) -> None:
        """Name the keys of a file that are not taken."""
        if unknown := sorted(set(given) - known):
            self.left.append(f"{source}: there is nothing like it here: {', '.join(unknown)}")

    def add_files(self, source: Path, target: str, suffix: str = ".md", off: Mapping[str, str] = {}) -> None:
        """Take the files below a folder whose names end so; "" takes all. Their programs stay executable.

        off: name of a file without its ending, or of a folder → what switches it off
        """
        for name, reason in off.items():
            if (source / name).is_dir() or (source / f"{name}{suffix}").is_file():
                self.left.append(f"{source / name}: it is switched off by {reason}")
        for path in sorted(source.rglob("*")) if source.is_dir() else ():
            name = path.relative_to(source).as_posix()
            if not path.is_file() or not path.name.endswith(suffix) or "/." in f"/{name}":
                continue
            if name.split("/")[0].removesuffix(suffix) in off:
                continue
            try:
                content = read_regular_file(path, SOURCE)
            except UserError as error:
                self.left.append(error.message)
                continue
            self.files[f"{target}/{name}"] = content or b""
            if path.stat().st_mode & 0o100:
                self.programs.add(f"{target}/{name}")


def get_names(table: object, key: str) -> list[str]:
    """Return a field of a table that is a list of names, [] if there is none."""
    found = table.get(key) if isinstance(table, Mapping) else None
    return [str(each) for each in found] if isinstance(found, list) else []


def get_table(table: object, key: str) -> Mapping[str, Any]:
    """Return a field of a table that is a table, {} if there is none."""
    found = table.get(key) if isinstance(table, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def read_json(path: Path, plan: ImportPlan) -> dict[str, Any]:
    """Return a JSON file's table, {} if there is none, or none that can be read, which the plan then tells."""
    try:
        content = read_regular_file(path, SETTINGS)
        found = json.loads(content) if content is not None else {}
    except UserError as error:
        plan.left.append(error.message)
        return {}
    except (ValueError, RecursionError) as error:
        plan.left.append(f"{path}: it is no JSON: {error}")
        return {}
    return found if isinstance(found, dict) else {}


_SERVER_NAME = compile_lazily(r"[A-Za-z0-9_-]{1,64}")


def add_servers(
    plan: ImportPlan,
    servers: object,
    source: str,
    explain_left: Callable[[str, Mapping[str, Any]], str] = lambda name, entry: "",
) -> None:
    """Take MCP servers. Values of their variables and headers are not copied: they may be keys.

    explain_left: why a server is not taken, "" for one that is, besides what its entry alone says
    """
    from cli.settings.foreign_servers import (
        has_reference,
        hide_header_values,
        list_unused_fields,
        read_foreign_server,
    )

    for name, each in servers.items() if isinstance(servers, dict) else ():
        if not _SERVER_NAME.fullmatch(str(name)):
            plan.left.append(f"{source}: the MCP server {name!r}: its name has letters, digits, - and _ only")
            continue
        entry = each if isinstance(each, dict) else {}
        if _is_own_server(entry):
            plan.left.append(f"{source}: the MCP server {name!r} is Patchwright itself")
            continue
        if reason := explain_left(str(name), entry):
            plan.left.append(f"{source}: the MCP server {name!r}: {reason}")
            continue
        given = get_table(entry, "env")
        variables = [each for each, value in given.items() if not has_reference(str(value))]
        try:
            setting = read_foreign_server(
                {**entry, "env": {**given, **{each: f"${each}" for each in variables}}}
            )
        except ValueError as error:
            plan.left.append(f"{source}: the MCP server {name!r}: {error}")
            continue
        if unused := [each for each in list_unused_fields(entry) if each != "trust"]:
            plan.left.append(
                f"{source}: the MCP server {name!r}: there is nothing like it here: {', '.join(unused)}"
            )
        setting, hidden = hide_header_values(name, setting)
        plan.add_to_table("mcp", str(name), setting)
        if entry.get("trust") is True:  # of Gemini CLI and Qwen Code: its tools ask nobody
            plan.add_to_list("permissions.allow", f"mcp({name}.*)")
        if (isinstance(entry.get("command"), str) and variables) or hidden:
            plan.left.append(
                f"{source}: values of {', '.join(hidden or variables)} for the MCP server {name!r}: export them before "
                "you start"
            )
        if entry.get("command") in ("npx", "uvx", "bunx", "pnpx"):
            plan.left.append(
                f"{source}: {entry['command']} of the MCP server {name!r} downloads it at each start, which the "
                "sandbox prevents: install it and name its program"
            )


def _is_own_server(entry: Mapping[str, object]) -> bool:
    """Return whether the entry is `patchwright mcp serve`, which another agent uses: our tools are here already."""
    command, arguments = entry.get("command"), entry.get("args")
    words = [command, *arguments] if isinstance(arguments, list) else [command]
    names = [Path(each).name for each in words if isinstance(each, str)]
    return any(names[at : at + 3] == ["patchwright", "mcp", "serve"] for at in range(len(names)))


def describe_plan(plan: ImportPlan, home: Home) -> Iterator[str]:
    """Yield the lines that show a plan: what is written, what is there already, what is not taken."""
    mine = read_settings_file(home.config / FILE)
    for key, value in plan.settings.items():
        merged = merge_value(_find_value(mine, key), value)
        if merged is None:
            yield f"kept      {key} = {format_toml(_find_value(mine, key))} (yours), not {format_toml(value)}"
        elif merged != _find_value(mine, key):
            yield f"setting   {key} = {format_toml(value)}"
    for name in plan.files:
        kept = (home.config / name).exists()
        yield f"{'kept' if kept else 'file':<9} {home.config / name}{' (there is one)' if kept else ''}"
    yield from (f"hook      {line}" for line in plan.shown)
    for line in plan.left:
        yield f"not taken {line}"


def write_plan(plan: ImportPlan, home: Home) -> None:
    """Write a plan. What the user has set or written already stays. Raises UserError."""
    mine = read_settings_file(home.config / FILE)
    for key, value in plan.settings.items():
        merged = merge_value(_find_value(mine, key), value)
        if merged is not None and merged != _find_value(mine, key):
            store_setting(home, key, format_toml(merged))
    for name, content in plan.files.items():
        path = home.config / name
        if not path.exists():
            create_private_folder(path.parent)
            write_private_file(path, content)
            if name in plan.programs:
                path.chmod(0o700)


def merge_value(mine: object, value: object) -> object:
    """Return what a setting becomes: a list or table with the new entries, else the new value; None to keep the old."""
    if mine is None:
        return value
    if isinstance(mine, list) and isinstance(value, list):
        return [*mine, *(each for each in value if each not in mine)]
    if isinstance(mine, dict) and isinstance(value, dict):
        return {**value, **mine}
    return mine if mine == value else None


def format_toml(value: object) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(key)} = {format_toml(each)}" for key, each in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(format_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _find_value(values: Mapping[str, Any], key: str) -> Any:
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
