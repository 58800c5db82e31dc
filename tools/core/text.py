"""Texts for the model: plurals, sizes, clipped lines, line numbers, diffs, fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.child_environment import redact

MAX_LINE = 500
"""Characters shown of one line: longer lines are generated or minified, and carry little information."""


def format_count(number: int, noun: str, many: str = "") -> str:
    """Format a count: "1 line", "2 lines", "2,310 lines", "3 more"."""
    if number == 1 or noun == "more":
        return f"{number:,} {noun}"
    return f"{number:,} {many or noun + 's'}"


def format_size(number: int) -> str:
    """Format a size in bytes: "812 bytes", "1.4 KB", "104.9 MB"."""
    if number < 1000:
        return format_count(number, "byte")
    power = min((len(str(number)) - 1) // 3, 3)
    return f"{number / 1000**power:.1f} {('', 'KB', 'MB', 'GB')[power]}"


SHOWN_COMMAND = 4_000
"""Characters that are shown of a command to the person who is to allow it; of a longer one, how much longer it is."""


def clip(line: str, limit: int = MAX_LINE) -> str:
    """Truncate a long line, with a note on the number of omitted characters."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]} [… {len(line) - limit:,} more characters]"


def number_lines(lines: Iterable[str], first: int, *, width: int = 1) -> list[str]:
    """Number lines like `cat -n`: number, tab, text."""
    return [f"{number:>{width}}\t{clip(line)}" for number, line in enumerate(lines, first)]


def format_unified_diff(path: str, before: str, after: str, old_path: str = "") -> str:
    """Return a unified diff; `--- /dev/null` for a missing or empty file. old_path: previous path if the file moved"""
    from tools.changes.file_versions import diff_sequences

    skipped, old, new = _trim_to_changes(before, after)
    changes = diff_sequences(old, new)
    if not changes:
        return ""
    names = (f"a/{old_path or path}" if before else "/dev/null", f"b/{path}" if after else "/dev/null")
    parts = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    for group in _group_changes(changes):
        first, last = group[0], group[-1]
        a, b = max(first[0] - CONTEXT, 0), min(last[1] + CONTEXT, len(old))
        c, d = max(first[2] - CONTEXT, 0), min(last[3] + CONTEXT, len(new))
        parts.append(
            f"@@ -{_format_range(skipped + a, skipped + b)} +{_format_range(skipped + c, skipped + d)} @@\n"
        )
        at = a
        for old_first, old_end, new_first, new_end in group:
            parts += [f" {line}" for line in old[at:old_first]]
            parts += [f"-{line}" for line in old[old_first:old_end]]
            parts += [f"+{line}" for line in new[new_first:new_end]]
            at = old_end
        parts += [f" {line}" for line in old[at:b]]
    return "".join(_terminate_lines(parts))


def count_changed_lines(before: str, after: str) -> tuple[int, int]:
    """Return the numbers of lines that a unified diff of the two would add and remove."""
    from tools.changes.file_versions import diff_sequences

    _, old, new = _trim_to_changes(before, after)
    changes = diff_sequences(old, new)
    return sum(d - c for _, _, c, d in changes), sum(b - a for a, b, _, _ in changes)


def _trim_to_changes(before: str, after: str) -> tuple[int, list[str], list[str]]:
    """Return (number of skipped leading lines, old lines, new lines), without equal lines beyond the context.

    Comparing whole strings is far cheaper than splitting them.
    """
    start = _measure_common_prefix(before, after)
    for _ in range(CONTEXT + 1):
        start = before.rfind("\n", 0, max(start, 0))
    start += 1
    end = _measure_common_suffix(before, after, start)
    for _ in range(CONTEXT + 1):
        found = before.find("\n", len(before) - end)
        end = len(before) - found - 1 if found >= 0 else 0
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    return before.count("\n", 0, start), split_lines(old), split_lines(new)


def _measure_common_prefix(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _measure_common_suffix(one: str, other: str, start: int) -> int:
    low, high = 0, min(len(one), len(other)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


CONTEXT = 3
"""Unchanged lines around a change in a diff, as in git."""


def _group_changes(changes: Sequence[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Group changes whose contexts touch into one hunk."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _format_range(first: int, end: int) -> str:
    """Format a line range for a hunk header: an empty range is named by the line before it."""
    count = end - first
    if count == 1:
        return str(first + 1)
    return f"{first + 1 if count else first},{count}"


def count_diff_lines(diff: str) -> tuple[int, int]:
    """Return the numbers of lines that a unified diff adds and removes."""
    body = diff.split("\n")[2:]  # the first two name the files
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


_ESCAPES = compile_lazily(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LONG_ESCAPE = compile_lazily(r"\x1b(?:\[[0-?]{65}|\[[0-?]*[ -/]{9}|\][^\x07\x1b]{2001})")
"""Codes longer than those through which a secret is seen before they are stripped."""


def redact_output(output: str) -> str:
    """Return terminal output as `strip_terminal_codes` does, with its secrets redacted, also if it has no codes."""
    return strip_terminal_codes(output if "\x1b" in output else redact(output))


def strip_terminal_codes(output: str) -> str:
    """Return terminal output without colour codes, and progress lines only in their last state.

    Secrets are redacted first: codes around a key are the border that shows where it begins.
    """
    text = output
    if "\x1b" in output:
        is_hidden = _LONG_ESCAPE.search(output) is not None
        text = _ESCAPES.sub("", redact(output))
        text = redact(text) if is_hidden else text
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line[line.rfind("\r", 0, len(line) - 1) + 1 :] if line else line for line in lines)


def join_names(names: Sequence[str], limit: int) -> str:
    """Join names: "a, b, c and 4 more"."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def split_lines(text: str) -> list[str]:
    """Split at newlines only, consistent with line numbers (str.splitlines also splits at form feeds and others)."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _terminate_lines(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
