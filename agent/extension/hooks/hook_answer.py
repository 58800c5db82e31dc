"""What a hook answers: its exit code and output, as Claude Code reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from agent.extension.hooks.hook_definition import HookDefinition
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_unambiguous_table

BLOCKED = 2
"""Exit code by which a hook forbids."""

LONGEST_CONTEXT = 10_000
"""Characters that one hook may add to a conversation."""

Verdict = Literal["", "allow", "ask", "deny"]

_WORDS: Mapping[str, Verdict] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
    "defer": "deny",
}
_RANKS: tuple[Verdict, ...] = ("", "allow", "ask", "deny")
_PLAIN_TEXT_COUNTS = ("SessionStart", "UserPromptSubmit")
"""Events at which output that is no JSON is context for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """Answer of one hook, or of several together.

    arguments: other input for the tool, under the names of the tool as the hook was told it; None for the same
    context: text for the model; stop: why the turn is to end, "" if it goes on
    output: what the model is to get as the result of a tool, None for what the tool gave
    message: text for the person; problem: why a hook gave no answer
    """

    verdict: Verdict = ""
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    context: str = ""
    stop: str = ""
    message: str = ""
    problem: str = ""
    output: Any = None


def parse_answer(hook: HookDefinition, code: int, out: str, err: str) -> HookAnswer:
    """Return the answer of a hook that ended with this exit code. One of a project cannot allow."""
    if hook.dialect and code not in (0, BLOCKED):
        from agent.extension.hooks.hook_dialect import ends_turn

        if ends_turn(hook.dialect, code):
            reason = clip_text(err.strip()) or "a hook ended the turn"
            return HookAnswer(verdict="deny", reason=reason, stop=reason)
    if code == BLOCKED:
        return HookAnswer(verdict="deny", reason=clip_text(err.strip()) or "a hook forbids it")
    if code != 0:
        line = next(reversed(err.strip().splitlines()), "")
        problem = f"exit {code}{f': {line[:200]}' if line else ''}"
        return build_failure(hook, problem)
    text = out.strip().lstrip("\ufeff")
    is_judged = hook.is_guard and hook.event not in _PLAIN_TEXT_COUNTS
    if not text.startswith("{") and not (is_judged and "\n{" in text):
        return HookAnswer(context=clip_text(text)) if hook.event in _PLAIN_TEXT_COUNTS else HookAnswer()
    tables = _find_tables(text)
    if tables is None and hook.is_guard:
        return refuse_unclear("the hook's output is no JSON")
    if tables is None:
        return build_failure(hook, "its output is no JSON")
    return combine_answers(read_output(hook, each) for each in tables)


def _find_tables(text: str) -> Sequence[Mapping[str, Any]] | None:
    """Return the table that an output is, or those of its lines but for a promise to answer later. None for what can
    be read in several ways, or in none."""
    try:
        whole = parse_unambiguous_table(text)
    except ValueError:
        whole = None
    if whole is not None:
        return [whole]
    tables = []
    for line in text.splitlines():
        if line.lstrip().startswith("{"):
            try:
                tables.append(parse_unambiguous_table(line))
            except ValueError:
                return None
        elif tables and line.strip():
            return None  # a table over several lines, or words behind one
    return [each for each in tables if "async" not in each] or tables or None


def refuse_unclear(problem: str) -> HookAnswer:
    """Return the answer of a guard that may have meant a refusal."""
    return HookAnswer(verdict="deny", reason=f"{problem}, so it counts as a refusal", problem=problem)


def build_failure(hook: HookDefinition, problem: str) -> HookAnswer:
    """Return the answer of a hook that gave none: nothing, or a refusal where it is strict."""
    if hook.is_strict:
        return HookAnswer(
            verdict="deny", reason=f"a hook that has to pass failed: {problem}", problem=problem
        )
    return HookAnswer(problem=problem)


