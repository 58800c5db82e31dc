"""Evaluation of rules: over actions before they run, over contents before they are written, and over past events.

It knows no session: the monitor of a running one and the check of a past log feed it the same facts, and what it
answers depends on them alone. An event costs time in proportion to the number of rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from agent.rules.command_scan import find_forbidden
from agent.rules.event_pattern import Happening, matches_any_path
from agent.rules.happenings import BegunFacts
from agent.rules.import_scan import PYTHON_FILE, collect_imports, find_forbidden_imports
from agent.rules.prompt_rule import PromptRule
from agent.rules.rule_kinds import (
    CommandsRule,
    DiffRule,
    FreezeRule,
    ImportsRule,
    Level,
    ProtectRule,
    UserRule,
    get_level,
)
from agent.rules.rule_state import RuleState
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import quote_name
from tools.core.content_guard import FileContents
from tools.core.text import join_names

MOST_NAMED = 5
"""Paths or modules that a reason names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """An action that breaks a rule. paths: the changes that do, () if the action itself does"""

    rule: UserRule | PromptRule
    reason: str
    paths: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """Level of the rule."""
        return "refuse" if isinstance(self.rule, PromptRule) else get_level(self.rule)

    @property
    def text(self) -> str:
        """Rule, reason and the user's message, for a model and a person."""
        if isinstance(self.rule, PromptRule):
            return self.reason
        message = f" ({self.rule.message})" if self.rule.message else ""
        return f"the user's rule {self.rule.name!r}: {self.reason}{message}"


