"""The state ledger: a short summary of the work so far, computed from the log, at the end of each request.

RefactorBench (arXiv 2503.07832) finds that agents lose track of their changes; a ledger outside of compaction
avoids that. It is small, and empty when there is nothing to report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.context.ledger.session_facts import Facts, sanitize_first_line

MAX_TOKENS = 600
MAX_BYTES = MAX_TOKENS * 3


SHOWN = 5
"""Files, tests and items of each kind that are named; the ledger is sent, and paid for, with every request."""


def render_ledger(
    facts: Facts,
    *,
    shortened: bool,
    whole_from: int | None = None,
    processes: Iterable[str] = (),
    left: str = "",
) -> str:
    """Return the ledger's text, "" if there is nothing to report.

    whole_from: position of the event from which the history is sent verbatim; its facts are not repeated
    (None: all facts are included)
    shortened: some user messages are truncated, so the constraints are repeated here
    processes: running background processes; left: remaining limits
    """

    def is_before_whole_part(event: str) -> bool:
        return whole_from is None or _parse_event_number(event) < whole_from

    lines = [
        *_format_plan(facts),
        *_format_list(
            "changed",
            (
                _format_file(path, facts)
                for path in reversed(facts.list_changed_files())
                if is_before_whole_part(facts.files[path].last_change)
            ),
        ),
        *_format_list(
            "stale, read again",
            (sanitize_first_line(p, 80) for p, each in facts.files.items() if each.is_stale),
        ),
        *(_format_tests(facts) if is_before_whole_part(facts.tests_at) else []),
        *_format_list("running", (sanitize_first_line(each, 80) for each in processes)),
        *([f"left: {left}"] if left else []),
    ]
    lines += _format_quotes("noted", facts.notes)
    if shortened:
        lines += _format_quotes("the user said", facts.constraints)
    return _limit_lines(["[state of the work, computed from the log]", *lines]) if lines else ""


def _format_plan(facts: Facts) -> list[str]:
    if not facts.plan:
        return []
    left = facts.list_open_items()
    shown = "; ".join(sanitize_first_line(item, 80) for item in left[:SHOWN])
    more = f" (and {len(left) - SHOWN} more)" if len(left) > SHOWN else ""
    return [
        f"plan: {len(facts.plan) - len(left)} of {len(facts.plan)} done"
        + (f"; open: {shown}{more}" if left else "")
    ]


def _format_tests(facts: Facts) -> list[str]:
    if not facts.tests:
        return []
    later = [
        path
        for path in facts.list_changed_files()
        if _parse_event_number(facts.files[path].last_change) > _parse_event_number(facts.tests_at)
    ]
    old = "; files changed since" if later else ""
    failing = f"; failing: {', '.join(facts.failing[:SHOWN])}" if facts.failing else ""
    return [f"tests ({facts.tests_at}): {facts.tests}{failing}{old}"]


def _format_file(path: str, facts: Facts) -> str:
    return f"{sanitize_first_line(path, 80)} ({facts.files[path].last_change})"


def _format_list(name: str, items: Iterable[str]) -> list[str]:
    found = list(items)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [f"{name}: {', '.join(found[:SHOWN])}{more}"] if found else []


def _format_quotes(name: str, texts: Mapping[str, str]) -> list[str]:
    return [
        f'{name} ({event}): "{sanitize_first_line(text, 200)}"' for text, event in list(texts.items())[:12]
    ]


def _limit_lines(lines: list[str]) -> str:
    """Keep the leading whole lines that fit; the first ones matter most."""
    kept: list[str] = []
    room = MAX_BYTES
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            kept.append("… (recall(find=…) has the rest)")
            break
        kept.append(line)
    return "\n".join(kept)


def _parse_event_number(event_id: str) -> int:
    return int(event_id[1:] or 0) if event_id.startswith("e") else 0