def build_refusal(hook: HookDefinition) -> HookAnswer:
    """Return the answer of a hook that cannot run as it is written: a guard forbids what it was to judge."""
    problem = f"{hook.source}: {hook.refusal}"
    if not hook.is_guard:
        return HookAnswer(problem=problem)
    reason = (
        f"one in {hook.source} cannot run as it is written: {hook.refusal}. A user has to mend or remove it"
    )
    return HookAnswer(verdict="deny", reason=reason, problem=problem)


def read_output(hook: HookDefinition, found: Mapping[str, Any]) -> HookAnswer:
    """Return the answer that a hook's JSON means."""
    if hook.dialect:
        from agent.extension.hooks.hook_dialect import translate_answer

        found = translate_answer(hook.dialect, found)
    given = found.get("hookSpecificOutput")
    specific: Mapping[str, Any] = given if isinstance(given, dict) else {}
    decided = specific.get("decision")
    decision: Mapping[str, Any] = decided if isinstance(decided, dict) else {}  # of PermissionRequest
    words = [
        *(specific.get("permissionDecision"), decision.get("behavior")),
        *(found.get(name) for name in ("decision", "permissionDecision", "permission")),
    ]
    updated = specific.get("updatedInput", decision.get("updatedInput"))
    if hook.is_guard and (problem := _explain_unclear(given, words, updated)):
        return refuse_unclear(problem)
    verdicts = [_WORDS.get(str(each), "") for each in words if each]
    verdict: Verdict = max(verdicts, key=_RANKS.index, default="")
    if verdict == "allow" and hook.is_project:
        verdict = ""
    reason = specific.get("permissionDecisionReason") or decision.get("message") or found.get("reason") or ""
    stop = ""
    if found.get("continue") is False or decision.get("interrupt") is True:
        stop = clip_text(str(found.get("stopReason") or reason or "a hook ended the turn"))
    elif "defer" in words:
        stop = clip_text(
            f"a hook puts an action off{f': {reason}' if reason else ''}; resume to ask it again"
        )
    return HookAnswer(
        verdict=verdict,
        reason=clip_text(str(reason)),
        arguments=updated if isinstance(updated, dict) else None,
        context=clip_text(str(specific.get("additionalContext") or "")),
        stop=stop,
        message=clip_text(str(found.get("systemMessage") or "")),
        output=specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput")),
    )


def _explain_unclear(given: object, words: Sequence[object], updated: object) -> str:
    """Return what a guard answered that has no meaning here: it may have meant a refusal."""
    if unknown := [each for each in words if each is not None and each not in ("", *_WORDS)]:
        return f"the hook's decision {str(unknown[0])[:100]!r} is none of {', '.join(_WORDS)}"
    if given is not None and not isinstance(given, dict):
        return "the hook's `hookSpecificOutput` is no table"
    if updated is not None and not isinstance(updated, dict):
        return "the hook's `updatedInput` is no table"
    return ""


def combine_answers(answers: Iterable[HookAnswer]) -> HookAnswer:
    """Return one answer for several: the strictest verdict with its reason, the last other input, all texts."""
    given = list(answers)
    worst = max(given, key=lambda each: _RANKS.index(each.verdict), default=HookAnswer())
    return HookAnswer(
        verdict=worst.verdict,
        reason=worst.reason,
        arguments=next((each.arguments for each in reversed(given) if each.arguments is not None), None),
        context="\n\n".join(each.context for each in given if each.context),
        stop=next((each.stop for each in given if each.stop), ""),
        message="\n".join(each.message for each in given if each.message),
        problem="; ".join(each.problem for each in given if each.problem),
        output=next((each.output for each in reversed(given) if each.output is not None), None),
    )


def clip_text(text: str) -> str:
    """Cut a text to what a hook may add to a conversation."""
    return text if len(text) <= LONGEST_CONTEXT else f"{text[:LONGEST_CONTEXT]}…"
