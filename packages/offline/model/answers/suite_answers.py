"""Answers about tests: which fail, why, where the fault is likely, and which change would mend them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from packages.offline.model.answers.lookup import Answer, Call, Lookup, NoAnswer, limit_lines
from packages.offline.model.answers.named_code import find_test_targets, is_test_path
from packages.offline.model.intent.question_topics import Question
from packages.offline.model.offline_messages import describe_changes, indent_block
from packages.offline.model.turn_steps import Step
from tools.core.text import format_count

MOST_EXPLAINED = 3
"""Failures that are shown with their details; the others are named."""
MOST_TARGETS = 60

NO_RESULT = ("no-tests", "no-runner", "broken", "timeout", "unverified")
"""Outcomes of a run that does not say which tests fail."""

_RUN_ONCE = "the tests were run just now, once, without leave to write to the project, so one that writes there fails."
_DETAILS = "The messages are the tests' own:"


def list_failures(question: Question) -> Lookup:
    """Answer which tests fail, or whether they pass."""
    step = yield from _run_tests(question, "I run the tests; they cannot write to the project.")
    report = _get_report(step)
    if not report or report.get("outcome") in NO_RESULT:
        return _describe_no_run(step)
    failures = _list_failures(report)
    if not failures:
        return Answer(text=_describe_pass(report), trust=_RUN_ONCE)
    lines = [f"- `{each['id']}`{_format_place(each)}: {_first_line(each['message'])}" for each in failures]
    head = f"{_count_failures(report)} (`{report.get('command', '')}`):"
    text = "\n".join(
        [head, "", *limit_lines(lines), "", f'For the reason ask "why does {_last(failures[0])} fail?".']
    )
    return Answer(text=text, trust=_RUN_ONCE)


def explain_failure(question: Question) -> Lookup:
    """Answer why tests fail: their messages, and for the first the statements that made its values."""
    step = yield from _run_tests(
        question, "I run the tests to see how they fail; they cannot write to the project."
    )
    report = _get_report(step)
    if not report or report.get("outcome") in NO_RESULT:
        return _describe_no_run(step)
    failures = _list_failures(report)
    if not failures:
        return Answer(text=f"Nothing fails. {_describe_pass(report)}", trust=_RUN_ONCE)
    parts = [f"{_count_failures(report)}. {_DETAILS}"]
    for each in failures[:MOST_EXPLAINED]:
        shown = each.get("detail") or each["message"]
        parts += [f"`{each['id']}`{_format_place(each)}", indent_block(str(shown))]
    if len(failures) > MOST_EXPLAINED:
        names = [f"- `{each['id']}`: {_first_line(each['message'])}" for each in failures[MOST_EXPLAINED:]]
        parts.append("\n".join(["Also failing:", "", *limit_lines(names)]))
    traced = yield Call(
        tool="why_failing",
        arguments={"test": failures[0]["id"]},
        text="I trace the first failure back to the statements that made its values.",
    )
    if traced.result.failed:
        parts.append("The values at the failure could not be traced.")
        seen = "which line is at fault was not seen"
    else:
        parts += ["What made its values, from the failure back:", indent_block(_strip_head(traced.text))]
        seen = "the values were seen in a run"
    if _leaves_tests(traced):
        parts.append('For the lines that are likely at fault ask "where is the fault?".')
    else:
        ranked = yield Call(
            tool="localize",
            arguments={"targets": [failures[0]["id"]]},
            text="The trace reaches no line outside the tests, so I compare the lines that the tests run.",
        )
        if suspects := _list_suspects(ranked):
            parts.append(
                "\n".join(["The most suspicious lines, the first one most:", "", *suspects[:MOST_EXPLAINED]])
            )
    return Answer(
        text="\n\n".join(parts),
        trust=f"{_RUN_ONCE[:-1]}; {seen}. That one of these lines is the cause is likely, not proved.",
    )


def locate_fault(question: Question) -> Lookup:
    """Answer where the fault is likely, by the lines that failing and passing tests run."""
    targets = yield from find_test_targets(question)
    found = yield Call(
        tool="localize",
        arguments={"targets": targets},
        text="I compare the lines that failing and passing tests run.",
    )
    suspects = _list_suspects(found)
    if not suspects:
        by_words = yield Call(
            tool="code",
            arguments={"action": "locate", "target": question.text},
            text="No failing test leads further, so I look for what your words speak of.",
        )
        text = f"No failing test points at a line.\n\n{indent_block(found.text)}"
        if not by_words.result.failed and _has_files(by_words):
            text += f"\n\nWhat your words speak of:\n\n{indent_block(by_words.text)}"
        return Answer(text=text, trust="places found by words alone are a first place to look, no more.")
    text = "\n".join(["The most suspicious lines, the first one most:", "", *limit_lines(suspects, 10)])
    trace = found.text.partition("\nwhy ")[2]
    if trace:
        text += f"\n\nWhy {trace.partition(chr(10))[0]}\n\n{indent_block(trace.partition(chr(10))[2])}"
    return Answer(
        text=text,
        trust="a ranking by which tests run which lines. The first line is often right and often not: read it first.",
    )


def suggest_fix(question: Question) -> Lookup:
    """Answer which small change would make failing tests pass; nothing is written."""
    step = yield from _run_tests(question, "I run the tests first; they cannot write to the project.")
    report = _get_report(step)
    if not report or report.get("outcome") in NO_RESULT:
        return _describe_no_run(step)
    failures = _list_failures(report)
    if not failures:
        return Answer(
            text=f"Nothing fails, so there is nothing to fix. {_describe_pass(report)}", trust=_RUN_ONCE
        )
    targets = [each["id"] for each in failures]
    found = yield Call(
        tool="repair",
        arguments={"targets": targets if len(targets) <= MOST_TARGETS else []},
        text="I try small changes in memory; nothing is written.",
    )
    fixes = found.data.get("repair", {}).get("fixes", ())
    head = f"{_count_failures(report)}."
    if not fixes:
        text = f"{head} I found no small change that makes them pass.\n\n{indent_block(found.text)}"
        return Answer(text=text, trust="no change found does not mean that there is none.")
    text = f'{head} {describe_changes(fixes)}\n\nTo have it written, say "fix it".'
    return Answer(
        text=text,
        trust="each change makes the named tests pass and no other test fail; whether it is what was meant, tests"
        " alone cannot tell.",
    )


def _run_tests(question: Question, text: str) -> Generator[Call, Step, Step]:
    targets = yield from find_test_targets(question)
    return (yield Call(tool="check_tests", arguments={"targets": targets}, text=text))


def _get_report(step: Step) -> Mapping[str, Any]:
    report = step.data.get("checked_tests")
    return report if isinstance(report, Mapping) else {}


def _list_failures(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in report.get("failures", ()) if isinstance(each, Mapping)]


def _describe_no_run(step: Step) -> Answer | NoAnswer:
    """Return what is answered where the tests gave no result."""
    if _get_report(step).get("outcome") == "no-runner":
        return NoAnswer(reason=_first_line(step.text).rstrip("."), needs_model=False)
    text = f"The tests gave no result.\n\n{indent_block(step.text)}"
    return Answer(text=text, trust="this is the test runner's own word.")


def _describe_pass(report: Mapping[str, Any]) -> str:
    skipped = report.get("skipped", 0)
    left_out = f" ({format_count(skipped, 'test')} skipped)" if skipped else ""
    count = report.get("passed", 0)
    one = "The 1 test passes" if count == 1 else f"All {count} tests pass"
    return f"{one if count else 'The tests pass'}{left_out}: `{report.get('command', '')}`."


def _count_failures(report: Mapping[str, Any]) -> str:
    failed = int(report.get("failed", 0)) + int(report.get("errors", 0)) or len(_list_failures(report))
    passed = report.get("passed", 0)
    word = "test fails" if failed == 1 else "tests fail"
    return f"{failed} {word}, {passed} pass{'es' if passed == 1 else ''}"


def _format_place(failure: Mapping[str, Any]) -> str:
    return f" at {failure['file']}:{failure['line']}" if failure.get("file") else ""


def _first_line(text: object) -> str:
    return next(iter(str(text).strip().splitlines()), "")


def _last(failure: Mapping[str, Any]) -> str:
    return str(failure["id"]).rpartition("::")[2] or str(failure["id"])


def _list_suspects(step: Step) -> list[str]:
    """Return a list item for each suspicious line of a localization."""
    return [
        f"- {each['path']}:{each['line']}: `{_first_line(each['code'])}` "
        f"({each['failing']} failing, {each['passing']} passing tests run it)"
        for each in step.data.get("suspects", ())
        if isinstance(each, Mapping)
    ]


def _leaves_tests(traced: Step) -> bool:
    """Return whether a trace reaches a line outside the tests."""
    why = traced.data.get("why")
    steps = why.get("steps", ()) if isinstance(why, Mapping) else ()
    return any(not is_test_path(str(each.get("path", ""))) for each in steps if isinstance(each, Mapping))


def _strip_head(text: str) -> str:
    return "\n".join(text.splitlines()[1:])


def _has_files(step: Step) -> bool:
    found = step.data.get("code")
    return isinstance(found, Mapping) and bool(found.get("files"))
