"""Why a session failed: from its failed outcome backward over what made what, to the step with the first error.

Edges lead from a row to those that it rests on: an edit to the last reading and the last edit of its file, a run of the
tests to the edits since the run before, a call to the latest result that names its target, a step to the failure
that it answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from packages.trace.local_faults import (
    CONTEXT,
    DEVIATION,
    EXHAUSTED,
    REPEATED,
    UNFOUNDED_CLAIM,
    UNREAD,
    WRONG_PLACE,
    Mark,
    find_marks,
)
from packages.trace.outcomes import NO_FAILURES, infer_failure
from packages.trace.rows.session_trace import IMPORTED, SessionTrace
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

NEAR = 200
"""Rows in which the source of a call is looked for: what is further back has mostly left the window."""

LIMIT = 4
"""Exit code of a turn that reached a limit."""

_CLAIM = compile_lazily(
    r"(?i)\b(?:all|the)? ?tests? (?:now )?pass|\bfixed\b|\bdone\b|\bworks now\b|\bsolved\b|\bimplemented\b"
)

_IDLE = compile_lazily(r"(?:echo|printf|true|:)\b[^|;&<>`$]*")
"""A command that does nothing but say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The step with the first error that the failed outcome rests on.

    step: its number, 0 for an event that is no step; event: id in the log of `session`
    kind: of TRAIL's taxonomy; evidence: lines, each with the place that it is from; agent: "" for the session itself
    """

    session: str
    step: int
    event: str
    kind: str
    reason: str
    outcome: str
    evidence: Sequence[str]
    agent: str = ""


def diagnose(traces: Sequence[SessionTrace], *, is_wrong: bool = False) -> Diagnosis | None:
    """Return the diagnosis of the first of these sessions, or of one below; None if its last turn did not fail.

    is_wrong: the result is known to be wrong, whatever the end of the session says
    """
    trace = traces[0]
    rows = trace.rows
    end = next((place for place in range(len(rows) - 1, -1, -1) if rows[place].kind == "end"), None)
    if end is None or rows[end].off:
        return None
    outcome = rows[end].title
    if rows[end].detail["exit_code"] in NO_FAILURES:
        seen = infer_failure(rows[:end]) if rows[end].detail["outcome"] == IMPORTED else ""
        if not seen and not is_wrong:
            return None
        outcome = f"{outcome}: {seen or 'said to be wrong'}"
    if (below := _diagnose_child(traces, end)) is not None:
        return below
    mark, evidence = _Search(rows, end).find_first_error()
    row = rows[mark.place]
    told = [f"{_name_row(row)}: {mark.evidence}", *evidence, f"{_name_row(rows[end])}: {outcome}"]
    return Diagnosis(
        session=trace.id,
        step=row.number,
        event=row.event,
        kind=mark.kind,
        reason=mark.reason,
        outcome=outcome,
        evidence=list(dict.fromkeys(told)),
    )


def _diagnose_child(traces: Sequence[SessionTrace], end: int) -> Diagnosis | None:
    """Return the diagnosis of an agent whose failure was the last before the end; attempts compete and are none."""
    above = traces[0]
    failed = [
        each
        for each in above.branches.values()
        if each.exit_code not in (None, -1, *NO_FAILURES) and not each.attempt and each.row < end
    ]
    for branch in reversed(failed):
        if any(row.number and row.detail.get("calls") for row in above.rows[branch.row + 2 : end]):
            continue  # the session went on by itself after it
        below = [each for each in traces if each.id == branch.child]
        others = [each for each in traces[1:] if each.id != branch.child]  # no session is below itself
        found = diagnose([*below, *others]) if below else None
        if found is not None:
            return Diagnosis(
                session=found.session,
                step=found.step,
                event=found.event,
                kind=found.kind,
                reason=found.reason,
                outcome=above.rows[end].title,
                evidence=[*found.evidence, f"{branch.label} ended: {branch.outcome}"],
                agent=found.agent or branch.label,
            )
    return None


class _Search:
    """The walk backward in one session."""

    def __init__(self, rows: Sequence[Row], end: int) -> None:
        self._rows = rows
        self._end = end
        self._marks = [each for each in find_marks(rows) if each.place < end]
        self._tests = [place for place in range(end) if rows[place].tests is not None and not rows[place].off]
        self._edits = [
            (place, call)
            for place in range(end)
            if not rows[place].off
            for call in rows[place].detail.get("calls", ())
            if not call.get("failed")
            and (call.get("diff") or call.get("changed") or call.get("effect") == "write")
        ]

    def find_first_error(self) -> tuple[Mark, list[str]]:
        """Return the fault that the outcome rests on, and what leads from it to the outcome."""
        if (stopped := self._find_stop()) is not None:
            return stopped, []
        if self._tests and self._list_failing(self._tests[-1]):
            return self._explain_tests(self._tests[-1])
        return self._find_cause() or self._judge_end(), []

    def _find_stop(self) -> Mark | None:
        """Return what ended the turn from outside: an error, or a limit that a loop has used up."""
        for mark in reversed(self._marks):
            if self._rows[mark.place].kind == "error":
                return self._find_loop() or mark if mark.kind == CONTEXT else mark
        if self._rows[self._end].detail["exit_code"] != LIMIT:
            return None
        last = self._find_last_step()
        return (
            self._find_loop()
            or self._find_cause()
            or Mark(place=last, kind=EXHAUSTED, reason="a limit was reached", evidence=self._rows[last].title)
        )

    def _find_cause(self) -> Mark | None:
        """Return the first fault that was not made good and that the end rests on."""
        causes = self._walk_back(self._end)
        return next((each for each in self._marks if each.place in causes and not each.recovered), None)

    def _find_loop(self) -> Mark | None:
        return next((each for each in reversed(self._marks) if each.kind == REPEATED), None)

    # ── Tests ────────────────────────────────────────────────────────────────────────────────────────

    def _explain_tests(self, last: int) -> tuple[Mark, list[str]]:
        """Return the fault behind the tests that fail at the end, broken ones before those that were never mended."""
        failing = self._list_failing(last)
        for name in failing:
            first = next(place for place in self._list_streak(name))
            before = [place for place in self._tests if place < first]
            if before:
                return self._blame_edit(name, before[-1], first)
        return self._explain_unmended(failing[0], last)

    def _list_failing(self, place: int) -> list[str]:
        tests = self._rows[place].tests
        names: list[str] = self._rows[place].detail.get("failing", [])
        return names or (["a test"] if tests is not None and tests[1] else [])

    def _list_streak(self, name: str) -> list[int]:
        """Return the last runs in a row in which a test fails, oldest first."""
        streak: list[int] = []
        for place in reversed(self._tests):
            if name not in self._list_failing(place):
                break
            streak.insert(0, place)
        return streak

    def _blame_edit(self, name: str, passed: int, failed: int) -> tuple[Mark, list[str]]:
        between = [(place, call) for place, call in self._edits if passed < place <= failed]
        evidence = [
            f"{_name_row(self._rows[passed])}: {name} does not fail",
            f"{_name_row(self._rows[failed])}: {name} fails",
        ]
        if not between:
            place = failed
            reason = f"{name} began to fail without an edit in between"
            return Mark(
                place=place, kind=DEVIATION, reason=reason, evidence=self._rows[place].title
            ), evidence
        text = self._collect_output(failed)
        named = [(place, call) for place, call in between if any(path in text for path in _list_paths(call))]
        place, call = (named or between)[-1]
        known = self._list_known(place)
        unread = [path for path in _list_paths(call) if path not in known and not _is_new(call)]
        reason = f"its edit of {', '.join(_list_paths(call))} broke {name}"
        if unread:
            reason += f"; it had not read {', '.join(unread)}"
        return (
            Mark(
                place=place,
                kind=UNREAD if unread else WRONG_PLACE,
                reason=reason,
                evidence=self._rows[place].title,
            ),
            evidence,
        )

    def _explain_unmended(self, name: str, last: int) -> tuple[Mark, list[str]]:
        evidence = [f"{_name_row(self._rows[last])}: {name} fails"]
        edits = [place for place, _ in self._edits]
        causes = self._walk_back(self._end) | self._walk_back(last)
        for mark in self._marks:
            if mark.place in causes and not mark.recovered and (not edits or mark.place <= edits[0]):
                return mark, evidence
        if loop := self._find_loop():
            return loop, evidence
        if not edits:
            return self._judge_end(), evidence
        text = self._collect_output(last)
        place, call = next(
            ((at, each) for at, each in self._edits if not any(path in text for path in _list_paths(each))),
            self._edits[0],
        )
        reason = f"its edit of {', '.join(_list_paths(call))} leaves {name} failing"
        return Mark(place=place, kind=WRONG_PLACE, reason=reason, evidence=self._rows[place].title), evidence

    def _collect_output(self, place: int) -> str:
        return "\n".join(str(each.get("output", "")) for each in self._rows[place].detail.get("calls", ()))

    def _list_known(self, place: int) -> set[str]:
        return {
            path
            for row in self._rows[:place]
            if not row.off
            for call in row.detail.get("calls", ())
            if not call.get("failed")
            for path in (*call.get("paths", ()), *call["about"].split())
        }

    # ── Causes ───────────────────────────────────────────────────────────────────────────────────────

    def _walk_back(self, start: int) -> set[int]:
        """Return the places that a row rests on, itself included."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                waiting += self._list_causes(place)
        return seen

    def _list_causes(self, place: int) -> Iterator[int]:
        row = self._rows[place]
        if row.kind == "end":
            kinds = ("error", "verification", "verdict")
            yield from (at for at in self._look_back(place, place) if self._rows[at].kind in kinds)
        if not row.number:
            yield from self._look_back(place, 1)
        earlier = next((at for at in self._look_back(place, NEAR) if self._rows[at].number), None)
        if earlier is not None and (self._rows[earlier].failed or not row.detail.get("calls")):
            yield earlier
        if row.tests is not None:
            since = max((at for at in self._tests if at < place), default=-1)
            yield from (at for at, _ in self._edits if since < at < place)
        for call in row.detail.get("calls", ()):
            yield from self._find_sources(call, place)

    def _find_sources(self, call: Mapping[str, Any], place: int) -> Iterator[int]:
        """Yield the latest row that touched a file of the call, and the latest one whose result names its target."""
        paths, target = {*_list_paths(call)}, str(call["about"])
        for wanted in (
            lambda each: bool(paths & {*_list_paths(each)}),
            lambda each: len(target) > 3 and target in str(each.get("output", "")),
        ):
            yield from itertools.islice(
                (
                    at
                    for at in self._look_back(place, NEAR)
                    if any(map(wanted, self._rows[at].detail.get("calls", ())))
                ),
                1,
            )

    def _look_back(self, place: int, most: int) -> Iterator[int]:
        """Yield at most so many places before one on its branch, the newest first."""
        places = (at for at in range(place - 1, -1, -1) if not self._rows[at].off)
        return itertools.islice(places, most)

    def _find_last_step(self) -> int:
        steps = [at for at in range(self._end) if self._rows[at].number and not self._rows[at].off]
        return steps[-1] if steps else self._end

    def _judge_end(self) -> Mark:
        """Return the fault of the last step where nothing before it is one: a claim without evidence, or giving up."""
        last = self._find_last_step()
        text = self._rows[last].detail.get("text", "")
        if _CLAIM.search(text) and not any(
            at > max((e for e, _ in self._edits), default=-1) for at in self._tests
        ):
            reason = "it says that the work is done, and nothing was run that shows it"
            return Mark(
                place=last, kind=UNFOUNDED_CLAIM, reason=reason, evidence=" ".join(text.split())[:200]
            )
        if not self._tests and (place := self._find_first_change()) is not None:
            reason = "what it changed first is not what was asked for, and nothing was run that shows it"
            return Mark(place=place, kind=WRONG_PLACE, reason=reason, evidence=self._rows[place].title)
        blind = next((at for at, call in self._edits if not _is_new(call)), None)
        if not self._tests and blind is not None:
            reason = "it changed a file that it had not read, and nothing was run that shows it"
            return Mark(place=blind, kind=UNREAD, reason=reason, evidence=self._rows[blind].title)
        place = self._find_idling(last)
        reason = "it gave up" if place < last else "it ended without what was asked for"
        return Mark(place=place, kind=DEVIATION, reason=reason, evidence=self._rows[place].title)

    def _find_first_change(self) -> int | None:
        """Return the first edit of a file that had been read: what a session makes itself is mostly a trial."""
        read: set[str] = set()
        edits = iter(self._edits)
        edit = next(edits, None)
        for place, row in enumerate(self._rows[: self._end]):
            while edit is not None and edit[0] == place:
                if read & {*map(_find_name, _list_paths(edit[1]))}:
                    return place
                edit = next(edits, None)
            for call in () if row.off else row.detail.get("calls", ()):
                if call.get("effect") == "read" and not call.get("failed"):
                    read.update(map(_find_name, _list_paths(call)))
        return None

    def _find_idling(self, last: int) -> int:
        """Return the first of the last steps whose calls only say something; the last step if there are none."""
        first = last
        steps = (at for at in range(last, -1, -1) if self._rows[at].number and not self._rows[at].off)
        for place in steps:
            calls = self._rows[place].detail.get("calls", ())
            if place != last and not (calls and all(map(_is_idle, calls))):
                break
            first = place
        return first


def _is_idle(call: Mapping[str, Any]) -> bool:
    return call.get("effect") == "execute" and _IDLE.fullmatch(str(call["about"])) is not None


def _find_name(path: str) -> str:
    return path.rpartition("/")[2]


def _list_paths(call: Mapping[str, Any]) -> list[str]:
    return [*call.get("paths", ()), *call.get("changed", ())]


def _is_new(call: Mapping[str, Any]) -> bool:
    return str(call.get("diff", "")).startswith("--- /dev/null") or "changed" in call


def _name_row(row: Row) -> str:
    return f"step {row.number} ({row.event})" if row.number else f"{row.kind} ({row.event})"
