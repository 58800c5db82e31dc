"""Files that a later snapshot has because they became visible, not because they were created."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sandbox.snapshots.coverage.ignore_rules import RULES, IgnoreRules
from sandbox.snapshots.path_state import GIT_FILE, GIT_NESTED, Change, State
from sandbox.snapshots.snapshot_view import View, compare_views


def compute_changes(before: View, after: View) -> list[Change]:
    """Return every path that changed between two snapshots, sorted, as far as the present rules leave it visible.

    A file that the older rules ignored may have existed all the time: it does not count as changed, so that
    no commit includes it.
    """
    changes = _drop_hidden(before, after, compare_views(before, after))
    hidden = _find_hidden_before(before, changes, before.extra.hidden)
    return [change for change in changes if change.path not in hidden] if hidden else changes


def compute_covered_changes(before: View, after: View) -> list[Change]:
    """Return every path whose change can be undone, sorted: also of what later rules came to ignore, of pipes,
    sockets and devices. A file that the older rules ignored, and no earlier ones, is left out, as above."""
    changes = compare_views(before, after)
    hidden = _find_hidden_before(before, changes, ()) - before.extra.hidden
    return [change for change in changes if change.path not in hidden] if hidden else changes


def find_newly_visible(before: View, after: View) -> set[str]:
    """Return the newly visible files: their changes until the second snapshot are unknown."""
    changes = _drop_hidden(before, after, compare_views(before, after))
    return _find_hidden_before(before, changes, before.extra.hidden)


def _drop_hidden(before: View, after: View, changes: Sequence[Change]) -> list[Change]:
    """Leave out the states that only undo knows."""
    hidden = (before.extra.hidden, after.extra.hidden)
    if not any((*hidden, before.extra.special, after.extra.special)):
        return list(changes)
    # A file that did not change between them, but came to be hidden or visible, is no difference of the two.
    unchanged = (hidden[0] ^ hidden[1]) - {change.path for change in changes}
    found = list(changes)
    for path in sorted(unchanged):
        states = (view.build_state(path, view.find_entry(path)) for view in (before, after))
        found.append(Change.from_states(path, *states))
    shown = []
    for change in sorted(found, key=lambda each: each.path):
        old = _show(change.before, change.path, hidden[0])
        new = _show(change.after, change.path, hidden[1])
        if old != new:
            shown.append(Change.from_states(change.path, old, new))
    return shown


def _show(state: State | None, path: str, hidden: Collection[str]) -> State | None:
    return None if state is None or path in hidden or state.is_special else state


def _find_hidden_before(before: View, changes: Sequence[Change], hidden: Collection[str]) -> set[str]:
    added = {change.path for change in changes if change.kind == "added"}
    return _find_ignored_before(before, changes) | _find_nested_before(changes) | added.intersection(hidden)


def _find_ignored_before(before: View, changes: Sequence[Change]) -> set[str]:
    added = [change.path for change in changes if change.kind == "added"]
    if not added or not any(_is_ignore_file(change.path) for change in changes):
        return set()
    rules = {}
    for path in filter(_is_ignore_file, before.list_files()):
        entry = before.find_entry(path)
        if entry is not None and entry[0] == GIT_FILE:
            rules[path] = before.store.read(entry[1])
    return IgnoreRules(None, before.store.folder).find_ignored(added, rules)


def _find_nested_before(changes: Sequence[Change]) -> set[str]:
    """Return files of a former nested repository: its contents were not recorded."""
    folders = tuple(
        f"{change.path}/" for change in changes if change.before and change.before.mode == GIT_NESTED
    )
    return {change.path for change in changes if change.kind == "added" and change.path.startswith(folders)}


def _is_ignore_file(path: str) -> bool:
    return path.rpartition("/")[2] == RULES
