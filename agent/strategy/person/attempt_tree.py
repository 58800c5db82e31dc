"""The attempts of a session's last turn that made some, read from its log: who went on from whom, and what ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChoiceEvent,
    End,
    Event,
    GuidanceEvent,
    ObservationEvent,
    Prompt,
    Signal,
    SnapshotEvent,
    StopAttemptEvent,
    UndoEvent,
    VerdictEvent,
    Verification,
)
from agent.session.log import read_events
from agent.session_settings import CHOSEN_STRATEGY
from agent.strategy.candidate import Candidate, read_verdict
from agent.strategy.progress import list_failing_tests
from agent.verify.verdict import Verdict
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import join_names

State = Literal["running", "cut off", "ended", "stopped", "not needed", "not started"]
"""cut off: by a kill, so that a resumed turn makes it again. not needed: cancelled, since others were enough"""

_JOINED = compile_lazily(r"attempts (\d{1,9}) and (\d{1,9}) put together")
"""Hint of an attempt that has the changes of two others."""


@dataclass(slots=True, kw_only=True)
class AttemptNode:
    """One attempt. begun: None if no session could be started; candidate: None until it has ended"""

    number: int
    begun: AttemptEvent | None = None
    candidate: Candidate | None = None
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def parent(self) -> int:
        """The attempt whose change it goes on from, 0 for none."""
        return self.begun.after if self.begun is not None else 0

    @property
    def parents(self) -> list[int]:
        """All attempts whose changes it has: two where these were put together."""
        pair = _JOINED.fullmatch(self.begun.hint) if self.begun is not None and self.parent else None
        return [int(pair[1]), int(pair[2])] if pair else [self.parent] if self.parent else []

    @property
    def child(self) -> str:
        """Id of its session, "" if none could be started."""
        begun = self.begun.child if self.begun is not None else ""
        return begun or (self.candidate.child if self.candidate is not None else "")

    @property
    def start(self) -> str:
        """How it began: in its own way, by a role of a team, from another attempt, or from two."""
        if self.begun is None:
            return ""
        if self.begun.strategy == "team" and self.begun.hint:
            return self.begun.hint
        if self.begun.after and (pair := _JOINED.fullmatch(self.begun.hint)):
            return f"{pair[1]} and {pair[2]} put together"
        return f"from {self.begun.after}" if self.begun.after else "own way"

    @property
    def verdict(self) -> str:
        """Outcome of its own check: "passed", "failed", "unverified", … or "" if nothing was checked."""
        return self.candidate.verification.partition(":")[0] if self.candidate is not None else ""


@dataclass(slots=True)
class _Application:
    """A patch that was brought into the workspace. step: id of the snapshot after it, "" until it is logged"""

    patch: str
    attempt: int
    step: str = ""
    is_active: bool = True


@dataclass(slots=True, kw_only=True)
class AttemptTree:
    """The attempts of one turn, by number.

    prompt: of the turn; strategy: that made them; method: the same, or the one that `auto` chose for them
    base: commit that all begin with
    choices: all of them, those of the person included; failing: tests that failed before, None if that is not known
    has_ended: the turn has its end event, or a later turn has taken the place of one that a kill cut off
    is_cut_off: the session's last turn, with attempts or not, has no end event: it runs, or a kill cut it off
    guidance: the person's words for attempts, by number; stopped: attempts that the person stopped
    """

    prompt: str = ""
    strategy: str = ""
    method: str = ""
    base: str = ""
    nodes: dict[int, AttemptNode] = field(default_factory=dict)
    choices: list[ChoiceEvent] = field(default_factory=list)
    failing: frozenset[str] | None = None
    has_ended: bool = False
    is_cut_off: bool = False
    guidance: dict[int, list[str]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    _applied: list[_Application] = field(default_factory=list)
    _chosen: int = 0
    _latest: str = ""
    _latest_method: str = ""
    _is_own_turn: bool = False
    _known: frozenset[str] | None = None
    _may_report: bool = False

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> AttemptTree:
        """Read a log from its beginning."""
        tree = cls()
        for event in events:
            tree.handle_event(event)
        return tree

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case Prompt():
                self.has_ended = self.has_ended or self._is_own_turn
                self._latest, self._is_own_turn, self.is_cut_off = event.text, False, True
                self._known, self._may_report, self._chosen, self._latest_method = None, True, 0, ""
            case Signal(name=name) if name == CHOSEN_STRATEGY:
                self._latest_method = event.detail.partition(":")[0]
            case AttemptEvent():
                self._begin_own_turn()
                self.strategy, self.base = event.strategy or self.strategy, self.base or event.base
                self.method = self._latest_method or self.strategy
                self.nodes[event.number] = AttemptNode(number=event.number, begun=event)
            case VerdictEvent() if event.attempt is not None:
                node = self.nodes.get(event.attempt)
                if node is not None:
                    node.verdicts.append(read_verdict(event))
            case CandidateEvent():
                self._begin_own_turn()
                node = self.nodes.setdefault(event.attempt, AttemptNode(number=event.attempt))
                node.candidate = Candidate.from_event(event, node.verdicts)
            case ChoiceEvent():
                self.choices.append(event)
                self._chosen = event.attempt
            case ObservationEvent():
                self._handle_observation(event)
            case SnapshotEvent(when="after") if self._applied and not self._applied[-1].step:
                self._applied[-1].step = event.id
            case GuidanceEvent():
                self.guidance.setdefault(event.attempt, []).append(event.text)
            case StopAttemptEvent():
                self.stopped.add(event.attempt)
            case UndoEvent():
                for each in self._applied:
                    if each.step in event.steps:
                        each.is_active = event.action == "redo"
            case End():
                self.has_ended, self.is_cut_off = self.has_ended or self._is_own_turn, False

    def _begin_own_turn(self) -> None:
        if self._is_own_turn:
            return
        self._is_own_turn, self.has_ended = True, False
        self.prompt, self.strategy, self.base, self.failing = self._latest, "", "", self._known
        self.nodes, self.choices, self._applied = {}, [], []
        self.guidance, self.stopped = {}, set()

    def _handle_observation(self, event: ObservationEvent) -> None:
        if event.tool == "bring_back" and not event.failed:
            patch = str(event.data.get("patch"))
            number = self._chosen if self._is_candidate(self._chosen, patch) else self._find_attempt(patch)
            self._applied.append(_Application(patch, number or self._get_person_choice()))
            self._may_report = False
        report = event.data.get("report")
        if (
            self._may_report
            and self._known is None
            and isinstance(report, dict)
            and not report.get("targets")
        ):
            self._known = list_failing_tests(report)
            if self._is_own_turn and self.failing is None:
                self.failing = self._known

    def _is_candidate(self, number: int, patch: str) -> bool:
        node = self.nodes.get(number)
        return node is not None and node.candidate is not None and node.candidate.patch == patch

    def _find_attempt(self, patch: str) -> int:
        return next((number for number in self.nodes if self._is_candidate(number, patch)), 0)

    def _get_person_choice(self) -> int:
        """Return the attempt that the person took, whose patch is brought back together with what it replaces."""
        return self._chosen if self.choices and self.choices[-1].by == "person" else 0

    def __bool__(self) -> bool:
        return bool(self.nodes)

    @property
    def applied(self) -> int:
        """Number of the attempt whose change is in the files, as far as the session knows; 0 for none."""
        active = [each for each in self._applied if each.is_active]
        return active[-1].attempt if active else 0

    @property
    def applied_patch(self) -> str:
        """Reference of the patch whose result is in the files: the applied attempt's, or one of a team; "" for none."""
        active = [each for each in self._applied if each.is_active]
        if not active:
            return ""
        node = self.nodes.get(active[-1].attempt)
        return node.candidate.patch if node is not None and node.candidate is not None else active[-1].patch

    def get_node(self, number: int) -> AttemptNode:
        """Return an attempt. Raises UserError for a number that there is not."""
        if number in self.nodes:
            return self.nodes[number]
        known = [str(each) for each in sorted(self.nodes)]
        there = f"there is {known[0] if known else 'none'}"
        if len(known) > 1:
            there = f"there are {join_names(known, 20)}"
        raise UserError(Fault.USAGE, f"no attempt {number}: {there}", "List them: patchwright attempts")

    def list_ancestors(self, number: int) -> list[int]:
        """Return the attempts that one goes on from, nearest first."""
        found: list[int] = []
        waiting = [number]
        while waiting:
            later = waiting.pop()
            for each in self.nodes[later].parents if later in self.nodes else ():
                if each < later and each not in found:  # a log may be anybody's
                    found.append(each)
                    waiting.append(each)
        return found

    def walk(self) -> Iterator[tuple[int, AttemptNode]]:
        """Yield (depth, attempt), each below the one that it goes on from."""
        below: dict[int, list[AttemptNode]] = {}
        for number in sorted(self.nodes):
            node = self.nodes[number]
            # One that names itself or a later one is no tree: a log may be anybody's.
            parent = node.parent if node.parent in self.nodes and node.parent < number else 0
            below.setdefault(parent, []).append(node)
        waiting = [(0, each) for each in reversed(below.get(0, []))]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, each) for each in reversed(below.get(node.number, []))]

    def get_state(self, node: AttemptNode, *, is_open: bool) -> State:
        """Return the state of an attempt. is_open: a process has the session open"""
        candidate = node.candidate
        if candidate is None:
            return "running" if is_open and not self.has_ended else "cut off"
        if candidate.is_stopped:
            return "stopped"
        if candidate.is_surplus:
            return "not needed"
        return "ended" if candidate.child else "not started"

    def compare_tests(self, node: AttemptNode, sessions: Path) -> tuple[int, int] | None:
        """Return how many tests an attempt mended and broke; None where the runs before or after it name none.

        sessions: folder with the logs of the attempts
        """
        if self.failing is None or node.candidate is None:
            return None
        report = read_last_report(sessions, node.child)
        if not report:
            return None
        after = list_failing_tests(report)
        if report.get("outcome") != "passed" and not (after and report.get("outcome") == "failed"):
            return None  # it did not run, or could not be collected: nothing is known
        mended = self.failing - after
        if passed := report.get("passed_tests"):
            mended &= frozenset(passed)
        return len(mended), len(after - self.failing)


def read_last_report(sessions: Path, child: str) -> Mapping[str, Any]:
    """Return the report of the last check of a session; {} if there is none, or its log was deleted."""
    found: Mapping[str, Any] = {}
    if not child or "/" in child:
        return found
    try:
        for event in read_events(sessions / child):
            if isinstance(event, Verification):
                found = event.report
    except OSError:
        return {}
    return found
