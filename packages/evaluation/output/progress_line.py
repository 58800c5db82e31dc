"""Progress of a run of trials on standard error: one line that is rewritten, or now and then a new one in a file."""

from __future__ import annotations

import sys
import time

from cli.output.amounts import format_duration, format_money
from cli.output.standard_streams import write_error
from cli.output.style.terminal import Terminal, truncate_text
from packages.evaluation.runs.run_suite import Progress

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0
"""Between two lines where there is no terminal."""


class ProgressLine:
    """Shows the progress of one run."""

    def __init__(self) -> None:
        self._terminal = Terminal.from_stream(sys.stderr)
        self._is_live = self._terminal.tty and not self._terminal.dumb
        self._shown_at = 0.0 if self._is_live else time.monotonic()
        self._is_open = False

    def show(self, progress: Progress) -> None:
        """Show how far the run is, unless that was just done."""
        now = time.monotonic()
        if now - self._shown_at < (_REDRAW_SECONDS if self._is_live else _LINE_SECONDS):
            return
        self._shown_at = now
        text = format_progress(progress)
        if self._is_live:
            self._is_open = True
            write_error(f"\r{truncate_text(text, self._terminal.columns - 1)}\x1b[K")
        else:
            write_error(f"{text}\n")

    def close(self) -> None:
        """Remove the line."""
        if self._is_open:
            write_error("\r\x1b[K")


def format_progress(progress: Progress) -> str:
    """Return the progress as one line."""
    parts = [f"{progress.earlier + progress.done}/{progress.total}", f"solved {progress.solved}"]
    if progress.running:
        parts.append(f"running {progress.running}")
    if progress.invalid:
        parts.append(f"without result {progress.invalid}")
    if progress.lost_workers:
        parts.append(f"workers lost {progress.lost_workers}")
    if progress.cost:
        parts.append(format_money(progress.cost))
    if progress.seconds_left:
        parts.append(f"{format_duration(progress.seconds_left)} left")
    return " · ".join(parts)
