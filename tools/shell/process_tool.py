"""`process`: background commands such as servers, watchers and interactive programs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.shell.background_commands import MOST, BackgroundCommand
from tools.shell.command_output import shape_output

if TYPE_CHECKING:
    from pathlib import Path

    from sandbox.backends.audit import Audit

BUDGET = 8_000
"""Characters of output shown at once, about 2k tokens: background output is read more than once."""

WAIT = 2.0
"""Default seconds to wait for the first output."""

MOST_WAIT = 300.0
PORT_SECONDS = 60.0
"""Seconds for a server to listen: a large application starts in half a minute."""


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    """Judge input like a command, together with earlier input: the receiving program may be a shell."""
    line = ""
    if arguments["action"] == "start":
        line = str(arguments.get("command") or "")
    elif arguments["action"] == "send":
        text = str(arguments.get("input") or "")
        found = at.background.get(str(arguments.get("id")))
        line = found.sent.build_line(text) if found else text.replace("\r", "\n")
    return Effect(kind="execute", argv=("bash", "-c", line)) if line.strip() else Effect(kind="none")


@tool(effect=_effect)
async def process(
    action: Literal["start", "output", "send", "stop"],
    id: str = "",
    command: str = "",
    input: str = "",
    port: int = 0,
    tty: bool = False,
    wait: float = WAIT,
    *,
    at: Workspace,
) -> Observation:
    """Keep a command running (server, REPL); `shell` reaches its ports. `output` without id lists all."""
    if not 0 <= wait <= MOST_WAIT:
        raise ToolFailure(f"process: wait must be 0 to {MOST_WAIT:g} seconds (got {wait!r})")
    if action == "output" and not id:
        return _list_processes(at)
    audit = await asyncio.to_thread(_start_audit, at, at.artifacts.folder.parent / "refused")
    noticed: tuple[str, ...] = ()
    missed = _list_unwatched_changes(at)
    try:
        if action == "start":
            observation = await _start_process(at, command, port, tty, wait)
        else:
            observation = await _act_on_process(at, action, id, input, wait)
    finally:  # files created in forbidden places are moved away, also on an interrupt
        noticed = audit.finish()
    # Not after a failed call, whose observation lacks the report: then it comes with the next one.
    at.background.watched = (
        await asyncio.to_thread(_start_audit, at, None) if at.background.running_commands else None
    )
    return replace(observation, text="\n".join((observation.text, *missed, *noticed)))


def _list_unwatched_changes(at: Workspace) -> list[str]:
    """List changes of guarded paths between calls, while processes ran.

    They may be the user's own work: so they are reported, and left in place.
    """
    found = at.background.watched.finish() if at.background.watched else ()
    return [
        f"{each} since the last call, by a process or by the user: it acts on other programs"
        for each in found
    ]


def _start_audit(at: Workspace, aside: Path | None) -> Audit:
    """Start an audit of guarded paths, as for every other command. aside: folder for files created there"""
    from sandbox.backends.audit import audit_workspace

    return audit_workspace(at.root, aside)


async def _act_on_process(at: Workspace, action: str, id: str, input: str, wait: float) -> Observation:
    found = at.background.get(id)
    if found is None:
        raise ToolFailure(f"process: there is no process {id!r}\n{_list_processes(at).text}")
    if action == "send":
        if not found.alive or not await found.send(input):
            return await _build_observation(at, found, 0, f"{id} did not take all of the input: ")
        return await _build_observation(at, found, wait)
    if action == "stop":
        await found.stop("stopped")
        return await _build_observation(at, found, 0)
    return await _build_observation(at, found, wait)


async def _start_process(at: Workspace, command: str, port: int, tty: bool, wait: float) -> Observation:
    if not command.strip():
        raise ToolFailure("process: the command is empty")
    if not 0 <= port <= 65535:
        raise ToolFailure(f"process: there is no port {port}")
    if len(at.background.running_commands) >= MOST:
        raise ToolFailure(f"process: {MOST} run already: stop one first\n{_list_processes(at).text}")
    if port and at.sandbox.name == "landlock":
        raise ToolFailure(
            "process: commands cannot open sockets in this sandbox (Landlock), so no server can run"
        )
    made = at.background.start(at, command, terminal=tty)
    if port and not await made.wait_for_port(port, max(wait, PORT_SECONDS)) and made.alive:
        return await _build_observation(at, made, 0, f"nothing listens on port {port} yet; ")
    return await _build_observation(at, made, 0 if port else wait)


async def _build_observation(
    at: Workspace, found: BackgroundCommand, wait: float, before: str = ""
) -> Observation:
    news = await found.read_new_output(wait)
    output = await asyncio.to_thread(shape_output, at, news, budget=BUDGET)
    head = f"{before}{found.name} ({found.state})"
    return Observation(
        text=f"{head}\n{output.text or '(no new output)'}",
        data={"process": found.name, "state": found.state, "alive": found.alive},
        ref=output.ref,
        failed=bool(before) or (found.has_failed and not found.why),
    )


def _list_processes(at: Workspace) -> Observation:
    lines = [f"{each.name} ({each.state}): {each.line[:200]}" for each in at.background]
    return Observation(text="\n".join(lines) or "no process was started")
