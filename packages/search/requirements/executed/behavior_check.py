"""What differential runs of a turn's functions say of its prompt: a verdict where it told a limit, else a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.verify.requirement import Result
from packages.search.requirements.change.departures import list_units
from packages.search.requirements.executed.behavior_runs import FEWEST, Difference, FunctionRuns
from packages.search.requirements.instructions.behavior_limits import is_within
from packages.search.requirements.turn_changes import TurnChanges
from packages.search.select.changed_functions import ChangedFunction, list_told_checks
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import format_count, join_names
from tools.lint.honesty.file_changes import find_role

MOST_TOLD = 2
"""Inputs of a detail."""

_OF_ERRORS = compile_lazily(
    r"\b(?:rais\w*|throw\w*|rejects?|refuses?|fails?|validat\w*|invalid|check\w*|assert\w*|forbid\w*|strict\w*|\w*(?:error|exception)s?)\b",
    re.IGNORECASE,
)
"""Words of a prompt after which an exception is no surprise."""

_OF_NO_ANSWER = compile_lazily(
    r"\b(?:slow\w*|fast\w*|speed\w*|perform\w*|optimi\w*|memory|leak\w*|warning\w*|types?|lint\w*|mypy|typing|print\w*|log\w*)\b",
    re.IGNORECASE,
)
"""Words of a prompt whose repair may leave all answers as they are."""


def judge_limit(check: str, prompt: str, runs: Sequence[FunctionRuns]) -> Result:
    """Return whether public functions answer as before, but for inputs that the prompt tells or its limit allows."""
    public = [each for each in runs if not each.name.startswith("_")]
    outside = [
        each.describe()
        for run in public
        for each in _list_untold(run, prompt)
        if not is_within(check, each.arguments)
    ]
    if outside:
        return Result(state="not met", evidence="executed", detail="; ".join(outside[:MOST_TOLD]))
    compared = [each for each in public if each.answered >= FEWEST]
    if not compared:
        return Result(detail="no changed function could be compared with itself")
    answered = format_count(sum(each.answered for each in compared), "input")
    detail = f"{join_names([each.name for each in compared], MOST_TOLD)}: {answered} compared"
    return Result(state="met", evidence="executed", detail=detail)


def list_behavior_notices(prompt: str, runs: Sequence[FunctionRuns], changes: TurnChanges) -> Iterator[str]:
    """Yield sentences about answers that changed and were not asked for, and about a repair that changes none."""
    named = {each.name for each in runs if re.search(rf"(?<!\w){re.escape(each.name)}(?!\w)", prompt)}
    for run in runs:
        untold = _list_untold(run, prompt)
        if untold and untold[0].raises and not _OF_ERRORS.search(prompt):
            yield untold[0].describe()
        elif untold and named and run.name not in named and not run.name.startswith("_"):
            yield f"not asked for: {untold[0].describe()}"
    if _repairs_answers(prompt) and runs and not any(each.differences for each in runs):
        changed = {
            each.name
            for path in changes.list_changed_files()
            if find_role(path) == "product"
            for each in list_units(path, changes)
        }
        if changed == {each.name for each in runs} and all(each.answered >= FEWEST for each in runs):
            inputs = format_count(sum(each.answered for each in runs), "input")
            yield f"{join_names(sorted(changed), MOST_TOLD)} answers as before, on {inputs}"


def _list_untold(run: FunctionRuns, prompt: str) -> list[Difference]:
    """Return the differences on inputs that were meant for the function, and of which the prompt tells no result."""
    told = {each.call for each in list_told_checks(prompt, ChangedFunction(path=run.path, name=run.name))}
    return [each for each in run.differences if not each.was_failure and each.arguments not in told]


def _repairs_answers(prompt: str) -> bool:
    from agent.prompt.prompt_reader import read_intent

    return read_intent(prompt).kind == "repair" and not _OF_NO_ANSWER.search(prompt)
