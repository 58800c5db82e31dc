"""Actions of a migration: set a file's content, run the check, run a script over contents.

They go through the gateway like all others: judged by the policy, logged, covered by undo.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from sandbox.parsed_data import parse_json
from sandbox.process.command import Command, Completed
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.workspace import Workspace
from tools.edit.apply.change_writer import write_planned_files
from tools.edit.apply.edit_plan import PlannedFile
from tools.shell.command_output import shape_output
from tools.shell.environment import shell_environment

PLACE = "{file}"
"""In the check, stands for the path of the step's file."""

MOST_OUTPUT = 2_000
"""Characters of a check's output that are kept as the reason of a failed step."""

SCRIPT_SECONDS = 60.0
"""For one run of a script over some files: it changes text."""

MOST_SCRIPT_OUTPUT = 32 << 20
"""Bytes of the new texts of a script; what it prints beyond is no answer."""

_RUNNER = """
import json, sys
given = json.load(sys.stdin)
space = {"__name__": "transformation"}
exec(compile(given["script"], "transformation.py", "exec"), space)
print(json.dumps({path: space["transform"](text, path) for path, text in given["files"].items()}))
"""


MOST_COMMAND = 100_000
"""Characters of a command line: a kernel takes 128 KB."""


def set_whole_check(at: Workspace, check: str, paths: Sequence[str]) -> None:
    """Let the check of each changed file be the tests of the whole, where the project has none."""
    from tools.testing.project_files import Project
    from tools.testing.runners import find_fitting_runners

    names = " ".join(shlex.quote(path) for path in paths)
    if PLACE not in check or not paths or len(names) > MOST_COMMAND or at.settings.tests.command:
        return
    if find_fitting_runners(Project(at), []):
        return
    body = check.replace(PLACE, '"$file"')
    command = f"for file in {names}; do ( {body} ) || exit 1; done"
    at.settings = replace(at.settings, tests=replace(at.settings.tests, command=command))


def create_step_actions(read_content: Callable[[str], bytes]) -> list[Tool]:
    """Return the actions. read_content: returns a content by its name in the ledger"""

    @tool(effect="write")
    async def set_file(path: str, content: str, before: str = "", *, at: Workspace) -> Observation:
        """Give a file the content of a decided step, or its content before.

        content: name in the ledger; before: of the content that it replaces
        """
        original = read_content(before) if before else None
        await asyncio.to_thread(_set_file, at, path, read_content(content), original)
        return Observation(text=f"{path} has content {content[:8]}", data={"changed": [path]})

    @tool(effect="execute")
    async def check_step(path: str, command: str, *, at: Workspace) -> Observation:
        """Run the user's check after a step.

        command: may contain {file}
        """
        line = command.replace(PLACE, shlex.quote(path))
        completed = await at.sandbox.run(
            Command(
                argv=("bash", "-c", line),
                cwd=at.root,
                env=shell_environment(),
                timeout=at.settings.shell_timeout,
            )
        )
        output = await asyncio.to_thread(shape_output, at, completed.stdout, budget=MOST_OUTPUT)
        passed = completed.ended == "exited" and completed.returncode == 0
        text = f"{_describe_end(completed)}\n{output.text}".strip()
        return Observation(text=text, ref=output.ref, data={"passed": passed}, failed=not passed)

    return [set_file, check_step]


async def run_script(at: Workspace, script: str, texts: dict[str, str]) -> dict[str, str] | str:
    """Run a model's script over texts, by path, where it can write nothing; return the new texts, or what failed."""
    if at.sandbox.name == "unconfined":
        return "commands are not confined here"
    completed = await at.sandbox.run(
        Command(
            argv=("python3", "-I", "-c", _RUNNER),
            cwd=at.root,
            stdin=json.dumps({"script": script, "files": texts}).encode(),
            timeout=SCRIPT_SECONDS,
            stderr="separate",
            scope="read-only",
            whole=MOST_SCRIPT_OUTPUT,
        )
    )
    if completed.ended != "exited" or completed.returncode != 0:
        return completed.stderr.text().strip().rpartition("\n")[2] or _describe_end(completed)
    whole = completed.stdout
    try:
        found = parse_json(whole.head + whole.tail)
    except ValueError:
        return "it prints"
    if not isinstance(found, dict) or not all(isinstance(found.get(path), str) for path in texts):
        return "transform does not return a text"
    return {path: found[path] for path in texts}


def _set_file(at: Workspace, path: str, content: bytes, original: bytes | None) -> None:
    """Write a file. original: where it has the content already, by an action that a kill cut off: what it had before"""
    transactions = at.transactions
    with transactions.lock_tree():
        try:
            before = at.files.read(path)
            if before == content and original is not None:
                at.changes.foreign_edits.pop(path, None)  # the kill came before the snapshot after the action
                at.changes.remember_content(at.root, path, original)
        except (OSError, ValueError) as error:
            raise ToolFailure(f"set_file: {path}: no change: {error}") from None
        planned = PlannedFile(
            path=path,
            before=before,
            after=content,
            old_text=before.decode("utf-8", "replace"),
            new_text=content.decode("utf-8", "replace"),
        )
        if planned.has_changes:
            write_planned_files(at, transactions, "set_file", [planned])


def _describe_end(completed: Completed) -> str:
    if completed.ended == "timeout":
        return f"killed after {completed.duration:.0f} s"
    return f"exit {completed.returncode}"
