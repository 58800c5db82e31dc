"""`patchwright attempts use`: another attempt's change in the place of the one that is in the files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home

if TYPE_CHECKING:
    from cli.commands.attempts.session_attempts import SessionAttempts
    from cli.invocation import Invocation


def take_attempt_in_session(
    found: SessionAttempts, number: int, flags: Mapping[str, Any], *, commit: bool, test: bool
) -> int:
    """Take an attempt in a turn of its session. Returns the turn's exit code. Raises UserError; ExchangeRefused

    test: run the tests at the end; without, nothing is committed
    """
    from agent.strategy.person.taken_attempt import check_taken, check_turn_has_ended
    from cli.invocation import Invocation
    from sandbox.process.bounded_end import run_loop

    check_taken(found.tree.get_node(number))  # before anything is opened
    if not found.is_open:  # else it may run, and opening it says so
        check_turn_has_ended(found.tree, found.folder.name)
    invocation = Invocation(
        folder=found.root,
        flags={**flags, "model": "offline"},  # it works on nothing: no key, no server is needed
        commit=commit,
        offer_commit=commit,
        session=found.folder.name,
    )
    return run_loop(_take(found, number, invocation, test=test))


async def _take(found: SessionAttempts, number: int, invocation: Invocation, *, test: bool) -> int:
    import asyncio
    import signal

    from agent.strategy.person.taken_attempt import prepare_taken_attempt, take_attempt
    from cli.commands.run.final_event import list_end_signals
    from cli.commands.run.turn_output import ANSWERS, subscribe_output
    from cli.invocation import load_invocation_settings, make_runtime
    from cli.output.standard_streams import write_line
    from sandbox.sanitize import sanitize_text

    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home)
    runtime = make_runtime(invocation, home, settings.session)
    try:
        work = await prepare_taken_attempt(runtime, found.tree, number, tests=test)
        subscribe_output(runtime, settings, "text")
        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, *list_end_signals()):
            loop.add_signal_handler(signal_number, runtime.stop)
        end = await take_attempt(work, found.tree)
        if end.summary and end.exit_code in ANSWERS:
            write_line(sanitize_text(end.summary).rstrip().encode("utf-8", "replace") + b"\n")
        return end.exit_code
    finally:
        await runtime.close()
