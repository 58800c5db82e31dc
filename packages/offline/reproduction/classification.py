"""Classification of a run: whether it fails for the reason that the report tells, or for another one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal

from packages.offline.reproduction.drafts import MODEL, Draft
from packages.offline.reproduction.matching import (
    is_unnamed_error,
    match_error,
    match_output,
    normalize_output,
)
from packages.offline.reproduction.observation import ErrorSeen, RunSeen, StepSeen
from packages.offline.reproduction.report.report_fields import Exchange, Report, ToldError
from sandbox.lazy_dataclass import dataclass

Reason = Literal[
    "syntax", "import", "fixture", "environment", "not told", "not seen", "not deterministic", "passes elsewhere",
    "not sensitive", "not confirmed",
]  # fmt: skip
"""Why a draft is no reproduction.

not told: the report tells no result that could be compared; not seen: what it tells does not happen;
passes elsewhere: through none of the suspected code; not sensitive: no change near there changes the result
"""

_ENVIRONMENT = {
    "ImportError",
    "ModuleNotFoundError",
    "OSError",
    "ConnectionError",
    "FileNotFoundError",
    "PermissionError",
}
"""Exceptions that say more of the machine than of the code, unless the report tells them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A wrong result that was seen. way: "repr", "str", "stdout" …; text: as seen

    wanted: literal of the told right value, "" if none is told that can be compared
    """

    step: int
    way: str
    text: str
    wanted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure for the told reason.

    kind: exception: the told one; output: each of the told wrong results; assertion: one that the report makes
    step: the statement that fails; checks: of outputs
    """

    kind: Literal["exception", "output", "assertion"]
    step: int
    detail: str
    error_type: str = ""
    message: str = ""
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A draft that is no reproduction, and why."""

    reason: Reason
    detail: str = ""


def classify_run(
    draft: Draft, exchanges: Sequence[Exchange], report: Report, run: RunSeen
) -> Failure | Rejection:
    """Return the failure that the report tells of, or why there is none.

    exchanges: of the draft as they were run, one for each step
    """
    if run.setup_error is not None:
        return Rejection(reason="fixture", detail=f"{run.setup_error.type}: {run.setup_error.message}"[:200])
    found = _find_exception(draft, exchanges, report, run) or _find_outputs(draft, exchanges, run)
    found = found or _find_unmet_value(draft, exchanges, run)
    found = found or _find_assertion(draft, exchanges, report, run)
    return found or _explain_rejection(draft, exchanges, run)


def list_called_places(run: RunSeen, failure: Failure) -> set[tuple[str, int, str]]:
    """Return the project's functions that ran up to the failure: what it shows was made by earlier statements, too."""
    return {call for step in run.steps[: failure.step + 1] for call in step.calls}


def has_same_result(failure: Failure, runs: Sequence[RunSeen]) -> bool:
    """Return whether all runs came out alike where the failure is."""
    steps = {failure.step, *(each.step for each in failure.checks)}
    if any(len(run.steps) <= max(steps) for run in runs):
        return False
    return all(len({run.steps[step].as_comparable() for run in runs}) == 1 for step in steps)


def differs_from(failure: Failure, run: RunSeen, other: RunSeen) -> bool:
    """Return whether another run has another result where the failure is."""
    return not has_same_result(failure, [run, other])


def _find_exception(
    draft: Draft, exchanges: Sequence[Exchange], report: Report, run: RunSeen
) -> Failure | None:
    told_here = {place: each.error for place, each in enumerate(exchanges) if each.error is not None}
    wrong = [each for each in report.errors if each.role != "expected"]
    for place, step in enumerate(run.steps):
        seen = step.error
        if seen is None or seen.syntax or place < draft.first:
            continue
        own = told_here.get(place)
        told = [own] if own is not None and own.role != "expected" else wrong
        match = next((each for each in told if match_error(each, seen)), None)
        if match is None and place == len(run.steps) - 1:
            match = next((each for each in told if is_unnamed_error(each, seen)), None)
        if match is None or not _is_of_project(match, seen):
            continue
        detail = f"{seen.type}: {seen.message}"[:300]
        return Failure(
            kind="exception", step=place, detail=detail, error_type=seen.type, message=seen.message
        )
    return None


def _is_of_project(told: ToldError, seen: ErrorSeen) -> bool:
    """Return whether the project's code is involved: it raised the exception, or called what did."""
    if seen.type in ("NameError", "ImportError", "ModuleNotFoundError", "SyntaxError") and not told.has_trace:
        return False
    if seen.type == "AssertionError" and not seen.is_inside:
        return False
    return seen.is_inside or (told.has_trace and bool(told.message) and not _mentions_frames(told))


def _mentions_frames(told: ToldError) -> bool:
    """Return whether the told trace goes through a library, which the seen one then has to do as well."""
    return any(not each.path.startswith("<") for each in told.frames)


