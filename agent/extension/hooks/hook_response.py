"""Results of tools as hooks are told them, and as they change them: the shapes of Claude Code's tools.

Source: the types `BashOutput`, `FileReadOutput`, `FileEditOutput`, `FileWriteOutput`, `GrepOutput` and `GlobOutput` of
@anthropic-ai/claude-agent-sdk 0.3.332 (`sdk-tools.d.ts`, 2026-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Observation

LONGEST_OUTPUT = 20_000
"""Characters of a tool's output that a hook is told."""

LONGEST_FILE = 1_000_000
"""Bytes of a changed file whose original is told."""

_HUNK = compile_lazily(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def build_response(name: str, observation: Observation, given: Mapping[str, Any], files: Tree) -> Any:
    """Return the result of a tool as hooks are told it.

    name: Claude Code's for the tool; given: its input there; files: of the workspace
    """
    text = observation.text[:LONGEST_OUTPUT]
    if name.startswith("mcp__"):
        return [{"type": "text", "text": text}]
    if observation.failed and name != "Bash":
        return {"success": False, "output": text}
    match name:
        case "Bash":
            output = getattr(observation.value, "output", None)
            stdout = text if output is None else output[:LONGEST_OUTPUT]
            interrupted = observation.data.get("ended", "exited") != "exited"
            return {"stdout": stdout, "stderr": "", "interrupted": interrupted, "isImage": False}
        case "Read":
            return _describe_read(observation, given)
        case "Edit" | "Write":
            return _describe_change(name, observation, given, files)
        case "Grep" | "Glob" if "places" in observation.data:
            names = list(dict.fromkeys(path for path, _ in observation.data["places"]))
            names = names or observation.data.get("names", [])
            found = {"numFiles": len(names), "filenames": names}
            if name == "Glob":
                return {**found, "durationMs": 0, "truncated": False}
            return {"mode": "content", **found, "content": text, "numLines": observation.data.get("lines", 0)}
    return {"success": not observation.failed, "output": text}


def _describe_read(observation: Observation, given: Mapping[str, Any]) -> Mapping[str, Any]:
    content = observation.value if isinstance(observation.value, str) else observation.text
    first, last = observation.data.get("first", 1), observation.data.get("last", 0)
    return {
        "type": "text",
        "file": {
            "filePath": given.get("file_path", ""),
            "content": content[:LONGEST_OUTPUT],
            "numLines": max(last - first + 1, 0),
            "startLine": first,
            "totalLines": observation.data.get("lines", 0),
        },
    }


def _describe_change(
    name: str, observation: Observation, given: Mapping[str, Any], files: Tree
) -> Mapping[str, Any]:
    diff = observation.data.get("diff", "")
    hunks = parse_hunks(diff)
    is_new = "\n--- /dev/null" in f"\n{diff}"
    found: dict[str, Any] = {
        "filePath": given.get("file_path", ""),
        "structuredPatch": hunks,
        "originalFile": None if is_new else _read_original(files, observation.data.get("path", ""), hunks),
        "userModified": False,
    }
    if name == "Write":
        return {**found, "type": "create" if is_new else "update", "content": given.get("content", "")}
    return {
        **found,
        "oldString": given.get("old_string", ""),
        "newString": given.get("new_string", ""),
        "replaceAll": bool(given.get("replace_all", False)),
    }


def parse_hunks(diff: str) -> list[dict[str, Any]]:
    """Return the hunks of a unified diff of one file: places, counts of lines, lines with their marks."""
    hunks: list[dict[str, Any]] = []
    for line in diff.splitlines():
        if match := _HUNK.match(line):
            old, olds, new, news = (int(each) if each else 1 for each in match.groups())
            hunks.append({"oldStart": old, "oldLines": olds, "newStart": new, "newLines": news, "lines": []})
        elif re.match(r"(?:---|\+\+\+|diff|index|old mode|new mode|similarity|rename) ", line) and not (
            hunks and _is_open(hunks[-1])
        ):
            continue
        elif hunks:
            hunks[-1]["lines"].append(line)
    return hunks


def _is_open(hunk: Mapping[str, Any]) -> bool:
    lines: Sequence[str] = hunk["lines"]
    old = sum(not each.startswith(("+", "\\")) for each in lines)
    new = sum(not each.startswith(("-", "\\")) for each in lines)
    return bool(old < hunk["oldLines"] or new < hunk["newLines"])


def _read_original(files: Tree, path: str, hunks: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the text of a file before its hunks were applied, None if that cannot be told."""
    try:
        if not path or files.get_size(path) > LONGEST_FILE:
            return None
        lines = files.read_text(path).text.split("\n")
    except (OSError, ValueError):  # gone, or binary
        return None
    for hunk in reversed(hunks):
        start = hunk["newStart"] - (1 if hunk["newLines"] else 0)
        marked = [each for each in hunk["lines"] if not each.startswith("\\")]
        new = [each[1:] for each in marked if not each.startswith("-")]
        if lines[start : start + len(new)] != new:
            return None
        lines[start : start + len(new)] = [each[1:] for each in marked if not each.startswith("+")]
    return "\n".join(lines)


def format_output(output: Any) -> str:
    """Return what the model is to get for a result that a hook gave, in the shape of a tool's or as text."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and all(isinstance(each, dict) for each in output):
        return "\n".join(str(each.get("text", json.dumps(each, ensure_ascii=False))) for each in output)
    if isinstance(output, dict):
        if isinstance(file := output.get("file"), dict) and isinstance(file.get("content"), str):
            return str(file["content"])
        if isinstance(output.get("content"), list):
            return format_output(output["content"])
        texts = [
            output[each] for each in ("stdout", "stderr", "content", "output", "result") if each in output
        ]
        if texts and all(isinstance(each, str) for each in texts):
            return "\n".join(filter(None, texts))
    return json.dumps(output, ensure_ascii=False)
