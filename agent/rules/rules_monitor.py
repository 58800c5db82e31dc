"""Monitor of a running session that holds its actions to the user's rules."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from agent.context.ledger.session_facts import Facts
from agent.events import (
    ActionEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    RuleEvent,
    SnapshotEvent,
)
from agent.monitor.answers import GO_ON, ActionAnswer, Ask, Refuse, TellModel
from agent.monitor.monitor import Monitor
from agent.rules.event_pattern import Happening
from agent.rules.happenings import BegunFacts, create_reader
from agent.rules.logged_actions import LoggedActions
from agent.rules.order_rules import parse_orders
from agent.rules.prompt_rule import PromptRule
from agent.rules.rule_engine import Breach, RuleEngine
from agent.rules.rule_kinds import DiffRule, FreezeRule, OrderRule, select_known
from agent.rules.rule_state import RuleState, count_changed_lines
from agent.session.branch_history import History
from agent.session_settings import NamedRule
from tools.changes.change_tracker import Snapshotter
from tools.core.action import current_action
from tools.core.action_guard import BegunAction
from tools.core.content_guard import FileContents
from tools.core.workspace import Workspace


class RulesMonitor(Monitor):
    """Refuses, or asks about, actions that break a rule; undoes changes of commands that do. A `ContentGuard`, too.

    parent: state of the session that started this one
    tell: logs an event; called in the thread of the event loop only
    """

    is_security: ClassVar[bool] = True

    def __init__(
        self,
        rules: Sequence[NamedRule],
        workspace: Workspace,
        *,
        ends: Collection[str],
        snapshots: Snapshotter | None = None,
        parent: RuleState | None = None,
        tell: Callable[[RuleEvent], object] = lambda event: None,
    ) -> None:
        known = select_known(rules)
        self.state = RuleState.create(workspace.root, parse_orders(known), parent)
        self._engine = RuleEngine(known, self.state)
        self._inherited = tuple(each for each in rules if isinstance(each, PromptRule))
        self._engine.prompt_rules = self._inherited
        self._workspace = workspace
        self._reader = create_reader(workspace.root, workspace.files, ends)
        self._snapshots = snapshots
        self._tell = tell
        self._begun: dict[str, BegunFacts] = {}
        self._granted: dict[
            str, set[tuple[str, str]]
        ] = {}  # (rule, path) that a person was asked about, by action
        self._accepted: dict[str, bytes] = {}  # path → digest of the last content that broke no rule
        self._pending: dict[str, list[FileContents]] = {}  # writes of a running action
        self._unseen: dict[str, list[str]] = {}  # changes by a command that were not its inner actions'
        self._late: list[RuleEvent] = []  # found in other threads
        self._notes: list[str] = []
        self._children: dict[str, LoggedActions] = {}
        self._begun_elsewhere: dict[tuple[str, str], BegunFacts] = {}
        self._tree = ""

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the state from the log; a resumed turn has its session's uncommitted changes as its diff."""
        rules = self._engine.rules
        if any(isinstance(rule, OrderRule | FreezeRule) for rule in rules):
            logged, begun = LoggedActions(self._reader), dict[str, BegunFacts]()
            for event in history.select_events(Prompt, MessageEvent, ActionEvent, ObservationEvent):
                if (found := logged.begin_action(event)) is not None:
                    begun[found.call] = found
                elif isinstance(event, Prompt):
                    self._engine.begin_turn()
                elif isinstance(event, ObservationEvent) and (found := begun.pop(event.call, None)):
                    self._engine.observe(self._reader.read_result(found, event))
        if any(isinstance(rule, DiffRule) for rule in rules) and self.state.owns_diff:
            files = self._workspace.files
            for path, original in self._workspace.changes.originals.items():
                now = files.read(path) if files.is_file(path) else None
                self.state.diff.base[path] = original
                self.state.diff.lines[path] = count_changed_lines(original, now)

    def bind_prompt(self, rule: PromptRule | None) -> None:
        """Hold the turn to what its prompt forbids, None for nothing; what a parent's prompt forbids stays."""
        self._engine.prompt_rules = (*self._inherited, rule) if rule is not None else self._inherited

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case Prompt():
                self._engine.begin_turn()
                self._granted.clear()
            case SnapshotEvent():
                self._tree = event.tree
            case ObservationEvent() if begun := self._begun.pop(event.call, None):
                self._handle_result(begun, event)

    @property
    def limits_diff(self) -> bool:
        """Whether a rule limits the size of a turn's diff."""
        return any(isinstance(rule, DiffRule) and rule.level != "remind" for rule in self._engine.rules)

    def handle_child_event(self, child: str, root: Path, event: Event) -> None:
        """Process an event of a child session in another process. root: of its workspace"""
        if child not in self._children:
            self._children[child] = LoggedActions(self._reader)
        if (begun := self._children[child].begin_action(event)) is not None:
            self._begun_elsewhere[child, begun.call] = begun
        elif isinstance(event, ObservationEvent) and (
            ended := self._begun_elsewhere.pop((child, event.call), None)
        ):
            self.state.observe_elsewhere(self._reader.read_result(ended, event), root)

    async def before_action(self, begun: BegunAction) -> ActionAnswer:
        """Judge an action before it runs."""
        action = begun.action
        facts = self._reader.read_action(action.id, action.tool, begun.effect, action.within)
        self._begun[action.id] = facts
        unseen: Sequence[Happening] = ()
        if facts.within and self._engine.has_file_orders() and self._engine.is_restricted(facts):
            unseen = await asyncio.to_thread(self._find_unseen_changes)
        breaches = self._engine.check_action(facts, unseen)
        return self._answer(facts, breaches) if breaches else GO_ON

    def before_request(self) -> Sequence[TellModel]:
        """Return reminders about contents that were written since the last request."""
        notes, self._notes = self._notes, []
        return [TellModel(text=f"[{each}]") for each in dict.fromkeys(notes)]

    def check_writes(self, changes: Sequence[FileContents]) -> str:
        """See `ContentGuard.check_writes`."""
        call = current_action.get()
        breaches = self._select_serious(call, changes)
        if breaches:
            self._note_late(call, breaches, "refused")
            return "; ".join(dict.fromkeys(each.text for each in breaches))
        self._pending.setdefault(call, []).extend(changes)
        for each in changes:
            self._accepted[each.path] = _digest(each.after)
        return ""

    def check_command(self, changes: Sequence[FileContents]) -> Mapping[str, str]:
        """See `ContentGuard.check_command`. What inner actions of the command wrote was judged when they did."""
        call = current_action.get()
        changes = [each for each in changes if self._accepted.get(each.path) != _digest(each.after)]
        found: dict[str, str] = {}
        breaches = self._select_serious(call, changes)
        for breach in breaches:
            found |= {path: breach.text for path in breach.paths if path not in found}
        if breaches:
            self._note_late(call, breaches, "undone")
        kept = [each for each in changes if each.path not in found]
        self.state.diff.record(kept)
        self._unseen.setdefault(call, []).extend(each.path for each in kept)
        for each in kept:
            self._accepted[each.path] = _digest(each.after)
        return found

    def _answer(self, facts: BegunFacts, breaches: Sequence[Breach]) -> ActionAnswer:
        refused = [each for each in breaches if each.level == "refuse"]
        asked = [each for each in breaches if each.level == "ask"]
        if refused:
            self._record(facts.call, refused, "refused")
            return Refuse(_join(refused))
        if asked:
            self._record(facts.call, asked, "asked")
            granted = {(each.rule.name, path) for each in asked for path in each.paths}
            self._granted.setdefault(facts.call, set()).update(granted)
            return Ask(question=_join(asked), hint="leave it as it is, and say what a person has to decide")
        self._record(facts.call, breaches, "reminded")
        return TellModel(text=f"[{_join(breaches)}]")

    def _handle_result(self, begun: BegunFacts, event: ObservationEvent) -> None:
        pending = self._pending.pop(event.call, [])
        if not event.failed:
            self.state.diff.record(pending)
        late, self._late = self._late, []
        for each in late:
            self._tell(each)
        unseen = self._unseen.pop(event.call, None)
        if unseen is not None and "changed" in event.data:
            event = replace(event, data={**event.data, "changed": unseen})
        self._engine.observe(self._reader.read_result(begun, event))
        self._granted.pop(event.call, None)

    def _select_serious(self, call: str, changes: Sequence[FileContents]) -> list[Breach]:
        """Return the breaches that are not allowed; the others are reminders, or a person has allowed them."""
        serious = []
        new = {each.path for each in changes if each.before is None}
        found = self._engine.check_paths([each.path for each in changes], new)
        for each in (*found, *self._engine.check_contents(changes)):
            if each.level == "remind":
                self._notes.append(each.text)
                self._note_late(call, [each], "reminded")
            elif not all((each.rule.name, path) in self._granted.get(call, ()) for path in each.paths):
                serious.append(each)
        return serious

    def _find_unseen_changes(self) -> list[Happening]:
        """Return what the code around an action has changed by itself so far."""
        if self._snapshots is None or not self._tree:
            return []
        changes = self._snapshots.list_changes(self._tree, self._snapshots.take())
        read = self._snapshots.read_content
        paths = [
            each.path
            for each in changes
            if self._accepted.get(each.path) != _digest(read(each.after) if each.after else None)
        ]
        return list(self._reader.describe_changes(paths))

    def _record(self, call: str, breaches: Sequence[Breach], answer: str) -> None:
        for each in breaches:
            self._tell(_build_event(call, each, answer))

    def _note_late(self, call: str, breaches: Sequence[Breach], answer: str) -> None:
        self._late += [_build_event(call, each, answer) for each in breaches]


def _build_event(call: str, breach: Breach, answer: str) -> RuleEvent:
    return RuleEvent(
        call=call,
        rule=breach.rule.name,
        answer=answer,  # type: ignore[arg-type]  # one of its words
        reason=breach.reason,
        paths=list(breach.paths),
    )


def _join(breaches: Sequence[Breach]) -> str:
    return "; ".join(dict.fromkeys(each.text for each in breaches))


def _digest(content: bytes | None) -> bytes:
    return b"" if content is None else hashlib.sha256(content).digest()
