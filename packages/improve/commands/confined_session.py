"""The session in which a command tries changes: only with a working sandbox, ended by signals, closed in any case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from cli.invocation import Invocation

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfinedSession:
    """folder: of the command; project: of Patchwright's files about the repository; tell: receives progress"""

    folder: Path
    project: Path
    runtime: Runtime
    tell: Tell


def run_in_session(
    work: Callable[[ConfinedSession], Awaitable[int]],
    folder: Path,
    flags: Mapping[str, Any],
    *,
    commit: bool,
    as_json: bool,
) -> int:
    """Run work in a new session. Returns its exit code; with JSON, every path prints one object."""
    from cli.commands.run.final_event import run_with_final_event
    from cli.invocation import Invocation
    from sandbox.process.bounded_end import run_loop

    invocation = Invocation(folder=folder, flags=flags, commit=commit, offer_commit=commit)
    output = "json" if as_json else "text"
    return run_with_final_event(output, lambda: run_loop(_run(work, invocation, as_json=as_json)))


async def _run(
    work: Callable[[ConfinedSession], Awaitable[int]], invocation: Invocation, *, as_json: bool
) -> int:
    import asyncio
    import signal

    from agent.app_dirs import Home
    from cli.commands.run.final_event import list_end_signals
    from cli.invocation import load_invocation_settings, make_runtime
    from cli.output.standard_streams import write_error
    from sandbox.errors import Fault, UserError
    from sandbox.sanitize import sanitize_text

    home = Home.from_environment()
    runtime = make_runtime(invocation, home, load_invocation_settings(invocation, home).session)
    try:
        if runtime.workspace.sandbox.name == "unconfined":
            problem = "changes are tried only in a sandbox, and none works here"
            raise UserError(Fault.CONFIGURATION, problem, "See `patchwright doctor`.")
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, runtime.interrupt)
        for number in list_end_signals():
            loop.add_signal_handler(number, runtime.stop)

        def tell(line: str) -> None:
            if not as_json:
                write_error(f"patchwright: {sanitize_text(line)}\n")

        project = home.get_project_folder(runtime.workspace.root)
        return await work(
            ConfinedSession(folder=invocation.folder, project=project, runtime=runtime, tell=tell)
        )
    finally:
        await runtime.close()
