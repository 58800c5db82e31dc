"""Check of a past session's log against rules: which actions they would have blocked.

What happened is taken as it happened: an action that a rule would have blocked still counts for those after it. Links
and scripts are read as they are now.
Contents come from the session's snapshots; where one is gone, imports and sizes of diffs are not judged. In the log of
a session that had rules, an action that was blocked left no contents, so its recorded answer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.events import Event, ObservationEvent, Prompt, RuleEvent, SnapshotEvent
from agent.rules.happenings import BegunFacts, create_reader
from agent.rules.logged_actions import LoggedActions, Translate
from agent.rules.order_rules import parse_orders
from agent.rules.rule_engine import Breach, RuleEngine
from agent.rules.rule_kinds import Level, get_level, select_known
from agent.rules.rule_places import bind_rules
from agent.rules.rule_state import RuleState
from agent.session_settings import NamedRule
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.workspace_snapshots import LostObjectError, Snapshots
from tools.core.content_guard import FileContents

ENDS = frozenset(("finish", "propose"))
"""Tools that end a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An action of the log that breaks a rule. event: id of the event that begins it"""

    event: str
    call: str
    action: str
    rule: str
    level: Level
    reason: str

    @property
    def is_blocked(self) -> bool:
        """Whether the action would not have run as it did."""
        return self.level != "remind"


@dataclass(slots=True)
class _Begun:
    facts: BegunFacts
    event: str
    inner: set[str]


class SessionCheck:
    """Follows the events of a log's branch, and collects findings.

    snapshots: of the project, None if there are none; translate: calls of other agents' tools to ours
    """

    def __init__(
        self,
        rules: Sequence[NamedRule],
        root: Path,
        snapshots: Snapshots | None,
        translate: Translate = lambda action: action,
    ) -> None:
        known = select_known(rules)
        self._engine = RuleEngine(known, RuleState.create(root, parse_orders(known), None))
        self._levels = {rule.name: get_level(rule) for rule in known}
        self._snapshots = snapshots
        self._files = Tree(root)
        self._reader = create_reader(root, self._files, ENDS, is_file=self._was_file)
        self._logged = LoggedActions(self._reader, translate)
        self._running: dict[str, _Begun] = {}
        self._last: _Begun | None = None  # ended action of a model
        self._ended: _Begun | None = None  # ended action of a model, or of its code
        self._tree = ""
        self._recorded: set[tuple[str, str]] = set()
        self._found: dict[tuple[str, str], Finding] = {}

    def check(self, events: Iterable[Event]) -> list[Finding]:
        """Return the findings, in the order of their actions."""
        for event in events:
            self._follow(event)
        return sorted(self._found.values(), key=lambda each: int(each.event[1:] or 0))

    def _follow(self, event: Event) -> None:
        if (facts := self._logged.begin_action(event)) is not None:
            begun = self._running[facts.call] = _Begun(facts, event.id, set())
            self._add(begun, self._engine.check_action(facts))
        match event:
            case Prompt():
                self._engine.begin_turn()
            case ObservationEvent() if ended := self._running.pop(event.call, None):
                self._end_action(ended, event)
            case SnapshotEvent():
                self._compare_contents(event)
            case RuleEvent() if event.rule in self._levels:
                self._add_recorded(event)

    def _end_action(self, begun: _Begun, event: ObservationEvent) -> None:
        facts, changed = begun.facts, event.data.get("changed")
        outer = self._running.get(facts.within)
        if outer is not None and not event.failed:
            outer.inner |= facts.changed_paths
        if isinstance(changed, list) and facts.effect.argv:
            own = [str(path) for path in changed if path not in begun.inner]
            event.data["changed"] = own
            self._add(begun, self._engine.check_paths(own))
        if event.data.get("denied"):  # for another reason, unless a recorded answer follows
            self._found = {
                key: each for key, each in self._found.items() if not self._is_unrecorded(each, begun)
            }
        self._engine.observe(self._reader.read_result(facts, event))
        self._ended = begun
        self._last = begun if outer is None else self._last

    def _compare_contents(self, event: SnapshotEvent) -> None:
        before, self._tree = self._tree, event.tree
        if event.when != "after" or not before or self._snapshots is None or self._last is None:
            return
        read = self._snapshots.read_content
        try:
            changes = [
                FileContents(
                    path=change.path,
                    before=read(change.before) if change.before else None,
                    after=read(change.after) if change.after else None,
                )
                for change in self._snapshots.list_changes(before, event.tree)
            ]
        except LostObjectError:
            return
        self._add(self._last, self._engine.check_contents(changes))
        self._engine.state.diff.record(changes)

    def _add(self, begun: _Begun, breaches: Sequence[Breach]) -> None:
        for each in breaches:
            self._keep(begun, each.rule.name, each.reason)

    def _add_recorded(self, event: RuleEvent) -> None:
        self._recorded.add((event.call, event.rule))
        begun = self._running.get(event.call) or self._ended
        if begun is not None and begun.facts.call == event.call:
            self._keep(begun, event.rule, event.reason)

    def _keep(self, begun: _Begun, rule: str, reason: str) -> None:
        finding = Finding(
            event=begun.event,
            call=begun.facts.call,
            action=begun.facts.tool,
            rule=rule,
            level=self._levels[rule],
            reason=reason,
        )
        self._found.setdefault((begun.event, rule), finding)

    def _is_unrecorded(self, found: Finding, begun: _Begun) -> bool:
        return found.event == begun.event and (found.call, found.rule) not in self._recorded

    def _was_file(self, path: str) -> bool:
        """Whether there was a file at this place of the log, as far as snapshots tell."""
        if self._tree and self._snapshots is not None:
            try:
                return self._snapshots.find_state(self._tree, path) is not None
            except LostObjectError:
                pass
        return self._files.has_file(path)


def check_session(
    events: Iterable[Event],
    rules: Sequence[NamedRule],
    root: Path,
    snapshots: Snapshots | None,
    translate: Translate = lambda action: action,
) -> list[Finding]:
    """Return the actions of a log that break rules."""
    return SessionCheck(bind_rules(rules, root), root, snapshots, translate).check(events)
