"""How every run of the program ends, whatever it did: a user's mistake in one clear line and its own exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable


def run_guarded(run: Callable[[], object]) -> None:
    """Run it. A user's mistake ends in its own exit code, a fault of ours in another, a closed pipe in silence."""
    from cli.output.error_output import report_error
    from cli.output.standard_streams import open_missing_streams, silence_stream

    open_missing_streams()
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        silence_stream(sys.stdout)
    except SystemExit as end:
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        silence_stream(sys.stdout)  # typer's own way of saying the same
    except Exception as error:
        if isinstance(error, OSError):
            silence_stream(sys.stdout)  # what it still holds would fail once more on the way out
        sys.exit(report_error(error))
