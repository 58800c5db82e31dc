"""Record of a finished turn, read from its events: what was asked, done, and found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.events import (
    ActionEvent,
    DecisionEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    RuleEvent,
    Steer,
    VerdictEvent,
    Verification,
)
from agent.memory.command_purposes import Cause, find_cause, find_purpose
from agent.memory.records import Case, FailedCommand, KnownCommand
from packages.memory.lessons.run_evidence import count_results
from sandbox.lazy_dataclass import dataclass
from tools.shell.shell_tool import NO_OUTPUT

MOST_LINE = 300
"""Characters of a command that is kept: longer ones write files or hold programs, and are for one use."""

_MOST_TASK, _MOST_PLACES, _MOST_COMMANDS = 2_000, 40, 20

_LOCAL = frozenset(("none", "read", "write", "execute"))
"""Effects of commands that may be kept: what reaches hosts, destroys, or was not understood is nobody's habit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCommand:
    """A command that a model ran. event: its observation; cause: of its failure, None if it ended well

    is_kept: the policy let it pass by itself, and it stays on this machine: a later session may hear of it
    shows_results: its output has results of tests; is_silent: it has none at all
    writes: actions before it that may have changed files
    """

    line: str
    event: str
    purpose: str
    cause: Cause | None
    is_kept: bool
    shows_results: bool = False
    is_silent: bool = False
    writes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAction:
    """An action that failed or was refused. by: who refused it, "" if it failed"""

    tool: str
    event: str
    text: str
    by: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRepair:
    """A change that the engine found. event: its observation; template: the kind of change"""

    template: str
    path: str
    event: str


@dataclass(slots=True, kw_only=True)
class TurnRecord:
    """What the events of one turn amount to.

    words: of the prompt and of steering, with their events; skills: names of those that were read
    failed_suites: number of writes before each run of the whole suite in which tests failed
    suite: command of the check at the end; suite_ran: whether a run of the whole suite passed, or counted tests
    """

    prompt: Prompt
    words: list[tuple[str, str]] = field(default_factory=list)
    commands: list[DoneCommand] = field(default_factory=list)
    failed_actions: list[FailedAction] = field(default_factory=list)
    repairs: list[FoundRepair] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    actions: int = 0
    writes: int = 0
    suite: str = ""
    suite_ran: bool = False
    passed: bool = False
    failed_suites: set[int] = field(default_factory=set)
    checks: list[str] = field(default_factory=list)
    end: End | None = None

    @property
    def is_good(self) -> bool:
        """Whether the turn was done, and nothing that was run speaks against it."""
        return self.end is not None and self.end.outcome == "done"


def read_turn(events: Sequence[Event]) -> TurnRecord | None:
    """Return the record of the turn that the events begin with a prompt; None if they begin otherwise."""
    if not events or not isinstance(events[0], Prompt):
        return None
    record = TurnRecord(prompt=events[0], words=[(events[0].text, events[0].id)])
    asked: dict[str, tuple[str, str]] = {}
    begun: dict[str, ActionEvent] = {}
    decided: dict[str, DecisionEvent | RuleEvent] = {}
    for event in events:
        if isinstance(event, ObservationEvent) and (report := _get_suite_report(event.data.get("report"))):
            record.suite_ran |= _has_results(report)
            if report.get("outcome") == "failed":
                record.failed_suites.add(record.writes)
        match event:
            case Steer(by="person"):
                record.words.append((event.text, event.id))
            case MessageEvent():
                for action in event.actions:
                    asked[action.id] = action.tool, str(action.arguments.get("command", ""))
            case ActionEvent():
                begun[event.call] = event
            case DecisionEvent() | RuleEvent():
                decided[event.call] = event
            case ObservationEvent() if event.call in asked:
                _add_action(record, event, *asked[event.call], begun.get(event.call), decided.get(event.call))
            case ObservationEvent(tool="repair"):  # the harness led the work
                record.actions += 1
                record.repairs += _list_repairs(event)
            case Verification():
                record.passed = event.outcome == "passed"
                record.suite = str(event.report.get("command", ""))
                record.suite_ran |= _has_results(event.report)
            case VerdictEvent(outcome="pass", evidence="executed"):
                record.checks.append(event.name)
            case End():
                record.end = event
                record.changed = list(dict.fromkeys([*record.changed, *event.files]))
            case _:
                pass
    return record


