"""End of every run of the program: a user's mistake becomes one clear line and its own exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

INTERRUPTED = 130
"""`Exit.INTERRUPTED`, which is not imported where nothing is interrupted."""


def run_guarded(run: Callable[[], object]) -> None:
    """Run and exit: a user's mistake has its own exit code, an internal error another, a closed pipe is silent."""
    from cli.output.standard_streams import open_missing_streams, silence_stream
    from sandbox.policy.trust import use_trust_store

    open_missing_streams()
    use_trust_store(_find_config_folder)
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `| head` has read enough
        silence_stream(sys.stdout)
    except KeyboardInterrupt:  # between the loops of a command, where none of them hears it
        _ignore_interrupts()
        _exit_past_leftovers(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        _ignore_interrupts()
        if not isinstance(end.__context__, BrokenPipeError):
            _exit_past_leftovers(end.code)
            raise
        silence_stream(sys.stdout)  # typer's conversion of a BrokenPipeError
    except Exception as error:
        _ignore_interrupts()
        if isinstance(error, OSError):
            silence_stream(sys.stdout)  # its buffer would fail once more at exit
        from cli.output.error_output import report_error

        code = report_error(error)
        _exit_past_leftovers(code)
        sys.exit(code)


def _ignore_interrupts() -> None:
    """Let no Ctrl-C replace the exit code, which is decided."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _exit_past_leftovers(code: object) -> None:
    """End at once if a loop left threads at work; only commands with a loop have loaded what knows."""
    if "sandbox.process.bounded_end" in sys.modules:
        from sandbox.process.bounded_end import exit_past_leftovers

        exit_past_leftovers(code)


def _find_config_folder() -> Path:
    from agent.app_dirs import Home

    return Home.from_environment().config
