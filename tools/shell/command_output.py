"""Output of a command for the model: plain text, head and tail, and a reference to the full output."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Capture
from tools.core.artifacts import OUTPUT_BUDGET, BudgetSpent
from tools.core.surroundings import Surroundings
from tools.core.text import clip, format_size, redact_output, strip_terminal_codes
from tools.core.untrusted_output import escape_lookalikes, format_note

HEAD_SHARE = 0.35
"""Share of the head: errors are usually reported near the end, the context at the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapedOutput:
    """Bounded text with unforgeable notes, and the artifact with the full output ("" if the text is complete)."""

    text: str
    ref: str = ""


def shape_output(at: Surroundings, capture: Capture, *, budget: int, keep: bool = False) -> ShapedOutput:
    """Truncate an output to `budget` characters. `keep`: store it even if it fits, for later questions."""
    if capture.omitted_bytes:
        head, tail = (redact_output(each.decode("utf-8", "replace")) for each in (capture.head, capture.tail))
    else:
        head = tail = redact_output(capture.text()).rstrip("\n")
    fits = not capture.omitted_bytes and len(head) <= budget
    ref, note = _store_output(at, capture) if (not fits or keep) and capture.total else ("", "")
    if fits:
        return ShapedOutput(text=_clip_lines(head), ref=ref)
    first = _trim_partial_line(head[: int(budget * HEAD_SHARE)], from_start=True)
    last = _trim_partial_line(tail.rstrip("\n")[-int(budget * (1 - HEAD_SHARE)) :], from_start=False)
    missing = capture.total - len(first.encode()) - len(last.encode())
    next_line = first.count("\n") + 1
    how = f'recall(ref="{ref}", start={next_line}) shows it' if ref else "not kept"
    how = f"{how}; {note}" if note else how
    cut = format_note(f"{format_size(max(missing, 0))} cut: {how}")
    return ShapedOutput(text=f"{_clip_lines(first)}{cut}\n{_clip_lines(last)}", ref=ref)


def make_progress_callback(
    at: Surroundings, hide: Callable[[str], bool] = lambda line: False
) -> Callable[[bytes], None]:
    """Return a callback that shows the user the last line of a command's latest output.

    hide: whether a line is of no interest to the user
    """

    def on_output(chunk: bytes) -> None:
        lines = strip_terminal_codes(chunk[-2_000:].decode("utf-8", "replace")).split("\n")
        line = next((line for line in reversed(lines) if line.strip() and not hide(line)), "")
        if line:
            at.progress(line[:200])

    return on_output


def _store_output(at: Surroundings, capture: Capture) -> tuple[str, str]:
    """Return the reference of the kept output, "" if it is not, and a clause on what is missing of it."""
    try:
        if capture.spill is not None:
            return at.artifacts.adopt(capture.spill), capture.note
        return "" if capture.omitted_bytes else at.artifacts.save(capture.head + capture.tail), capture.note
    except BudgetSpent:
        return "", f"the session's outputs fill their {OUTPUT_BUDGET >> 20} MiB"
    except OSError:  # disk full: the result matters more than the copy of its output
        return "", capture.note


def _trim_partial_line(text: str, *, from_start: bool) -> str:
    """Drop the line that was cut, unless it is the only one."""
    if from_start:
        whole, newline, _ = text.rpartition("\n")
        return whole + newline if newline else f"{text}\n"
    _, _, whole = text.partition("\n")
    return whole or text


def _clip_lines(text: str) -> str:
    return escape_lookalikes("\n".join(clip(line) for line in text.split("\n")))
