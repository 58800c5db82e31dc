"""One-shot runs: a prompt in, an answer out, and an exit code for the outcome."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.events import End, ErrorEvent, Event, collect_fields, encode_line, render_event
from agent.exit_codes import Exit
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from cli.invocation import NO_MODEL, Invocation, load_invocation_settings, make_runtime
from cli.output.error_output import classify_error, report_error
from cli.output.notices import Notices
from cli.output.standard_streams import OutputFailure, write_error, write_line
from sandbox.errors import Fault, UserError
from sandbox.fs.installation import build_exposure_warning
from sandbox.sanitize import sanitize_json, sanitize_text
from sandbox.secrets.child_environment import redact
from tools.core.untrusted_output import enclose_in_tag

STDIN_PATIENCE = 0.3
"""Seconds, counted from the start, that a prompt given as an argument waits for piped input to begin. A pipe that
stays silent (a CI job, a harness that never closes it) must not hang the run."""


def run_one_shot(
    folder: Path,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    session: str = "",
    schema: Path | None = None,
    attempts: int = 1,
    apply_doubtful: bool = False,
) -> int:
    """Run one prompt to its end. Returns the exit code; every path emits a final event."""
    invocation = Invocation(
        folder=folder,
        flags=flags,
        commit=commit,
        offer_commit=commit,
        session=session,
        schema=schema,
        attempts=attempts,
        apply_doubtful=apply_doubtful,
    )
    return run_with_final_event(output, lambda: _run_prompt(invocation, _read_prompt(prompt), output))


def run_driven(
    folder: Path, flags: Mapping[str, Any], *, output: str, commit: bool, session: str = ""
) -> int:
    """Run a session driven by lines on standard input. Returns the exit code of the last turn."""
    if output != "stream-json":
        raise UserError(Fault.USAGE, "--input stream-json goes with --output stream-json", "Give both.")
    invocation = Invocation(
        folder=folder, flags=flags, commit=commit, offer_commit=commit, session=session, attended=True
    )
    return run_with_final_event(output, lambda: asyncio.run(_drive_session(invocation)))


async def _drive_session(invocation: Invocation) -> int:
    from cli.protocols.stdio_driver import StdioDriver

    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home)
    runtime = make_runtime(invocation, home, settings.session)
    try:
        _subscribe_output(runtime, settings.session, "stream-json")
        driver = StdioDriver(runtime)
        runtime.loop.gateway.approver = driver
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, runtime.interrupt)
        for number in _list_end_signals():
            loop.add_signal_handler(number, driver.end_session)
        return await driver.run()
    finally:
        await runtime.close()


def continue_turn(folder: Path, flags: Mapping[str, Any], *, output: str, commit: bool, session: str) -> int:
    """Continue the interrupted turn of a session. Returns the exit code."""
    invocation = Invocation(folder=folder, flags=flags, commit=commit, offer_commit=commit, session=session)
    return run_with_final_event(output, lambda: _run_prompt(invocation, None, output))


def run_with_final_event(output: str, run: Callable[[], int]) -> int:
    """Call `run`; errors outside a turn are reported like those inside, with a final event."""
    for number in _list_end_signals():  # until a turn installs its own handlers
        signal.signal(number, _raise_interrupt)
    try:
        code = run()
    except (Exception, KeyboardInterrupt) as error:
        code = _report_early_end(output, error)
    if OutputFailure.error is None:
        return code
    reason = OutputFailure.error.strerror or str(OutputFailure.error)
    write_error(f"patchwright: the answer could not be written to standard output: {reason}\n")
    return int(Exit.STORAGE_FULL)


def _list_end_signals() -> Sequence[signal.Signals]:
    """Return the signals that end a run; not SIGHUP if `nohup` made it ignored."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGTERM,) if ignored else (signal.SIGTERM, signal.SIGHUP)


def _raise_interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _report_early_end(output: str, error: BaseException) -> int:
    code, told = classify_error(error)
    if output == "text" or code is Exit.INTERNAL:
        report_error(error)
    if output == "text":
        return int(code)
    message = redact(told.message if told else "interrupted" if code is Exit.INTERRUPTED else repr(error))
    events: list[Event] = [End(outcome=code.label, exit_code=int(code), summary=message)]
    if output == "stream-json" and code is not Exit.INTERRUPTED:
        fault, hint = (str(told.fault), told.hint) if told else ("internal", "")
        events.insert(0, ErrorEvent(fault=fault, message=message, hint=hint))
    for event in events:
        event.time = round(time.time(), 3)
        write_line(render_event(event))
    return int(code)


