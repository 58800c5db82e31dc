"""Messages of the offline engine to the user: its changes, their confidence, and the tests that they fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from packages.offline.repair.result import LOW

CANNOT = "this needs a model: the offline engine repairs bugs that make tests fail and looks things up, nothing else"
NOT_ANSWERED = "this question needs a model: what the offline engine can look up does not answer it"
UNCLEAR = "this needs a model, or other words: is it a repair that you want, or an answer? Nothing was done"
HOW_TO_ASK = (
    'Say "make the failing tests pass" for a repair, or ask what can be looked up: which tests fail and why, where the'
    " fault is likely, what a test checks, where a name is defined or used, what changed."
    " For all else set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model: --model PROVIDER/NAME"
    " (a local server: --model openai/NAME --api-base http://localhost:8080/v1)."
)
ABILITIES = (
    "Without a model I repair bugs that make tests fail, and look things up:\n\n"
    '- "make the failing tests pass": I find the faults, try changes, and keep what the tests confirm.\n'
    '- "which tests fail, and why?", "where is the fault likely?", "what would mend it?"\n'
    '- "where is NAME defined?", "who uses NAME?", "what does test_NAME check?"\n'
    '- "what changed last?", "what is this project made of?", "how do I run the tests?"\n\n'
    "Everything else needs a model: `/model` lists those that can be used."
)
NEED_TEST = (
    "If no test shows the bug yet, write one that fails because of it (in a test file; from a report with a snippet or "
    "a trace: patchwright reproduce --file REPORT --write-test tests/test_bug.py), and say: "
    '"make the failing tests pass".'
)
HOW_TO_SET_UP = (
    'For a repair, say: "make the failing tests pass"; without a failing test, write one that shows the bug first.'
    " For all else set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a"
    " model: --model PROVIDER/NAME (a local server: --model openai/NAME --api-base http://localhost:8080/v1)."
)
ELSEWHERE = (
    ": the tests that failed pass where I try changes. There they run in the first Python of the project that can run "
    "them, without the variables and options of a command that you named"
)
PLAN = (
    "Run the tests to see what fails",
    "Locate the faults and search for changes",
    "Apply the changes",
    "Run all tests again",
    "Commit",
)


def write_commit_message(fixes: Sequence[Mapping[str, Any]]) -> str:
    """Write a commit message: an imperative subject that names the places; the body lists each fix."""
    places = list(dict.fromkeys(str(fix["function"] or fix["path"]) for fix in fixes))
    subject = f"Fix {join_names(places)}"
    if len(subject) > 72:
        files = list(dict.fromkeys(str(fix["path"]) for fix in fixes))
        subject = f"Fix {len(fixes)} bugs in {join_names(files)}"
    if len(subject) > 72:
        subject = f"Fix {len(fixes)} bugs in {len(set(files))} files"
    body = [f"- {fix['path']}: {fix['why']}" for fix in fixes]
    return "\n".join([subject, "", *body])


def indent_block(text: str) -> str:
    """Indent by four: verbatim in Markdown, and readable where it is not rendered."""
    return "\n".join(f"    {line}" for line in text.splitlines())


def to_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def describe_fix(fix: Mapping[str, Any]) -> str:
    """Return `path:line: why` of a change."""
    return f"{fix['path']}:{fix['line']}: {fix['why']}"


def describe_proposal(
    fixes: Sequence[Mapping[str, Any]],
    alternatives: Sequence[Sequence[Mapping[str, Any]]],
    *,
    written: int,
    is_cut_short: bool = False,
) -> str:
    """Return Markdown that shows doubtful changes as diffs, the number of others, and how to apply them.

    alternatives: patches that pass the same tests
    written: number of changes written before these
    is_cut_short: the suite does not end in the time of the turn, so that no run of it confirms a change
    """
    many = len(fixes) != 1
    doubt = (
        "the whole suite does not end in the time of this turn (--max-time), so nothing confirms"
        if is_cut_short
        else "I am not sure of"
    )
    found = f"{len(fixes)} {'more ' if written else ''}change{'s' if many else ''}"
    nothing = f"changed nothing{' else' if written else ''}"
    works = list(dict.fromkeys(str(fix["own_work"]) for fix in fixes if fix.get("own_work")))
    lines = [
        f"The failing tests pass without {join_names(works)}, so that is the suspect. It is your work: I {nothing}."
        if works
        else f"I found {found} with which the failing tests pass, and {nothing}: "
        f"{doubt} {'them' if many else 'it'}. A change can fit the tests and mean something else than was "
        "meant.",
    ]
    for fix in fixes:
        lines += ["", *_diff_lines(fix)]
    if alternatives:
        count = len(alternatives)
        lines += [
            "",
            f"{count} more change{'s pass' if count > 1 else ' passes'} the same tests (not run against the whole"
            f" suite): `patchwright repair --no-apply --top {min(count + 1, 10)}` shows them.",
        ]
    how = "." if works else ", or run the same command with --apply."
    lines += ["", f'To have it written, say "apply it" in this session{how}']
    return "\n".join(lines)


def describe_unwritten(fixes: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown that shows changes as diffs which a session that may not write has found."""
    many = len(fixes) != 1
    lines = [
        f"I found {len(fixes)} change{'s' if many else ''} with which the failing tests pass, and wrote"
        f" {'none of them' if many else 'nothing'}: this session may only read."
    ]
    for fix in fixes:
        lines += ["", *_diff_lines(fix)]
    return "\n".join(
        [*lines, "", f"To have {'them' if many else 'it'} written, run it without --mode read-only."]
    )


def describe_changes(fixes: Sequence[Mapping[str, Any]]) -> str:
    """Return Markdown that shows changes as diffs which were found for a question, and not written."""
    many = len(fixes) != 1
    head = "These changes make them pass" if many else "This change makes them pass"
    lines = [f"{head}; nothing was written:"]
    for fix in fixes:
        lines += ["", *_diff_lines(fix)]
    return "\n".join(lines)


def _diff_lines(fix: Mapping[str, Any]) -> list[str]:
    changed = [f"-{line}" for line in str(fix["old"]).split("\n")]
    changed += [f"+{line}" for line in str(fix["new"]).split("\n")]
    why = f": {fix['doubt']}" if fix.get("doubt") else ""
    confidence = f" (confidence {fix['confidence']:.2f}{why})" if "confidence" in fix else ""
    return [f"{describe_fix(fix)}{confidence}", "", "```diff", *changed, "```"]


def select_confident_fixes(fixes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the changes before the first doubtful one: later ones build upon it."""
    return list(takewhile(lambda fix: not is_doubtful(fix), fixes))


def describe_doubt(fix: Mapping[str, Any]) -> str:
    """Return a warning about a change of low confidence, "" for any other."""
    return " (low confidence: it may only fit the tests)" if fix.get("confidence", 1.0) < LOW else ""


def is_doubtful(fix: Mapping[str, Any]) -> bool:
    """Return whether a change is more likely to fit only the tests than to be right, or concerns a person's work."""
    return bool(fix.get("confidence", 1.0) < LOW or fix.get("own_work"))


def select_own_changes(fixes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the changes before the first that concerns a person's fresh work."""
    return list(takewhile(lambda fix: not fix.get("own_work"), fixes))


def describe_passing_tests(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} passes and no other test breaks"
    return f"{len(names)} failing tests pass and no other test breaks"


def join_names(names: Sequence[str]) -> str:
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
