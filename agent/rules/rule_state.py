"""State of a session's rules: monitors of orders, frozen files, and the size of the turn's diff.

Sessions that work on one task form a family: an event of one is an event for all, except that only its own events can
lift a restriction, since a child's tests say nothing of its parent's files.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any
from weakref import WeakSet

from agent.rules.event_pattern import Happening, matches_any_path
from agent.rules.order_rules import OrderMonitor, ParsedOrder, parse_orders
from agent.rules.rule_kinds import DiffRule, select_known
from agent.session_settings import NamedRule
from sandbox.lazy_dataclass import dataclass
from tools.core.content_guard import FileContents


@dataclass(slots=True)
class DiffLedger:
    """Changes of a turn: content at its start, and the size of each file's diff."""

    base: dict[str, bytes | None] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def begin_turn(self) -> None:
        """Forget the changes of the last turn."""
        self.base.clear()
        self.lines.clear()

    def measure(self, rule: DiffRule, changes: Sequence[FileContents]) -> tuple[int, int]:
        """Return (lines, files) that the turn would have changed after some changes; without any, that it has."""
        after = dict(self.lines)
        for each in changes:
            after[each.path] = count_changed_lines(self.base.get(each.path, each.before), each.after)
        counted = [size for path, size in after.items() if size and matches_any_path(rule.paths, path)]
        return sum(counted), len(counted)

    def record(self, changes: Sequence[FileContents]) -> None:
        """Record changes that were made."""
        for each in changes:
            base = self.base.setdefault(each.path, each.before)
            self.lines[each.path] = count_changed_lines(base, each.after)


@dataclass(slots=True, weakref_slot=True, eq=False)
class RuleState:
    """What the rules of one session remember. frozen, changed: paths, in the order in which they came

    root: of the workspace; owns_diff: its turns are those of the ledger, not its parent's
    family: the states of the sessions that work on the same task
    """

    root: Path
    orders: list[OrderMonitor] = field(default_factory=list)
    frozen: dict[str, None] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    diff: DiffLedger = field(default_factory=DiffLedger)
    owns_diff: bool = True
    family: WeakSet[RuleState] = field(default_factory=WeakSet)

    @classmethod
    def create(cls, root: Path, orders: Iterable[ParsedOrder], parent: RuleState | None) -> RuleState:
        """Return the state of a new session: a child begins with its parent's."""
        state = cls(root, [OrderMonitor(each) for each in orders])
        if parent is not None:
            state._inherit(parent)
        state.family.add(state)
        return state

    def encode(self) -> dict[str, Any]:
        """Return what a child in another process begins with."""
        return {
            "root": str(self.root),
            "orders": [list(each.state) for each in self.orders],
            "frozen": list(self.frozen),
            "changed": list(self.changed),
        }

    @classmethod
    def decode(cls, fields: Mapping[str, Any], rules: Iterable[NamedRule]) -> RuleState:
        """Return a state as it was encoded; its session is elsewhere."""
        state = cls.create(Path(fields["root"]), parse_orders(select_known(rules)), None)
        for monitor, bits in zip(state.orders, fields["orders"], strict=True):
            monitor.state = tuple(bits)
        state.frozen |= dict.fromkeys(fields["frozen"])
        state.changed |= dict.fromkeys(fields["changed"])
        return state

    def observe_elsewhere(self, happenings: Sequence[Happening], root: Path) -> None:
        """Record what a session of the family in another process did. root: of its workspace"""
        changed = _list_changed(happenings)
        for each in self.family:
            each._observe_relative(happenings)
            if each.root == root:
                each._add_changed(changed)

    def observe(self, happenings: Sequence[Happening]) -> None:
        """Record what an action of this session did, for the whole family."""
        for monitor in self.orders:
            monitor.observe(monitor.order.find_letter(happenings))
        changed = _list_changed(happenings)
        self._add_changed(changed)
        passed = any(each.name == "tests-passed" for each in happenings)
        verified = dict(self.changed) if passed else {}
        for other in self.family:
            if other is self:
                continue
            other._observe_relative(happenings)
            if other.root == self.root:  # the same files
                other._add_changed(changed)
                other.frozen |= verified
        if passed:
            self.frozen |= verified
            self.changed.clear()

    def _inherit(self, parent: RuleState) -> None:
        for own, other in zip(self.orders, parent.orders, strict=True):
            own.state = other.state
        self.frozen |= parent.frozen
        self.changed |= parent.changed
        self.family = parent.family
        if parent.root == self.root:  # the same files, so one diff
            self.diff, self.owns_diff = parent.diff, False

    def _observe_relative(self, happenings: Sequence[Happening]) -> None:
        for monitor in self.orders:
            monitor.observe(monitor.order.strip_lifting_parts(monitor.order.find_letter(happenings)))

    def _add_changed(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.frozen.pop(path, None)  # it was allowed to change
            self.changed[path] = None


def _list_changed(happenings: Sequence[Happening]) -> set[str]:
    return {path for each in happenings if each.name == "edit" for path in each.paths}


def count_changed_lines(before: bytes | None, after: bytes | None) -> int:
    """Return how many lines were added and removed; one for a change of bytes that are no text."""
    if before == after:
        return 0
    old, new = ((each or b"").split(b"\n") for each in (before, after))
    if b"\0" in (before or b"") or b"\0" in (after or b""):
        return 1
    start, end = 0, 0
    shortest = min(len(old), len(new))
    while start < shortest and old[start] == new[start]:
        start += 1
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    same = (
        sum(block.size for block in matcher.get_matching_blocks())
        if len(old) * len(new) < _MOST_COMPARED
        else 0
    )
    return max(len(old) + len(new) - 2 * same, 1)


_MOST_COMPARED = 4_000_000
"""Pairs of lines (2,000 × 2,000) up to which lines that stay are looked for, in 0.3 s; beyond, all in between count."""