def _get_suite_report(report: object) -> Mapping[str, Any]:
    """Return the report of a run of the whole suite, empty if it is none."""
    return report if isinstance(report, dict) and not report.get("targets") else {}


def _has_results(report: Mapping[str, Any]) -> bool:
    """Whether a run of tests passed, or counted some."""
    return report.get("outcome") == "passed" or bool(report.get("passed") or report.get("failed"))


def _add_action(
    record: TurnRecord,
    seen: ObservationEvent,
    tool: str,
    line: str,
    begun: ActionEvent | None,
    decided: DecisionEvent | RuleEvent | None,
) -> None:
    record.actions += 1
    purpose = find_purpose(line) if tool == "shell" else ""
    if begun is not None and _may_change_files(tool, begun.effect, purpose):
        record.writes += 1
    if begun is not None and not seen.failed:
        kind = record.changed if begun.effect == "write" else record.read if begun.effect == "read" else []
        kind += [each for each in begun.paths if each not in kind and not each.startswith("/")]
    if tool == "skill" and not seen.failed:
        record.skills.append(str(seen.data.get("skill", "")))
    if tool == "repair":
        record.repairs += _list_repairs(seen)
    refused = _find_refusal(decided)
    if refused:
        reason = decided.reason if decided is not None else ""
        record.failed_actions.append(
            FailedAction(tool=tool, event=seen.id, text=reason, by=refused, line=line[:MOST_LINE])
        )
    elif tool == "shell" and line and "exit" in seen.data:  # it was run
        line = " ".join(line.split()) if "\n" not in line else line
        count, idle = count_results(seen.text) if purpose == "test" else (0, "")
        cause = find_cause(seen.text) if seen.failed else Cause(text=idle, is_wrong=True) if idle else None
        is_local = begun is not None and begun.effect in _LOCAL
        kept = is_local and decided is None and 0 < len(line) <= MOST_LINE and "\n" not in line
        record.commands.append(
            DoneCommand(
                line=line[:MOST_LINE], event=seen.id, purpose=purpose, cause=cause, is_kept=kept,
                shows_results=count > 0, is_silent=seen.text.partition("\n")[2] == NO_OUTPUT, writes=record.writes,
            )
        )  # fmt: skip
    elif seen.failed:
        record.failed_actions.append(FailedAction(tool=tool, event=seen.id, text=seen.text))


def _list_repairs(seen: ObservationEvent) -> list[FoundRepair]:
    fixes = seen.data.get("repair", {}).get("fixes", ())
    return [FoundRepair(template=each["template"], path=each["path"], event=seen.id) for each in fixes]


def _may_change_files(tool: str, effect: str, purpose: str) -> bool:
    """Whether an action may have changed files on which tests depend; those that test are taken to change none."""
    return effect == "write" or (tool == "shell" and effect not in ("none", "read") and purpose != "test")


def _find_refusal(decided: DecisionEvent | RuleEvent | None) -> str:
    """Return who refused an action, "" if nobody did."""
    match decided:
        case DecisionEvent(verdict="deny"):
            return decided.by
        case RuleEvent(answer="refused"):
            return "rule"
    return ""


def build_case(record: TurnRecord, session: str) -> Case:
    """Return the case of a turn."""
    end = record.end
    kept = [each for each in record.commands if each.is_kept]
    last = dict.fromkeys((each.line, each.purpose) for each in reversed(kept) if each.cause is None)
    passed = list(reversed(list(last)[:_MOST_COMMANDS]))  # as they followed each other the last time
    failed = {each.line: each for each in kept if each.cause is not None}
    usage = end.usage if end is not None else None
    return Case(
        session=session,
        event=record.prompt.id,
        time=end.time if end is not None else record.prompt.time,
        task=record.prompt.text[:_MOST_TASK],
        outcome=end.outcome if end is not None else "unfinished",
        verified=", ".join(filter(None, [record.suite if record.passed else "", *record.checks])),
        cost=usage.cost if usage is not None else None,
        tokens=usage.input + usage.output if usage is not None else 0,
        steps=end.steps if end is not None else 0,
        places=tuple(dict.fromkeys([*record.changed, *record.read]))[:_MOST_PLACES],
        commands=tuple(KnownCommand(line=line, purpose=purpose) for line, purpose in passed),
        failures=tuple(
            FailedCommand(line=each.line, cause=each.cause.text, purpose=each.purpose)
            for each in failed.values()
            if each.cause is not None
        )[:_MOST_COMMANDS],
    )
