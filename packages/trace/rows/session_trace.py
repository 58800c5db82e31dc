"""A session's log as rows: one for each reply of a model with its calls, one for each other thing that happened.

The log is read as it is, so that the trace of a session that runs, or that is damaged in one place, shows the rest.
Its lines are untrusted: every field is looked at as if anything could stand there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from agent.events import FORMAT, NewerFormat
from agent.monitor.signals.signal_detectors import FoundSignal
from packages.trace.outcomes import NO_FAILURES
from packages.trace.rows.branch_account import BranchAccount
from packages.trace.rows.command_tests import read_test_output
from packages.trace.rows.foreign_calls import complete_call
from packages.trace.rows.log_fields import (
    TOLD,
    build_call,
    get_text,
    measure_text,
    read_folds,
    read_list,
    read_number,
    read_test_report,
    read_usage,
    shorten_line,
)
from packages.trace.rows.row_signals import RowSignals, report_refusal
from packages.trace.rows.trace_rows import Row
from packages.trace.rows.window_account import WindowAccount, parse_place
from sandbox.parsed_data import parse_json

Fields = Mapping[str, Any]

IMPORTED = "imported"
"""Name of the signal with which the log of another agent's session begins, and outcome of its turns."""


class SessionTrace:
    """The trace of one session; `read_new_lines` continues it with what was written since."""

    def __init__(self, folder: Path) -> None:
        """folder: that of the session"""
        self.folder = folder
        self.id = folder.name
        self.rows: list[Row] = []
        self._below = BranchAccount()
        self.branches = self._below.branches
        self.facts: dict[str, Any] = {"title": "", "model": "", "project": "", "mode": "", "version": ""}
        self.revision = 0
        self.unread = 0
        """Lines that are no events."""
        self._offset = 0
        self._steps = 0
        self._parents: dict[int, int] = {}
        self._calls: dict[str, tuple[Row, dict[str, Any]]] = {}
        self._window = WindowAccount()
        self._step: Row | None = None
        self._signals = RowSignals()
        self._is_foreign = False

    def read_new_lines(self) -> bool:
        """Read the whole lines that were added; return whether there were any. Raises OSError, NewerFormat."""
        before = self._offset
        with (self.folder / "log.jsonl").open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self._read_line(line)
        return self._offset > before

    def find_step(self, number: int) -> Row | None:
        """Return the row of a step."""
        return next((row for row in self.rows if row.number == number), None)

    def find_parent(self, event: str) -> str:
        """Return the id of the event before one on its branch, "" if there is none."""
        place = self._parents.get(parse_place(event), 0)
        return f"e{place}" if place else ""

    def _read_line(self, line: bytes) -> None:
        try:
            fields = parse_json(line)
        except ValueError:
            fields = None
        if not isinstance(fields, dict) or not isinstance(fields.get("kind"), str):
            self.unread += 1
            return
        if isinstance(version := fields.get("v"), int) and version > FORMAT:
            raise NewerFormat(version)
        self.revision += 1
        place = parse_place(fields.get("id"))
        self._parents[place] = parse_place(fields.get("parent"))
        handle = _HANDLERS.get(fields["kind"])
        if handle is not None:
            handle(self, fields, place)

    def _add_row(self, fields: Fields, title: str, *, failed: bool = False, **detail: Any) -> Row:
        row = Row(
            number=0,
            event=get_text(fields.get("id")),
            kind=get_text(fields.get("kind")),
            title=shorten_line(title),
            time=read_number(fields.get("time")),
            detail={name: value for name, value in detail.items() if value not in (None, "", [], {})},
            failed=failed,
            revision=self.revision,
        )
        self.rows.append(row)
        return row

    def _touch(self, row: Row) -> None:
        row.revision = self.revision

    # ── What models and people say ───────────────────────────────────────────────────────────────────

    def _handle_session(self, fields: Fields, place: int) -> None:
        if not self.facts["version"]:
            for name in ("model", "project", "mode", "version"):
                self.facts[name] = get_text(fields.get(name))
            self.facts["started"] = read_number(fields.get("time"))
        system, model = get_text(fields.get("system")), get_text(fields.get("model"))
        if system:
            self._window.add(place, "prefix", measure_text(system))
        self._add_row(fields, f"{model}, {get_text(fields.get('mode'))}", text=system)

    def _handle_words(self, fields: Fields, place: int) -> None:
        text = get_text(fields.get("text"))
        self._window.add(place, "words", measure_text(text))
        if fields["kind"] == "prompt":
            self.facts["title"] = self.facts["title"] or shorten_line(text)
            self._judge_step()
        row = self._add_row(fields, text, text=text, by=get_text(fields.get("by")))
        self._show_signals(row, self._signals.judge_words(row))

    def _handle_message(self, fields: Fields, place: int) -> None:
        self._judge_step()
        usage = read_usage(fields.get("usage"))
        request = fields.get("request")
        if isinstance(request, dict) and "tools" in request:
            self._window.set_tools(measure_text(json.dumps(request["tools"])))
        parts = self._window.measure(int(usage["input"]))
        text, reasoning = get_text(fields.get("text")), get_text(fields.get("reasoning"))
        asked = [each for each in read_list(fields.get("actions")) if isinstance(each, dict)]
        self._window.add(
            place, "replies", measure_text(text) + sum(measure_text(json.dumps(each)) for each in asked)
        )
        calls = [build_call(each) for each in asked]
        if self._is_foreign:
            for call, each in zip(calls, asked, strict=True):
                complete_call(call, each.get("arguments"), self.facts["project"])
        names = ", ".join(f"{each['tool']} {each['about']}".strip() for each in calls)
        row = self._add_row(
            fields,
            names or text or ("(cut off)" if fields.get("partial") else "(empty reply)"),
            failed=any(each.get("problem") for each in calls),
            text=text,
            reasoning=reasoning,
            stop=get_text(fields.get("stop")),
            partial=bool(fields.get("partial")),
        )
        self._steps += 1
        row.number, row.kind, row.usage, row.parts = self._steps, "step", usage, parts
        row.model, row.seconds = get_text(fields.get("model")), usage["seconds"]
        row.detail["calls"] = calls
        for each in calls:
            self._calls[each["call"]] = (row, each)
        self._step = row

    # ── What is done ─────────────────────────────────────────────────────────────────────────────────

    def _handle_snapshot(self, fields: Fields, place: int) -> None:
        if self._step is not None and fields.get("when") == "after":
            self._step.tree = get_text(fields.get("tree"))

    def _find_call(self, fields: Fields) -> tuple[Row, dict[str, Any]]:
        """Return the row and the call of an event; one that no model asked for gets a row of its own."""
        name = get_text(fields.get("call"))
        if (found := self._calls.get(name)) is None:
            above = self._calls.get(get_text(fields.get("within")))
            call = build_call({"id": name, "tool": fields.get("tool"), "arguments": fields.get("arguments")})
            row = above[0] if above is not None else self._add_row(fields, f"{call['tool']} (harness)")
            if above is not None:
                call["within"] = above[1]["call"]
            row.detail.setdefault("calls", []).append(call)
            self._calls[name] = found = (row, call)
        self._touch(found[0])
        return found

    def _handle_action(self, fields: Fields, place: int) -> None:
        _, call = self._find_call(fields)
        call["effect"] = get_text(fields.get("effect"))
        call["start"] = read_number(fields.get("time"))
        if paths := [get_text(each) for each in read_list(fields.get("paths"))]:
            call["paths"] = paths

    def _handle_decision(self, fields: Fields, place: int) -> None:
        row, call = self._find_call(fields)
        verdict = get_text(fields.get("verdict"))
        call["decision"] = (
            f"{verdict} by {get_text(fields.get('by')) or 'policy'}: {get_text(fields.get('reason'))}"
        )
        if verdict == "deny":
            row.failed = call["refused"] = True
            if fields.get("by") == "person":
                self._show_signals(row, [report_refusal(row, get_text(fields.get("reason")))])

    def _handle_rule(self, fields: Fields, place: int) -> None:
        row, call = self._find_call(fields)
        call["rule"] = (
            f"{get_text(fields.get('rule'))}, {get_text(fields.get('answer'))}: {get_text(fields.get('reason'))}"
        )
        row.failed = row.failed or fields.get("answer") in ("refused", "undone")

    def _handle_observation(self, fields: Fields, place: int) -> None:
        row, call = self._find_call(fields)
        text, data = get_text(fields.get("text")), fields.get("data")
        self._window.add(place, "observations", measure_text(text))
        call |= {
            "output": text,
            "event": get_text(fields.get("id")),
            "seconds": read_number(fields.get("seconds")),
        }
        if fields.get("failed"):
            call["failed"] = row.failed = True
        if ref := get_text(fields.get("ref")):
            call["ref"] = ref
        if isinstance(data, dict):
            if isinstance(diff := data.get("diff"), str):
                call["diff"] = diff
            if changed := [get_text(each) for each in read_list(data.get("changed"))]:
                call["changed"] = changed
            if isinstance(code := data.get("exit"), int):
                call["exit"] = code
                row.failed = row.failed or code != 0
            self._show_tests(row, read_test_report(data.get("report")))
        if row.tests is None and (found := read_test_output(call, self.folder)) is not None:
            call["tests"] = True
            self._show_tests(row, found)
        row.seconds = max(row.seconds, read_number(fields.get("time")) - row.time + self._think_seconds(row))

    def _think_seconds(self, row: Row) -> float:
        return row.usage["seconds"] if row.usage is not None else 0.0

    def _show_tests(self, row: Row, found: tuple[list[int], list[str]] | None) -> None:
        if found is not None:
            row.tests, row.detail["failing"] = found
            row.failed = row.failed or found[0][1] > 0

    # ── What is told ─────────────────────────────────────────────────────────────────────────────────

    def _handle_compaction(self, fields: Fields, place: int) -> None:
        self._window.compact(place, fields)
        before, after = (int(read_number(fields.get(name))) for name in ("tokens_before", "tokens_after"))
        masked = fields.get("masked")
        row = self._add_row(
            fields,
            f"{get_text(fields.get('stage'))}: {before:,} → {after:,} tokens, {get_text(fields.get('reason'))}",
            took=before - after,
            masked=list(masked) if isinstance(masked, dict) else [],
            folds=read_folds(fields.get("folds")),
            undoes=get_text(fields.get("undoes")),
        )
        if not fields.get("undoes"):
            self._show_signals(row, self._signals.judge_compaction(row, self._steps))

    def _handle_side_call(self, fields: Fields, place: int) -> None:
        problem = get_text(fields.get("problem"))
        row = self._add_row(
            fields,
            f"{get_text(fields.get('purpose'))}: {problem or get_text(fields.get('text'))}",
            failed=bool(problem),
            text=get_text(fields.get("text")),
            problem=problem,
        )
        row.usage, row.model = read_usage(fields.get("usage")), get_text(fields.get("model"))
        row.seconds = row.usage["seconds"]

    def _handle_verification(self, fields: Fields, place: int) -> None:
        outcome, detail = get_text(fields.get("outcome")), get_text(fields.get("detail"))
        row = self._add_row(fields, f"{outcome}: {detail}", failed=outcome == "failed")
        self._show_tests(row, read_test_report(fields.get("report")))

    def _handle_verdict(self, fields: Fields, place: int) -> None:
        name, outcome, kind = (get_text(fields.get(each)) for each in ("name", "outcome", "evidence"))
        detail, attempt = get_text(fields.get("detail")), int(read_number(fields.get("attempt")))
        whole = f"{name}: {outcome} ({kind}) {detail}"
        if attempt:
            whole = f"attempt {attempt}, {whole}"
            self._below.add_verdict(attempt, [name, outcome, kind, detail])
        self._add_row(fields, whole, failed=outcome == "fail", text=detail)

    def _handle_plan(self, fields: Fields, place: int) -> None:
        items = [each for each in read_list(fields.get("items")) if isinstance(each, list) and len(each) == 2]
        done = sum(each[1] == "done" for each in items)
        text = "\n".join(f"[{get_text(status)}] {get_text(words)}" for words, status in items)
        self._add_row(fields, f"{done} of {len(items)} done", text=text)

    def _handle_note(self, fields: Fields, place: int) -> None:
        """Show an event by the fields that its kind is told by."""
        kind = fields["kind"]
        if kind == "signal" and fields.get("name") == IMPORTED:
            self._is_foreign = True
        words = [get_text(fields[name]) for name in TOLD[kind] if fields.get(name) not in (None, "", [])]
        text = get_text(
            fields.get("detail") or fields.get("message") or fields.get("text") or fields.get("note")
        )
        self._add_row(
            fields, ": ".join(words), failed=kind == "error", text=text, hint=get_text(fields.get("hint"))
        )

    def _handle_feedback(self, fields: Fields, place: int) -> None:
        """Show a person's note on a step in a row of its own, and at the step."""
        text = get_text(fields.get("text"))
        told = f"{'good' if fields.get('good') is True else 'bad'}: {text}"
        step = next((each for each in reversed(self.rows) if each.event == fields.get("event")), None)
        row = self._add_row(fields, f"step {step.number}: {told}" if step else told, text=text)
        row.detail |= {"step": step.number if step else 0, "good": fields.get("good") is True}
        if step is not None:
            step.detail.setdefault("feedback", []).append(told)
            step.title = f"{step.title} [{told.partition(':')[0]}]"
            self._touch(step)

    def _judge_step(self) -> None:
        """Look for signals in the step that ends here."""
        row, self._step = self._step, None
        if row is not None:
            self._show_signals(row, self._signals.judge_step(row))

    def _show_signals(self, row: Row, found: Iterable[FoundSignal]) -> None:
        for each in found:
            row.signals.append(each)
            row.detail.setdefault("signals", []).append(f"{each.name}: {each.detail}")
            row.title = f"{row.title} [{each.name}]"
            self._touch(row)

    def _handle_end(self, fields: Fields, place: int) -> None:
        self._judge_step()
        outcome, code = get_text(fields.get("outcome")), int(read_number(fields.get("exit_code")))
        self.facts |= {"outcome": outcome, "exit_code": code, "ended": read_number(fields.get("time"))}
        row = self._add_row(
            fields,
            f"{outcome} (exit code {code}) {get_text(fields.get('reason'))}".strip(),
            failed=code not in NO_FAILURES,
            text=get_text(fields.get("summary")),
            files=[get_text(each) for each in read_list(fields.get("files"))],
            commit=get_text(fields.get("commit")),
            verification=get_text(fields.get("verification")),
            not_committed=get_text(fields.get("not_committed")),
        )
        row.detail["outcome"], row.detail["exit_code"] = outcome, code

    def _handle_rewind(self, fields: Fields, place: int) -> None:
        branch: set[int] = set()
        at = parse_place(fields.get("to"))
        while at and at not in branch:
            branch.add(at)
            at = self._parents.get(at, 0)
        for row in self.rows:
            off = parse_place(row.event) not in branch
            if off != row.off:
                row.off = off
                self._touch(row)
        self._window.keep_branch(branch)
        self._add_row(fields, f"back to {get_text(fields.get('to'))}")

    def _handle_below(self, fields: Fields, place: int) -> None:
        """Show what became of a session below this one."""
        told = self._below.take_event(fields, len(self.rows))
        self._add_row(fields, told.title, failed=told.failed, **told.detail)


_HANDLERS: Mapping[str, Callable[[SessionTrace, Fields, int], None]] = {
    "session": SessionTrace._handle_session,
    "prompt": SessionTrace._handle_words,
    "steer": SessionTrace._handle_words,
    "message": SessionTrace._handle_message,
    "action": SessionTrace._handle_action,
    "decision": SessionTrace._handle_decision,
    "rule": SessionTrace._handle_rule,
    "observation": SessionTrace._handle_observation,
    "snapshot": SessionTrace._handle_snapshot,
    "compaction": SessionTrace._handle_compaction,
    "side-call": SessionTrace._handle_side_call,
    "verification": SessionTrace._handle_verification,
    "verdict": SessionTrace._handle_verdict,
    "plan": SessionTrace._handle_plan,
    "end": SessionTrace._handle_end,
    "rewind": SessionTrace._handle_rewind,
    "feedback": SessionTrace._handle_feedback,
    **dict.fromkeys(("child", "attempt", "candidate", "choice"), SessionTrace._handle_below),
    **dict.fromkeys(TOLD, SessionTrace._handle_note),
}