def _run_prompt(invocation: Invocation, prompt: str | None, output: str) -> int:
    return asyncio.run(_run_turn(invocation, prompt, output))


async def _run_turn(invocation: Invocation, prompt: str | None, output: str) -> int:
    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home)
    structure = None
    if invocation.schema is not None:
        from cli.output.output_schema import AnswerSchema

        structure = AnswerSchema.from_file(invocation.schema)
    if invocation.attempts > 1:
        from cli.commands.run.attempts import make_attempts_runtime

        runtime = make_attempts_runtime(invocation, home, settings.session, prompt or "")
    else:
        runtime = make_runtime(invocation, home, settings.session)
    try:
        notices = Notices(runtime)
        _subscribe_output(runtime, settings.session, output)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, _handle_interrupt, runtime)
        for number in _list_end_signals():
            loop.add_signal_handler(number, runtime.stop)
        if structure is not None and prompt is not None:
            prompt = structure.extend_prompt(prompt)
        end = await runtime.run_turn(prompt)
        more: dict[str, Any] = {"notices": notices.found}
        if structure is not None:
            from cli.output.output_schema import obtain_valid_answer

            end, more["structured"] = await obtain_valid_answer(structure, runtime, end)
        if output == "json":
            write_line(_build_json_result(end, runtime, more))
        elif output == "text" and more.get("structured") is not None:
            write_line(sanitize_json(json.dumps(more["structured"], ensure_ascii=False)).encode() + b"\n")
        elif output == "text" and end.summary and end.exit_code in _ANSWERS:
            write_line(sanitize_text(end.summary).rstrip().encode("utf-8", "replace") + b"\n")
        return end.exit_code
    finally:
        await runtime.close()


_ANSWERS = {Exit.DONE, Exit.TESTS_FAIL, Exit.NOTHING_TO_DO, Exit.NO_TEST_RUNNER, Exit.NOT_ACHIEVED}
"""Outcomes whose summary is the model's answer (the others are reported on standard error)."""


def _handle_interrupt(runtime: Runtime) -> None:
    if runtime.loop.is_stepping:
        write_error("patchwright: stopping this step; Ctrl-C again ends the turn\n")
    runtime.interrupt()


def _subscribe_output(runtime: Runtime, settings: SessionSettings, output: str) -> None:
    if output == "stream-json":
        for event in runtime.session.replayed:
            write_line(render_event(event))
        runtime.session.subscribe(lambda event: write_line(render_event(event)))
        return
    if output == "json":
        return
    from cli.output.event_lines import LineView
    from cli.output.style.terminal import Terminal

    terminal = Terminal.from_stream(sys.stderr)
    view = LineView(write_error, colour=terminal.colour, width=terminal.columns, unicode=terminal.unicode)
    for warning in filter(
        None, (runtime.workspace.sandbox.warning, build_exposure_warning(runtime.workspace.root))
    ):
        write_error(f"patchwright: {warning}\n")
    if not settings.model and runtime.model.name == "offline":
        write_error(f"patchwright: {NO_MODEL}\n")
    runtime.session.subscribe(view.show_event)


def _build_json_result(end: End, runtime: Runtime, more: Mapping[str, Any]) -> bytes:
    head = {"session": runtime.session.id, "model": runtime.model.name}
    return encode_line({**head, **collect_fields(end), **more})


def _read_prompt(given: str | None) -> str:
    """Return the prompt: the argument, standard input, or both (piped text follows the argument)."""
    if given is None or given == "-":
        if sys.stdin.isatty():
            raise UserError(
                Fault.USAGE, "no prompt", 'Give one: patchwright run "make the failing tests pass"'
            )
        text = _read_stdin()
        if not text.strip():
            raise UserError(
                Fault.USAGE, "the prompt is empty", 'Give one: patchwright run "make the failing tests pass"'
            )
        return text
    if not given.strip():
        raise UserError(Fault.USAGE, "the prompt is empty", 'Give one: patchwright run "…"')
    piped = _read_stdin() if _has_piped_input() else ""
    return f"{given}\n\n{enclose_in_tag('stdin', piped)}" if piped.strip() else given


def _read_stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _has_piped_input() -> bool:
    try:
        kind = os.fstat(0).st_mode
    except OSError:  # closed
        return False
    if stat.S_ISREG(kind):
        return True
    if not stat.S_ISFIFO(kind):
        return False
    left = max(0.0, STDIN_PATIENCE - time.process_time())
    return bool(select.select([0], [], [], left)[0])
