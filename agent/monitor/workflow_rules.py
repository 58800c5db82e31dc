"""Workflow rules over the events of a session, such as reading before editing, and the phases of a turn.

The rules are data (`RULES`), in temporal logic, as Crouse et al. specify agents' behavior ("Formally
Specifying the High-Level Behavior of LLM-Based Agents", 2023, arXiv 2310.08535); there a decoder is bound to
them, here a monitor watches any model. A violation is reported to the model with the action's observation, or
the action is refused, depending on the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.context.ledger.session_facts import Facts, FileState
from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, PhaseEvent, Prompt
from agent.monitor.answers import GO_ON, GoOn, Refuse, TellModel
from agent.monitor.monitor import Monitor
from agent.monitor.phases import PhaseTracker
from agent.monitor.temporal_rules import (
    ObservedEvent,
    Rule,
    RuleMonitor,
    Violation,
    always,
    event,
    once,
    since,
)
from agent.session.branch_history import History
from agent.session.log_index import parse_event_id
from agent.session_settings import DisciplineSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

EDITS = ("edit", "create")
TESTED = ("tests-passed", "tests-failed", "untestable")

RULES = (
    Rule(
        name="read-before-edit",
        key="path",
        when=event("edit"),
        must=once(event("read", "create")),
        message="{key} was changed without having been read in this session: read before you edit",
    ),
    Rule(
        name="test-before-commit",
        when=event("commit"),
        must=always(~event(*EDITS)) | since(~event(*EDITS), event("tests-passed", "untestable")),
        message="files were changed since the tests last passed: run_tests before you commit",
    ),
    Rule(
        name="check-before-finish",
        when=event("finish"),
        must=since(~event(*EDITS), event("prompt", *TESTED)),
        message="files were changed and not checked: run_tests before you finish",
    ),
    Rule(
        name="code-before-test",
        when=event("edit-test"),
        must=~since(~event("edit"), event("tests-failed")),
        message="tests fail and the first change is to a test: mend the code, or say why the test is wrong",
    ),
)
"""In the order of their evaluation. `key` and `{key}`: see agent/monitor/temporal_rules.py."""

_TEST_FILE = compile_lazily(
    r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|[._](test|spec)\.\w+$|_test\.\w+$"
)
_WORD = compile_lazily(r"[\w./-]*[\w-]")
_MOST_WORDS = 200
"""Words of a command that are tried as paths: the files that it reads are a guess anyhow."""


@dataclass(slots=True, kw_only=True)
class _RunningAction:
    """A running action. expected_events: the events that it will cause if it succeeds, as far as known before"""

    tool: str
    effect: Any
    words: str
    expected_events: list[ObservedEvent]


class WorkflowMonitor(Monitor):
    """Checks each action against the workflow rules and the phase of the turn.

    ends: names of the tools that end a turn
    tell: records a phase that has begun
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        ends: frozenset[str],
        levels: DisciplineSettings,
        tell: Callable[[PhaseEvent], object] = lambda phase: None,
    ) -> None:
        self._levels = {rule.name: levels.get_level(rule.name) for rule in RULES}
        self._monitors = [RuleMonitor(rule) for rule in RULES if self._levels[rule.name] != "off"]
        self._workspace = workspace
        self._ends = ends
        self._guidance = levels.phases
        self._tell = tell
        self._begun: dict[str, _RunningAction] = {}
        self._words: dict[str, str] = {}
        self._told: set[tuple[str, str]] = set()
        self._news = ""
        self.phases = PhaseTracker()

    def restore(self, history: History, facts: Facts) -> None:
        """Restore the state of a resumed session from its facts, so that the rules still apply."""
        tested = parse_event_id(facts.tests_at) if facts.tests_at else 0
        done = [
            (parse_event_id(each.last_read), ObservedEvent(name="read", keys=_make_path_keys(path)))
            for path, each in _select_read_files(facts)
        ]
        done += [
            (
                parse_event_id(facts.files[path].last_change),
                ObservedEvent(name="edit", keys=_make_path_keys(path)),
            )
            for path in facts.list_changed_files()
        ]
        if tested:
            done.append((tested, ObservedEvent(name="tests-failed" if facts.failing else "tests-passed")))
        for _, happening in sorted(done, key=lambda each: each[0]):
            for monitor in self._monitors:
                monitor.observe(happening)

    def before_action(self, begun: BegunAction) -> GoOn | Refuse | TellModel:
        """Refuse an action that breaks an enforced rule; remind the model of the others."""
        running = self._begun.get(begun.call)
        if running is None or begun.is_harness:
            return GO_ON
        breaches = [
            breach
            for happening in running.expected_events
            for monitor in self._monitors
            for breach in monitor.find_violations(happening)
        ]
        refused = [each.message for each in breaches if self._levels[each.rule.name] == "enforce"]
        if self._guidance == "enforce" and (waits := self.phases.explain_refusal(running.effect)):
            refused.append(waits)
        if refused:
            return Refuse("; ".join(dict.fromkeys(refused)))
        reminders = "\n".join(self._take_reminders(breaches))
        return TellModel(text=reminders) if reminders else GO_ON

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case Prompt():
                self._told.clear()
                self._record_happening(ObservedEvent(name="prompt"))
            case MessageEvent():
                self._words = {
                    each.id: str(each.arguments.get("command") or each.arguments.get("code") or "")
                    for each in event.actions
                }
            case ActionEvent():
                self._begun[event.call] = self._create_running_action(event)
            case ObservationEvent():
                begun = self._begun.pop(event.call, None)
                if begun is not None:
                    for happening in self._derive_happenings(begun, event):
                        self._record_happening(happening)

    def _take_reminders(self, breaches: list[Violation]) -> Iterator[str]:
        if self._news and self._guidance != "log":
            yield self._news
        self._news = ""
        for each in breaches:
            if (each.rule.name, each.about) not in self._told:  # once per turn
                self._told.add((each.rule.name, each.about))
                yield f"[{each.rule.name}: {each.message}]"

    def _record_happening(self, happening: ObservedEvent) -> None:
        for monitor in self._monitors:
            monitor.observe(happening)
        if self.phases.advance_phase(happening.name):
            self._news = self.phases.guidance
            self._tell(PhaseEvent(phase=self.phases.name, after=happening.name))

    def _create_running_action(self, event: ActionEvent) -> _RunningAction:
        found: list[ObservedEvent] = []
        if event.effect == "write":
            found = list(self._derive_writes(event.paths))
        elif event.effect == "git":
            found = [ObservedEvent(name="commit")]
        elif event.tool in self._ends:
            found = [ObservedEvent(name="finish")]
        given = event.arguments or {}
        words = self._words.get(event.call) or str(given.get("command") or "")
        return _RunningAction(tool=event.tool, effect=event.effect, words=words, expected_events=found)

    def _derive_happenings(self, begun: _RunningAction, event: ObservationEvent) -> Iterator[ObservedEvent]:
        data = event.data
        outcome = _classify_test_report(data)
        if outcome:
            yield ObservedEvent(name=outcome)
        if begun.words:
            yield from self._derive_reads(_WORD.findall(begun.words)[:_MOST_WORDS])
        if event.failed:
            return
        yield from begun.expected_events
        if begun.effect == "read":
            yield from self._derive_reads(
                [data.get("path"), *(place[0] for place in _extract_places(data))], looked=True
            )
        if begun.effect != "write" and isinstance(changed := data.get("changed"), list):
            yield from self._derive_writes(map(str, changed), made=True)

    def _derive_reads(self, names: list[Any], *, looked: bool = False) -> Iterator[ObservedEvent]:
        paths = {
            path
            for name in names
            if isinstance(name, str)
            if (path := self._workspace.files.find_relative(name))
        }
        there = frozenset(path for path in paths if self._workspace.files.has_file(path))
        if there or looked:
            yield ObservedEvent(name="read", keys={"path": there})

    def _derive_writes(self, names: Any, *, made: bool = False) -> Iterator[ObservedEvent]:
        """Yield the events of writes. made: the write has happened already, so new files cannot be distinguished"""
        for name in names:
            path = self._workspace.files.find_relative(name) or name
            new = not made and not self._workspace.files.has_file(path)
            if not new and _TEST_FILE.search(path):
                yield ObservedEvent(name="edit-test")
            yield ObservedEvent(name="create" if new else "edit", keys={"path": frozenset({path})})


def _select_read_files(facts: Facts) -> Iterator[tuple[str, FileState]]:
    return ((path, each) for path, each in facts.files.items() if each.last_read)


def _make_path_keys(path: str) -> Mapping[str, frozenset[str]]:
    return {"path": frozenset({path})}


def _classify_test_report(data: Mapping[str, Any]) -> str:
    report = data.get("report")
    if not isinstance(report, dict):
        return ""
    untestable = dict.fromkeys(("no-runner", "no-tests", "unverified"), "untestable")
    word = {"passed": "tests-passed", **untestable}
    return word.get(str(report.get("outcome")), "tests-failed")


def _extract_places(data: Mapping[str, Any]) -> list[Any]:
    places = data.get("places")
    return [each for each in places if isinstance(each, list) and each] if isinstance(places, list) else []