def _find_outputs(draft: Draft, exchanges: Sequence[Exchange], run: RunSeen) -> Failure | None:
    """Find the told wrong outputs: all that are seen, if none of the others says that these are the right ones."""
    matched: list[Check] = []
    roles: list[str] = []
    unmatched = 0
    for place, each in enumerate(exchanges):
        if place < draft.first or place >= len(run.steps):
            continue
        if not each.output:
            unmatched += each.error is not None and run.steps[place].error is None
            continue
        way, text = match_output(each.output, run.steps[place])
        if not way and place == len(exchanges) - 1:
            way, text = _match_whole_output(each.output, run)
        if way:
            matched.append(Check(step=place, way=way, text=text, wanted=_read_wanted(each, run.steps[place])))
            roles.append(each.role)
        else:
            unmatched += each.role != "expected"
    if not matched or unmatched or _is_trivial(matched, run):
        return None
    if all(role == "expected" for role in roles) or not draft.is_whole:
        return None
    last = matched[-1]
    detail = f"the told result is seen: {' '.join(last.text.split())[:200]}"
    return Failure(kind="output", step=last.step, detail=detail, checks=tuple(matched))


def _find_unmet_value(draft: Draft, exchanges: Sequence[Exchange], run: RunSeen) -> Failure | None:
    """Find a value other than the one that the report wants, where both are literals."""
    for place, each in enumerate(exchanges):
        if place < draft.first or place >= len(run.steps) or each.output or not run.steps[place].calls:
            continue
        if wanted := _read_wanted(each, run.steps[place]):
            text = run.steps[place].shows["repr"]
            check = Check(step=place, way="repr", text=text, wanted=wanted)
            return Failure(kind="output", step=place, detail=f"{text}, not {wanted}"[:300], checks=(check,))
    return None


def _read_wanted(exchange: Exchange, step: StepSeen) -> str:
    """Return the literal that a statement should give, if it gives another one; "" otherwise."""
    wanted, seen = _read_literal(exchange.expected), _read_literal(step.shows.get("repr", ""))
    if wanted is None or seen is None or wanted == seen:
        return ""
    return repr(wanted)


def _read_literal(text: str) -> object:
    """Return the value of a literal without texts, which people do not copy exactly; None for anything else."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if "'" not in repr(value) and '"' not in repr(value) and len(repr(value)) < 400 else None


def _match_whole_output(told: str, run: RunSeen) -> tuple[str, str]:
    """Match what all statements print together."""
    printed = "".join(step.stdout for step in run.steps)
    if printed.strip() and normalize_output(printed) == normalize_output(told):
        return "stdout", printed
    return "", ""


def _is_trivial(checks: Sequence[Check], run: RunSeen) -> bool:
    """Return whether no statement with a told result runs code of the project."""
    return not any(run.steps[each.step].calls for each in checks)


def _find_assertion(
    draft: Draft, exchanges: Sequence[Exchange], report: Report, run: RunSeen
) -> Failure | None:
    """Find an assertion of the report's own that fails in code that the report shows.

    One outside of a test may state what happens instead of what should: it counts if the report tells its failure, or
    is a request to mend it. A model was asked for what should be: any of its script's own counts.
    """
    is_told = report.is_order or any(each.type == "AssertionError" for each in report.errors)
    for place, step in enumerate(run.steps):
        error = step.error
        if error is None or place < draft.first or error.type != "AssertionError":
            continue
        source = exchanges[place].source.lstrip()
        in_test = source.startswith("test") or ".debug()" in source
        is_own = draft.origin == MODEL and not error.is_inside
        if in_test or is_own or (source.startswith("assert") and is_told):
            earlier = any(run.steps[n].error for n in range(draft.first, place))
            if not earlier and any(each.calls for each in run.steps[: place + 1]):
                detail = f"{error.type}: {error.message}"[:300]
                return Failure(
                    kind="assertion", step=place, detail=detail, error_type=error.type, message=error.message
                )
    return None


def _explain_rejection(draft: Draft, exchanges: Sequence[Exchange], run: RunSeen) -> Rejection:
    errors = [step.error for step in run.steps[draft.first :] if step.error is not None]
    if any(each.syntax for each in errors):
        return Rejection(reason="syntax", detail=errors[0].message[:200])
    imports = [each for each in errors if each.type in ("ImportError", "ModuleNotFoundError", "NameError")]
    if imports or run.missing:
        detail = imports[0].message if imports else f"not defined: {', '.join(run.missing)}"
        return Rejection(reason="import", detail=detail[:200])
    other = next((each for each in errors if each.type in _ENVIRONMENT), None)
    if other is not None:
        return Rejection(reason="environment", detail=f"{other.type}: {other.message}"[:200])
    is_told = any(each.output or each.error for each in exchanges[draft.first :])
    seen = f"{errors[0].type}: {errors[0].message}"[:200] if errors else ""
    return Rejection(reason="not seen" if is_told or errors else "not told", detail=seen)
