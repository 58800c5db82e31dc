"""What calls of other agents' tools do, by their names and arguments: imported logs have no events that say it.

Names are those of Claude Code, Codex, Gemini CLI, opencode, OpenHands, SWE-agent and Terminus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packages.trace.rows.log_fields import describe_arguments, shorten_line
from sandbox.lazy_pattern import compile_lazily

_WRITES = frozenset(
    {
        *("edit", "multiedit", "write", "notebookedit", "apply_patch", "applypatch", "patch", "replace"),
        *("write_file", "edit_file", "create_file", "str_replace", "search_replace", "insert", "create"),
    }
)
_RUNS = frozenset(
    {
        *("bash", "shell", "local_shell", "local_shell_call", "exec_command", "unified_exec", "write_stdin"),
        *("run_shell_command", "execute_bash", "bash_command", "run_command", "terminal", "ipython"),
    }
)
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
"""Tools whose argument `command` says whether they read or write."""

_PATHS = ("path", "file_path", "filePath", "notebook_path", "absolute_path", "filename")
_COMMANDS = ("command", "cmd", "keystrokes", "chars", "code")
_PATCHED = compile_lazily(r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")


def complete_call(call: dict[str, Any], arguments: object, project: str = "") -> None:
    """Add effect, paths and a short description to a call. project: folder whose name is left out of paths"""
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    tool = str(call["tool"]).lower()
    command = _read_command(given)
    patch = next((text for text in (command, given.get("input"), given.get("patch")) if _is_patch(text)), "")
    paths = [given[name] for name in _PATHS if isinstance(given.get(name), str)]
    if patch:
        effect, paths = "write", _PATCHED.findall(str(patch))
    elif tool in _EDITORS:
        effect = "read" if command == "view" else "write"
    elif tool in _RUNS:
        effect = "execute"
    else:
        effect = "write" if tool in _WRITES else "read"
    call["effect"] = effect
    if paths and effect != "execute":
        call["paths"] = [_strip_project(each, project) for each in paths]
        call["about"] = shorten_line(call["paths"][0])[:80]
    elif effect == "execute" and command:
        call["about"] = shorten_line(command)[:80]
    else:
        call["about"] = describe_arguments(given)


def _is_patch(text: object) -> bool:
    return isinstance(text, str) and "*** Begin Patch" in text


def _read_command(arguments: Mapping[str, Any]) -> str:
    """Return the command of a call; of a list that starts a shell, what the shell is given."""
    found = next((arguments[name] for name in _COMMANDS if arguments.get(name)), "")
    if isinstance(found, list):
        words = [str(each) for each in found]
        is_shell = len(words) == 3 and words[1] in ("-c", "-lc") and words[0].endswith("sh")
        return words[2] if is_shell else " ".join(words)
    return found if isinstance(found, str) else ""


def _strip_project(path: str, project: str) -> str:
    return path.removeprefix(f"{project.rstrip('/')}/") if project else path
