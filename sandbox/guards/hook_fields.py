"""Fields of manifests (`package.json` …) by which commits run programs: people edit the rest as ordinary code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.guards.self_run_files import HOOK_KEYS

_COMMANDS = {
    "package.json": (
        *(
            "scripts",
            "eslintConfig",
            "prettier",
            "stylelint",
            "jest",
            "mocha",
            "ava",
            "wireit",
            "nx",
            "imports",
        ),
    ),
    "composer.json": ("scripts",),
    "pyproject.toml": (
        *("tool.poe", "tool.pdm.scripts", "tool.hatch.envs", "tool.taskipy", "tool.rye.scripts", "tool.tox"),
        *("tool.mypy", "tool.pylint", "tool.pytest"),
    ),
}
"""Fields with command lines which hooks call by name (`npm test`), or that make linters load code."""


def is_manifest(path: str) -> bool:
    """Return whether a file has this kind of fields."""
    return path.rpartition("/")[2] in HOOK_KEYS


def read_hook_fields(path: str, content: bytes, *, with_commands: bool = False) -> Mapping[str, Any]:
    """Return the fields by which managers of hooks are configured. with_commands: and those that hooks call by name

    A manifest that cannot be parsed, or is not parsed here (YAML), has all of its content in one field, "".
    """
    base = path.rpartition("/")[2]
    keys = HOOK_KEYS[base] + (_COMMANDS.get(base, ()) if with_commands else ())
    try:
        table = _parse_manifest(base, content)
    except (ValueError, RecursionError):
        return {"": content.decode("utf-8", "replace")} if _names_any(keys, content) else {}
    return {key: value for key in keys if (value := _find_field(table, key)) is not None}


def _names_any(keys: tuple[str, ...], content: bytes) -> bool:
    return any(key.rpartition(".")[2].encode() in content for key in keys)


def _parse_manifest(base: str, content: bytes) -> Any:
    text = content.decode("utf-8-sig")
    if base.endswith(".toml"):
        import tomllib

        return tomllib.loads(text)
    return json.loads(text)


def _find_field(table: Any, key: str) -> Any:
    for part in key.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    return table
