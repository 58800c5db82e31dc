"""Order of sessions as a tree: children below the session that started them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from agent.session.session_index import SessionSummary


def arrange_tree(sessions: Sequence[SessionSummary]) -> list[tuple[int, SessionSummary]]:
    """Return sessions with their depth: in the given order, each followed by its children, the oldest first.

    A child whose parent is not among them (removed, or of another project) stands by itself.
    """
    known = {each.id for each in sessions}
    below: dict[str, list[SessionSummary]] = defaultdict(list)
    for each in sorted(sessions, key=lambda summary: (summary.created, summary.id)):
        if each.parent in known:
            below[each.parent].append(each)
    roots = [each for each in sessions if each.parent not in known]
    found: list[tuple[int, SessionSummary]] = []
    placed: set[str] = set()
    for root in (*roots, *sessions):  # logs edited by hand may form a circle, which has no root
        waiting = [(0, root)]
        while waiting:
            depth, session = waiting.pop()
            if session.id in placed:
                continue
            placed.add(session.id)
            found.append((depth, session))
            waiting += [(depth + 1, child) for child in reversed(below[session.id])]
    return found
