"""What became of the sessions, attempts and agents below a traced session, from the events that tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packages.trace.rows.log_fields import get_text, read_list, read_number, read_usage
from packages.trace.rows.trace_rows import Branch
from sandbox.lazy_dataclass import dataclass

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldEvent:
    """An event as a row shows it."""

    title: str
    detail: Mapping[str, Any]
    failed: bool = False


class BranchAccount:
    """Follows the branches of one session."""

    def __init__(self) -> None:
        self.branches: dict[str, Branch] = {}
        self._attempts: dict[int, Branch] = {}

    def take_event(self, fields: Fields, row: int) -> ToldEvent:
        """Process an event of kind child, attempt, candidate or choice. row: place of the row that will show it"""
        match fields["kind"]:
            case "child":
                return self._take_child(fields, row)
            case "attempt":
                return self._take_attempt(fields, row)
            case "candidate":
                return self._take_candidate(fields)
            case _:
                return self._take_choice(fields)

    def add_verdict(self, attempt: int, verdict: list[str]) -> None:
        """Add a verdict on an attempt: name, outcome, kind of evidence, detail."""
        if (branch := self._attempts.get(attempt)) is not None:
            branch.verdicts = [*(branch.verdicts or ()), verdict]

    def _take_child(self, fields: Fields, row: int) -> ToldEvent:
        child, state = get_text(fields.get("child")), get_text(fields.get("state"))
        label = get_text(fields.get("agent")) or get_text(fields.get("role")) or "child"
        branch = self.branches.setdefault(child, Branch(child=child, label=label, row=row))
        branch.prompt = branch.prompt or get_text(fields.get("prompt"))
        if state != "ended":
            return ToldEvent(title=f"{branch.label} {state}", detail={"child": child, "text": branch.prompt})
        _end_branch(branch, fields)
        return ToldEvent(
            title=f"{branch.label} {state}: {branch.outcome}",
            failed=bool(branch.exit_code),
            detail={"child": child, "text": branch.report},
        )

    def _take_attempt(self, fields: Fields, row: int) -> ToldEvent:
        number, child = int(read_number(fields.get("number"))), get_text(fields.get("child"))
        branch = self.branches.setdefault(child, Branch(child=child, label="", row=row))
        branch.label, branch.attempt = f"attempt {number}", number
        self._attempts[number] = branch
        words = [get_text(fields.get(name)) for name in ("strategy", "model", "hint")]
        return ToldEvent(
            title=f"attempt {number} {' '.join(filter(None, words))}",
            detail={"child": child, "text": words[2]},
        )

    def _take_candidate(self, fields: Fields) -> ToldEvent:
        number = int(read_number(fields.get("attempt")))
        if (branch := self._attempts.get(number)) is not None:
            _end_branch(branch, fields)
        return ToldEvent(
            title=f"attempt {number}: {get_text(fields.get('outcome'))}, {int(read_number(fields.get('lines')))} lines"
            f" {get_text(fields.get('verification'))}",
            detail={
                "text": get_text(fields.get("report")),
                "child": get_text(fields.get("child")),
                "files": [get_text(each) for each in read_list(fields.get("files"))],
            },
        )

    def _take_choice(self, fields: Fields) -> ToldEvent:
        number = int(read_number(fields.get("attempt")))
        for branch in self._attempts.values():
            branch.chosen = branch.attempt == number
        reason = get_text(fields.get("abstained")) or get_text(fields.get("reason"))
        return ToldEvent(title=f"attempt {number} chosen: {reason}", detail={"text": reason})


def _end_branch(branch: Branch, fields: Fields) -> None:
    branch.outcome, branch.report = get_text(fields.get("outcome")), get_text(fields.get("report"))
    branch.exit_code = int(read_number(fields.get("exit_code")))
    branch.seconds = read_number(fields.get("seconds"))
    branch.cost = read_usage(fields.get("usage"))["cost"]
