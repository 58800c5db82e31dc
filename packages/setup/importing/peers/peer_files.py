"""Settings of other agents: their folders, and files in JSON with comments, TOML, YAML, or commands of a `crushrc`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from packages.setup.importing.import_plan import ImportPlan
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json, parse_toml

Table = Mapping[str, Any]

_COMMENT = compile_lazily(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = compile_lazily(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


@cache
def load_peers() -> Mapping[str, Table]:
    """Return what is known of other agents' files, by their names."""
    return parse_toml(Path(__file__).with_name("peers.toml").read_text("utf-8"))


def locate_folder(peer: Table) -> Path:
    """Return the folder of an agent's files for this user."""
    variable, default = peer["folder"]
    if variable and (given := os.environ.get(variable)):
        return Path(given).expanduser()
    if default.startswith("xdg:"):
        return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / str(default[4:])
    return Path(str(default)).expanduser()


def read_table(path: Path, plan: ImportPlan) -> dict[str, Any]:
    """Return a file's table, {} if there is none, or none that can be read, which the plan then tells."""
    try:
        content = read_regular_file(path, SETTINGS)
        text = (content or b"").decode("utf-8-sig")
        found = _parse(path, text, plan) if text.strip() else {}
    except UserError as error:
        plan.left.append(error.message)
        return {}
    except ValueError as error:
        plan.left.append(f"{path}: it cannot be read: {str(error).splitlines()[0]}")
        return {}
    if not isinstance(found, dict):
        plan.left.append(f"{path}: it holds no table")
        return {}
    return {str(key): each for key, each in found.items()}


def _parse(path: Path, text: str, plan: ImportPlan) -> object:
    match path.suffix:
        case ".toml":
            return parse_toml(text)
        case ".yaml" | ".yml":
            return _parse_yaml(text)
        case "":
            return _read_commands(path, text, plan)
    plain = _COMMENT.sub(lambda match: match[1] or " ", text)
    return parse_json(_LAST_COMMA.sub(lambda match: match[1] or "", plain))


def _parse_yaml(text: str) -> object:
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"it is no YAML: {error}") from None


def merge_tables(below: Table, above: Table) -> dict[str, Any]:
    """Return a table with the values of another one, and both tables' entries where both have one."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = (
            merge_tables(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
        )
    return found


def find_value(table: object, key: str) -> Any:
    """Return a value by its key, whose dots may be those of tables in each other; None if there is none."""
    if isinstance(table, Mapping) and key in table:
        return table[key]
    found: Any = table
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


_PAIRS = ("--env", "--header")
_LISTS = ("--args", "--disabled-tools", "--enabled-tools")
_BLOCKS = ("if", "for", "while", "until", "case", "function", "{", "(", "[[", "[")
_ENDS = ("fi", "done", "esac", "}", ")")


def _read_commands(path: Path, text: str, plan: ImportPlan) -> dict[str, Any]:
    """Return the settings that a `crushrc` makes. It is read and not run: what has conditions is named."""
    found: dict[str, Any] = {}
    depth = 0
    for number, line in _join_lines(text):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = ["…"]
        if not words:
            continue
        first = words[0]
        if first in _ENDS:
            depth = max(depth - 1, 0)
            continue
        is_simple = not depth and not re.search(r"[;&|]|\$\(|`", re.sub(r"'[^']*'|\"[^\"]*\"", "", line))
        depth += first in _BLOCKS and words[-1] not in _ENDS
        if first in _BLOCKS or not is_simple or not _add_command(found, words):
            plan.left.append(f"{path}:{number}: it is not taken: {line.strip()[:100]}")
    return found


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    start, whole = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        whole += line
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        yield start, whole
        start, whole = number + 1, ""


def _add_command(found: dict[str, Any], words: list[str]) -> bool:
    """Add what a command sets; return whether it is one that is understood."""
    match words:
        case ["mcp", "add", name, *options]:
            entry = _read_options(options)
            found.setdefault("mcp", {})[name] = entry
            return entry is not None
        case ["mcp", "remove" | "rm", name]:
            found.get("mcp", {}).pop(name, None)
        case ["hook", "add", event, *options]:
            entry = _read_options(options)
            found.setdefault("hooks", {}).setdefault(event, []).append(entry)
            return entry is not None
        case ["permissions", "allow", *tools]:
            found.setdefault("permissions", {}).setdefault("allowed_tools", []).extend(tools)
        case ["permissions", "deny", *tools]:
            found.setdefault("options", {}).setdefault("disabled_tools", []).extend(tools)
        case ["model", "large" | "small" as slot, model, *_]:
            provider, _, name = model.partition("/")
            found.setdefault("models", {})[slot] = {"provider": provider, "model": name}
        case ["option", "disable-skill", name]:
            found.setdefault("options", {}).setdefault("disabled_skills", []).append(name)
        case ["option", "skill-path", name]:
            found.setdefault("options", {}).setdefault("skills_paths", []).append(name)
        case ["provider" | "lsp" as kind, "add", name, *_]:
            found.setdefault({"provider": "providers"}.get(kind, kind), {})[name] = {}
        case _:
            return False
    return True


def _read_options(options: list[str]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    rest = list(options)
    while rest:
        name = rest.pop(0)
        key = name.removeprefix("--").replace("-", "_")
        count = 2 if name in _PAIRS else 1
        if not name.startswith("--") or len(rest) < count:
            return None
        values, rest = rest[:count], rest[count:]
        if name in _PAIRS:
            found.setdefault({"header": "headers"}.get(key, key), {})[values[0]] = values[1]
        elif name in _LISTS:
            found.setdefault(key, []).append(values[0])
        elif values[0].lower() in ("true", "false", "yes", "no"):
            found[key] = values[0].lower() in ("true", "yes")
        else:
            found[key] = int(values[0]) if key == "timeout" and values[0].isdecimal() else values[0]
    return found
