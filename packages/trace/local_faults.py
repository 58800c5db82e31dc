"""What went wrong in one step, as far as the step itself and what came before it tell.

Kinds are those of TRAIL (Deshpande et al., 2025, arXiv:2505.08638, appendix A).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.monitor.signals.signal_detectors import LoopDetector
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

FORMATTING = "Formatting Errors"
MADE_UP_TOOL = "Tool-related Hallucination"
UNFOUNDED_CLAIM = "Language-only Hallucination"
UNREAD = "Poor Information Retrieval"
MISREAD = "Tool Output Misinterpretation"
WRONG_PLACE = "Incorrect Problem Identification"
WRONG_TOOL = "Tool Selection Errors"
AGAINST_RULES = "Instruction Non-compliance"
ENVIRONMENT = "Environment Setup Errors"
RATE, KEY, SERVICE, NOT_THERE = (
    "Rate Limiting",
    "Authentication Errors",
    "Service Errors",
    "Resource Not Found",
)
EXHAUSTED, TIMEOUT = "Resource Exhaustion", "Timeout Issues"
CONTEXT, REPEATED = "Context Handling Failures", "Resource Abuse"
DEVIATION = "Goal Deviation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A fault of one row. place: of the row in the trace; recovered: what it was to do was done later"""

    place: int
    kind: str
    reason: str
    evidence: str
    recovered: bool = False


_PATTERNS = {
    MADE_UP_TOOL: compile_lazily(r"there is no tool |unknown tool|no such tool"),
    FORMATTING: compile_lazily(r"(?i)\Ausage: |syntax error near unexpected token"),
    TIMEOUT: compile_lazily(r"(?i)\btimed? ?out\b|\btimeout after\b|did not end within|\Ainterrupted; "),
    RATE: compile_lazily(r"(?i)\brate[- ]?limit|\b429\b|too many requests|quota"),
    KEY: compile_lazily(
        r"(?i)\b401\b|\b403\b|unauthorized|invalid api key|credentials?\b|permission denied \(publickey"
    ),
    CONTEXT: compile_lazily(r"(?i)context (?:window|length)|maximum context|too many tokens"),
    SERVICE: compile_lazily(
        r"(?i)\b50[0234]\b|service unavailable|connection (?:refused|reset)|unreachable|overloaded"
    ),
    ENVIRONMENT: compile_lazily(
        r"(?m)command not found|ModuleNotFoundError|No module named|Cannot find module|exit 127"
    ),
    NOT_THERE: compile_lazily(
        r"(?i)no such file|does not exist|no file \S+|cannot find the path|: not found"
    ),
}
"""Words of results by the fault that they tell, the first that fits counts."""

_WRITTEN_CALL = compile_lazily(
    r"\"(?:name|tool|function)\"\s*:\s*\"([\w.-]+)\"[\s\S]{0,40}?\"(?:arguments|parameters|args|input)\"\s*:"
    r"|</?tool_call>|<function=([\w.-]+)"
)
"""A call in the words of a reply: of tools that were asked for, none is left there."""

_REASONS: Mapping[str, str] = {
    MADE_UP_TOOL: "it called a tool that there is not",
    FORMATTING: "its call does not have the form that is asked for",
    TIMEOUT: "a command did not end in its time",
    RATE: "a service refused more requests",
    KEY: "a service refused the credentials",
    CONTEXT: "the window was full",
    SERVICE: "a service did not answer",
    ENVIRONMENT: "a program or package is missing",
    NOT_THERE: "it asked for what is not there",
}


def find_marks(rows: Sequence[Row]) -> list[Mark]:
    """Return the faults of rows, oldest first; those of a branch that a rewind left are none."""
    found: list[Mark] = []
    said: list[str] = []  # texts that the model had seen
    read: set[str] = set()
    asked = ""
    for place, row in enumerate(rows):
        if row.off:
            continue
        if row.kind == "prompt":
            asked = str(row.detail.get("text", ""))
        if row.kind == "error":
            kind = classify_text(row.title) or SERVICE
            found.append(Mark(place=place, kind=kind, reason=_REASONS[kind], evidence=row.title))
        if row.number and not row.detail.get("calls"):
            found += _find_reply_marks(place, rows)
        for call in row.detail.get("calls", ()):
            if not is_asked_for(call, asked) and (mark := _find_mark(place, call, said, read)) is not None:
                found.append(mark)
            read.update(call.get("paths", ()))
        said += [text for text in (row.detail.get("text"), *_list_outputs(row)) if text]
    found += _find_loops(rows)
    return sorted((_judge_recovery(each, rows) for each in found), key=lambda each: each.place)


def classify_text(text: str) -> str:
    """Return the fault that words tell, "" for none."""
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), "")