class RuleEngine:
    """Rules with their state. prompt_rules: what prompts forbid; they change from turn to turn"""

    def __init__(self, rules: Sequence[UserRule], state: RuleState) -> None:
        self.rules = rules
        self.prompt_rules: Sequence[PromptRule] = ()
        self.state = state

    def check_action(self, begun: BegunFacts, unseen: Sequence[Happening] = ()) -> list[Breach]:
        """Return what an action would break. unseen: changes of the running code around it, not observed so far

        What the harness does by itself is bound to what the prompt says of commits, and to their order.
        """
        for rule in self.prompt_rules:
            if rule.forbids_commit(begun.happenings):
                return [
                    Breach(rule=rule, reason="the prompt forbids a commit: leave the changes uncommitted")
                ]
        if begun.is_harness and begun.effect.kind != "git":
            return []
        found = list(self._check_orders(begun, unseen))
        if begun.is_harness:
            return found
        found += self._check_prompt(begun.changed_paths, begun.created_paths)
        for written in self.rules:
            if isinstance(written, ProtectRule | FreezeRule):
                found += self._check_paths(written, begun.changed_paths, begun.happenings)
            elif isinstance(written, CommandsRule) and (
                match := find_forbidden(begun.commands, written.commands)
            ):
                command, doubt = match
                shown = quote_name(command.text[:100]) if command.text else "the command line"
                reason = f"{shown} may be a forbidden command: {doubt}" if doubt else f"{shown} is forbidden"
                found.append(Breach(rule=written, reason=reason))
        return found

    def check_paths(self, paths: Sequence[str], new: Collection[str] = ()) -> list[Breach]:
        """Return what changes of some files would break, whatever their contents. new: files that were not there"""
        return [
            *self._check_prompt(paths, new),
            *(
                breach
                for rule in self.rules
                if isinstance(rule, ProtectRule | FreezeRule)
                for breach in self._check_paths(rule, paths)
            ),
        ]

    def check_contents(self, changes: Sequence[FileContents]) -> list[Breach]:
        """Return what the contents of some changes would break."""
        found: list[Breach] = []
        for rule in self.rules:
            if isinstance(rule, ImportsRule):
                found += _check_imports(rule, changes)
            elif isinstance(rule, DiffRule):
                found += self._check_diff(rule, changes)
        return found

    def observe(self, happenings: Sequence[Happening]) -> None:
        """Record what an action did."""
        if happenings:
            self.state.observe(happenings)

    def begin_turn(self) -> None:
        """Record that a prompt begins a turn."""
        if self.state.owns_diff:
            self.state.diff.begin_turn()
        self.state.observe([Happening(name="prompt")])

    def is_restricted(self, begun: BegunFacts) -> bool:
        """Whether an order restricts an action."""
        return any(monitor.order.list_restricted(begun.happenings) for monitor in self.state.orders)

    def has_file_orders(self) -> bool:
        """Whether an order depends on changes of files."""
        names = ("edit", "create", "edit-test")
        return any(
            each.name in names
            for monitor in self.state.orders
            for each in (*monitor.order.decisive, *monitor.order.reset)
        )

    def _check_orders(self, begun: BegunFacts, unseen: Sequence[Happening]) -> Iterator[Breach]:
        for monitor in self.state.orders:
            order = monitor.order
            letter = order.find_letter(begun.happenings)
            if "x" not in letter:
                continue
            state = monitor.state
            monitor.observe(order.strip_lifting_parts(order.find_letter(unseen)))
            is_broken = monitor.is_broken_by(letter)
            monitor.state = state
            if is_broken:
                what = " or ".join(map(str, order.list_restricted(begun.happenings)))
                yield Breach(rule=order.rule, reason=f"{what} {order.explain()}")

    def _check_prompt(self, paths: Collection[str], new: Collection[str]) -> Iterator[Breach]:
        for rule in self.prompt_rules:
            if closed := rule.list_closed(paths, new):
                what = "any file" if rule.everything else _join(closed)
                yield Breach(rule=rule, reason=f"the prompt forbids to change {what}", paths=tuple(closed))

    def _check_paths(
        self,
        rule: ProtectRule | FreezeRule,
        changed: Sequence[str] | frozenset[str],
        happenings: Sequence[Happening] = (),
    ) -> Iterator[Breach]:
        closed = [path for path in sorted(changed) if self._is_closed(rule, path)]
        if closed:
            word = (
                "protected" if isinstance(rule, ProtectRule) else "frozen, since the tests have passed on it"
            )
            yield Breach(rule=rule, reason=f"{_join(closed)} is {word}", paths=tuple(closed))
        elif isinstance(rule, ProtectRule) and rule.access == "read":
            read = {path for each in happenings if each.name == "read" for path in each.paths}
            if hidden := sorted(path for path in read if self._is_closed(rule, path)):
                yield Breach(rule=rule, reason=f"{_join(hidden)} may not be read")

    def _is_closed(self, rule: ProtectRule | FreezeRule, path: str) -> bool:
        if isinstance(rule, FreezeRule) and path not in self.state.frozen:
            return False
        return matches_any_path(rule.paths, path)

    def _check_diff(self, rule: DiffRule, changes: Sequence[FileContents]) -> Iterator[Breach]:
        before = self.state.diff.measure(rule, ())
        lines, files = self.state.diff.measure(rule, changes)
        paths = tuple(each.path for each in changes if matches_any_path(rule.paths, each.path))
        if not paths:
            return
        limits = ((lines, rule.max_lines, "lines"), (files, rule.max_files, "files"))
        for (number, limit, unit), earlier in zip(limits, before, strict=True):
            if limit is not None and number > limit and number > earlier:
                reason = f"this turn would have changed {number} {unit}, more than {limit}"
                yield Breach(rule=rule, reason=reason, paths=paths)
                return


def _check_imports(rule: ImportsRule, changes: Sequence[FileContents]) -> Iterator[Breach]:
    """Judge Python files; one that was moved keeps its imports."""
    moved: set[str] = set()
    for each in changes:
        if each.after is None and each.before is not None:
            moved |= collect_imports(_decode(each.before))
    for each in changes:
        if (
            each.after is None
            or not PYTHON_FILE.search(each.path)
            or not matches_any_path(rule.paths, each.path)
        ):
            continue
        found = find_forbidden_imports(_decode(each.before or b""), _decode(each.after), rule.modules)
        new = [name for name in found if each.before is not None or name not in moved]
        if new:
            yield Breach(rule=rule, reason=f"{each.path} would import {_join(new)}", paths=(each.path,))


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _join(names: Sequence[str]) -> str:
    return join_names([quote_name(each) for each in names], MOST_NAMED)
