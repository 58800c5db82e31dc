"""The end of a run that fails outside a turn: a message, a final event and an exit code."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence

from agent.events import End, ErrorEvent, Event, render_event
from agent.exit_codes import Exit
from cli.output.standard_streams import OutputFailure, write_error, write_line
from sandbox.secrets.child_environment import redact


def run_with_final_event(output: str, run: Callable[[], int]) -> int:
    """Call `run`; errors outside a turn are reported like those inside, with a final event."""
    for number in list_end_signals():  # until a turn installs its own handlers
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


def list_end_signals() -> Sequence[signal.Signals]:
    """Return the signals that end a run; not SIGHUP if `nohup` made it ignored."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGTERM,) if ignored else (signal.SIGTERM, signal.SIGHUP)


def _raise_interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _report_early_end(output: str, error: BaseException) -> int:
    from cli.output.error_output import classify_error, report_error

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