def _find_reply_marks(place: int, rows: Sequence[Row]) -> Iterator[Mark]:
    """Yield the fault of a reply without calls that is no answer: it is empty, or its call stands in its words."""
    row = rows[place]
    text = str(row.detail.get("text", ""))
    later = [each for each in rows[place + 1 :] if each.number and not each.off]
    if not text.strip() and not row.detail.get("partial"):
        is_answered = any(
            str(each.detail.get("text", "")).strip() or each.detail.get("calls") for each in later
        )
        yield Mark(
            place=place,
            kind=AGAINST_RULES,
            reason="its reply was empty",
            evidence=row.title,
            recovered=is_answered,
        )
    elif (call := _WRITTEN_CALL.search(text)) is not None:
        told = " ".join(text[call.start() :].split())[:200]
        yield Mark(
            place=place,
            kind=FORMATTING,
            reason="its call stands in the words of its reply, where nothing carries it out",
            evidence=told,
            recovered=any(each.detail.get("calls") for each in later),
        )


def _find_mark(place: int, call: Mapping[str, Any], said: Sequence[str], read: set[str]) -> Mark | None:
    output, tool = str(call.get("output", "")), str(call["tool"])
    head = output[:2_000]

    def mark(kind: str, reason: str) -> Mark:
        told = " ".join((call.get("decision") or call.get("problem") or head).split())[:200]
        return Mark(place=place, kind=kind, reason=reason, evidence=f"{tool} {call['about']}: {told}")

    if call.get("problem"):
        return mark(FORMATTING, "its call could not be read")
    if call.get("refused"):
        return mark(AGAINST_RULES, "what it asked for is not allowed")
    if not (call.get("failed") or call.get("exit")) or tool == "run_tests" or call.get("tests"):
        return None
    kind = classify_text(head)
    target = str(call.get("about", ""))
    if kind == NOT_THERE and target and not any(target in text for text in said):
        return mark(MADE_UP_TOOL, f"it made {target!r} up: nothing before names it")
    if call.get("effect") == "write" and kind in ("", NOT_THERE):
        if {*call.get("paths", ())} <= read and call.get("paths"):
            return mark(MISREAD, "its edit does not fit the file that it had read")
        return mark(UNREAD, "it edited a file that it had not read")
    if kind:
        return mark(kind, _REASONS[kind])
    return mark(WRONG_TOOL, "its call failed") if call.get("failed") else None


def _list_outputs(row: Row) -> Iterator[str]:
    for call in row.detail.get("calls", ()):
        if not call.get("failed"):
            yield str(call.get("output", ""))


def _judge_recovery(mark: Mark, rows: Sequence[Row]) -> Mark:
    """Return the mark as recovered if a later call did what the failed one was to do."""
    failed = next((each for each in rows[mark.place].detail.get("calls", ()) if has_failed(each)), None)
    if failed is None or mark.kind == REPEATED:
        return mark
    for row in rows[mark.place + 1 :]:
        for call in () if row.off else row.detail.get("calls", ()):
            if "output" in call and not has_failed(call) and _has_same_aim(failed, call):
                return Mark(
                    place=mark.place,
                    kind=mark.kind,
                    reason=mark.reason,
                    evidence=mark.evidence,
                    recovered=True,
                )
    return mark


def _has_same_aim(failed: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Return whether a call is of the same tool and about the same: a file of that name, a command that begins so.

    What one tool could not read in a file another one may have found there.
    """
    if failed.get("effect") == call.get("effect") == "read" and {*failed.get("paths", ())} & {
        *call.get("paths", ())
    }:
        return True
    if call["tool"] != failed["tool"]:
        return False
    if failed.get("problem"):
        return True
    if failed.get("effect") == "execute":
        return str(call["about"]).split()[:2] == str(failed["about"]).split()[:2]
    return str(call["about"]).rpartition("/")[2] == str(failed["about"]).rpartition("/")[2]


def is_asked_for(call: Mapping[str, Any], prompt: str) -> bool:
    """Return whether a call runs a command that the prompt names: it may be known to fail."""
    command = str(call["about"])
    named = command if " " in command else f"`{command}`"  # a single word may be part of another
    return call.get("effect") == "execute" and named in prompt


def has_failed(call: Mapping[str, Any]) -> bool:
    """Return whether a call failed, was refused, or could not be read."""
    return bool(call.get("failed") or call.get("exit") or call.get("refused") or call.get("problem"))


def _find_loops(rows: Sequence[Row]) -> Iterator[Mark]:
    """Yield each loop that a signal tells, at the first step that was done again."""
    places = {row.event: place for place, row in enumerate(rows)}
    loops = {
        signal.began: (row, signal)
        for row in rows
        if not row.off
        for signal in row.signals
        if signal.name == LoopDetector.name
    }
    for began, (row, signal) in loops.items():
        first = rows[places[began]]
        evidence = f"steps {first.number} to {row.number} repeat: {first.title}"
        yield Mark(place=places[began], kind=REPEATED, reason=signal.detail, evidence=evidence)
