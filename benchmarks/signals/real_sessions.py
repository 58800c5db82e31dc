"""Steps of published trajectories: SWE-agent's, and tool calls of tau-bench's historical runs."""

from __future__ import annotations

import json
import lzma
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.signals.steps import Step

_ERRORS = (
    "Your proposed edit has introduced",
    "command not found",
    "No such file or directory",
    "Traceback (most recent call last)",
)
"""Words of results in SWE-agent's logs, which do not say what failed."""


def read_swe_agent(path: Path) -> Iterator[tuple[str, list[Step]]]:
    """Yield id and steps of runs in JSON lines, .xz or plain, of `id` and `history` as SWE-agent writes it."""
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as lines:
        for line in lines:
            run = json.loads(line)
            yield run["id"], list(_read_history(run["history"]))


def _read_history(history: list[dict[str, Any]]) -> Iterator[Step]:
    for place, turn in enumerate(history):
        asked = turn.get("action") or ""
        if turn["role"] != "assistant" or not asked.split():
            continue
        tool = asked.split()[0]
        effect = "write" if tool in ("edit", "create") else "execute" if tool.startswith("py") else "read"
        output = history[place + 1]["content"] if place + 1 < len(history) else ""
        yield Step(tool, {"command": asked}, effect, output, any(each in output for each in _ERRORS))


def read_tau_bench(repository: Path) -> Iterator[tuple[str, list[Step]]]:
    """Yield id and steps of the airline runs that reached their goal. repository: a bare one of its snapshots"""
    name = "HEAD:historical_trajectories/gpt-4o-airline.json"
    found = subprocess.run(
        ["git", "-C", str(repository), "cat-file", "-p", name], capture_output=True, check=True
    )
    for run in json.loads(found.stdout):
        if run["reward"] == 1.0:
            yield f"{run['task_id']}.{run['trial']}", list(_read_calls(run["traj"]))


def _read_calls(messages: list[dict[str, Any]]) -> Iterator[Step]:
    outputs = {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            effect = (
                "read" if name.startswith(("get_", "list_", "search_", "calculate", "think")) else "write"
            )
            output = str(outputs.get(call["id"], ""))
            yield Step(name, arguments, effect, output.replace(", ", ",\n"), output.startswith("Error"))
