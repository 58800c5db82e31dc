"""Newest releases of the programs whose formats the product's tables are from, asked of their registries."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

TABLES = (
    ROOT / "packages/setup/importing/peers/peers.toml",
    ROOT / "agent/extension/hooks/hook_dialects.toml",
)

PACKAGES: Mapping[str, str] = {
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
    "crush": "@charmland/crush",
    "qwen": "@qwen-code/qwen-code",
    "amp": "@ampcode/cli",
}
"""Packages of npm by the tables' names; the others have no package there."""

_SECONDS = 60


def describe_newest() -> str:
    """Return a table of the versions that the product knows, and the newest ones."""
    known: dict[str, str] = {}
    for path in TABLES:
        for name, table in tomllib.loads(path.read_text("utf-8")).items():
            known[name] = table["version"]
    lines = ["## Newest releases", "", "| format | ours is of | newest |", "|---|---|---|"]
    for name, version in known.items():
        newest = _ask_registry(PACKAGES[name]) if name in PACKAGES else "no registry"
        lines.append(f"| {name} | {version} | {newest or 'not reached'} |")
    return "\n".join([*lines, ""])


def _ask_registry(package: str) -> str:
    """Return the newest version of a package of npm, "" where the registry does not answer."""
    try:
        done = subprocess.run(
            ["npm", "view", package, "version", "--json"], capture_output=True, timeout=_SECONDS, check=True
        )
        return str(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
