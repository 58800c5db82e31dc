"""Added tests, run: they pass, and fail without the change or where nothing is left of what they are to test.

A test that passes in each of these states checks nothing of it. All runs are of a copy, in the sandbox of the session,
and only once the gateway has run the suite itself.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from agent.verify.requirement import Requirement, Result
from agent.verify.suite_evidence import read_current_content
from packages.search.requirements.change.departures import list_units
from packages.search.requirements.executed.mutations import MUTATIONS, Mutation, mutate_definition
from packages.search.requirements.static_checks import query_definitions, split_place
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import format_count, join_names
from tools.core.workspace import Workspace
from tools.lint.honesty.file_changes import find_role

if TYPE_CHECKING:
    from tools.testing.project_copies import ProjectCopy, States
    from tools.testing.report import TestReport

BUDGET, SHORTEST = 30.0, 2.0
"""Seconds for all runs of a requirement, and those from which on another one is begun."""

MOST_TESTS, MOST_DEFINITIONS, MOST_NAMED = 30, 3, 3
"""Added tests that are run, definitions of one name that are mutated together, names in a detail."""

UNLOADABLE = ")\n"
"""Text of a module that no language loads."""

SHORTEST_TITLE = 3
"""Characters of a test's title from which on it is looked for in the added lines."""

_CONDITION = compile_lazily(
    r"skip_?if|skip_?unless|importorskip|xfail|expectedFailure|testing\.Short|runIf", re.IGNORECASE
)
"""Reasons for which an honest test does not run here."""

_SPLIT, _SPLIT_NAME = compile_lazily(r"::|\s[>›]\s|#"), compile_lazily(r"[./]")
"""What stands between the parts of a test's id; a title of words has dots and slashes of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedResult:
    """Result of a requirement for tests. notice: a sentence for a person that decides nothing, "" for none"""

    result: Result
    notice: str = ""


@dataclass(slots=True, kw_only=True)
class _Trials:
    """Runs of the added tests in a copy of the workspace, in states that differ from now in some files.

    changed: files whose texts differ in any of the states: the tests may not read those of the workspace
    """

    copy: ProjectCopy
    at: Workspace
    tests: Sequence[str]
    changed: Sequence[str]
    ends: float = field(default_factory=lambda: time.monotonic() + BUDGET)

    async def run(self, states: Mapping[str, str | None]) -> TestReport | None:
        """Return the report of the tests with these texts (None: no such file); None if there is no time for it."""
        from tools.testing.suite_run import run_copy

        seconds = min(self.ends - time.monotonic(), self.at.settings.tests.timeout, self.at.seconds_left())
        if seconds < SHORTEST:
            return None
        now = {path: _read(self.at, path) for path in states}
        await asyncio.to_thread(self.copy.restore, _encode(states))
        try:
            report = await run_copy(
                self.copy.at,
                seconds,
                targets=self.tests,
                denied=[self.at.root / each for each in self.changed],
            )
        finally:
            await asyncio.to_thread(self.copy.restore, _encode(now))
        return None if report.outcome == "timeout" else report

    async def notice(self, states: Mapping[str, str | None]) -> bool | None:
        """Return whether a test fails, or cannot even be loaded, in a state; None if that is not known."""
        report = await self.run(states)
        if report is None or report.outcome in ("no-runner", "unverified"):
            return None
        return report.outcome != "passed"


async def check_added_tests(
    each: Requirement, static: Result, changes: TurnChanges, at: Workspace, runner: str
) -> TestedResult:
    """Run the tests that a turn added.

    static: the result without a run, which stands where a run says nothing; runner: of the suite, which was run
    """
    from tools.testing.launch import SUITE_NAMES

    names = at.facts.get(SUITE_NAMES)
    if not names or at.sandbox.name == "unconfined":
        return TestedResult(result=static)
    passed, skipped = names
    added = await asyncio.to_thread(list_added_tests, changes, passed)
    notice = ""
    if not added:
        if left := await asyncio.to_thread(list_added_tests, changes, skipped):
            told = f"skipped, or expected to fail: {join_names(left, MOST_NAMED)}"
            if any(_CONDITION.search(text) for text in _read_added_texts(changes).values()):
                return TestedResult(result=static, notice=f"the added tests are {told}")
            return TestedResult(result=_miss(told))
        added = await asyncio.to_thread(_list_uncollected, changes) if runner == "pytest" else []
        if not added:
            return TestedResult(result=static)
        notice = f"the suite does not run the added tests: {join_names(added, MOST_NAMED)}"
    try:
        found = await _try(each, added[:MOST_TESTS], changes, at)
    except (OSError, UserError):  # the copy cannot be made or run: nothing is known but what was seen without
        found = None
    if found is None:
        return TestedResult(result=static, notice=notice)
    return replace(found, notice=notice or found.notice)


def list_added_tests(changes: TurnChanges, names: Sequence[str]) -> list[str]:
    """Return those of some ids of tests whose definition is new or changed, or whose title an added line has."""
    found: list[str] = []
    for path, text in _read_added_texts(changes).items():
        units = {each.short for each in list_units(path, changes) if each.after is not None}
        stem = PurePosixPath(path).stem
        for name in names:
            if path.endswith(".py") and stem not in name:
                continue
            title = _read_title(name)
            if title in units or (len(title) > SHORTEST_TITLE and title in text):
                found.append(name)
    return list(dict.fromkeys(found))


def _read_title(name: str) -> str:
    title = _SPLIT.split(name.partition("[")[0])[-1].strip()
    return title if " " in title else _SPLIT_NAME.split(title)[-1]


def _read_added_texts(changes: TurnChanges) -> dict[str, str]:
    """Return the added lines of each changed file of tests."""
    found = {}
    for path in changes.list_changed_files():
        if find_role(path) == "test":
            before = set((changes.read_before(path) or "").splitlines())
            lines = (changes.read_after(path) or "").splitlines()
            found[path] = "\n".join(line for line in lines if line not in before)
    return found


def _list_uncollected(changes: TurnChanges) -> list[str]:
    """Return the new tests of Python files as targets of pytest."""
    return [
        f"{path}::{each.name.replace('.', '::')}"
        for path in _read_added_texts(changes)
        if path.endswith(".py")
        for each in list_units(path, changes)
        if each.after is not None and each.short.startswith("test") and each.new is not None
        if each.new.kind in ("function", "method")
    ]


async def _try(
    each: Requirement, added: Sequence[str], changes: TurnChanges, at: Workspace
) -> TestedResult | None:
    from tools.testing.project_copies import TooLarge, create_copies

    name = split_place(each.check)[1]
    before = {
        path: changes.read_before(path)
        for path in changes.list_changed_files()
        if find_role(path) == "product"
    }
    mutants = await asyncio.to_thread(_build_mutants, name, at) if name else {}
    changed = {*before, *(path for texts in mutants.values() for path in texts)}
    try:
        async with create_copies(at, 1) as [copy]:
            trials = _Trials(copy=copy, at=at, tests=added, changed=sorted(changed))
            control = await trials.run({})
            if control is None or control.outcome != "passed":  # it needs what a copy has not
                return None
            return await _judge(name, len(added), before, mutants, trials)
    except TooLarge:
        return None


def _build_mutants(name: str, at: Workspace) -> dict[Mutation, dict[str, str]]:
    """Return texts of files by mutation, with all definitions of a name mutated; {} where it has none, or too many."""
    try:
        places = [each for each in query_definitions(name, at) if find_role(each.path) == "product"]
    except UserError:
        return {}
    if not 0 < len(places) <= MOST_DEFINITIONS:
        return {}
    found: dict[Mutation, dict[str, str]] = {}
    for mutation in MUTATIONS:
        texts = {
            path: made
            for path in dict.fromkeys(each.path for each in places)
            if (made := mutate_definition(path, _read(at, path) or "", name, mutation)) is not None
        }
        if texts:
            found[mutation] = texts
    return found


async def _judge(
    name: str,
    count: int,
    before: Mapping[str, str | None],
    mutants: Mapping[Mutation, Mapping[str, str]],
    trials: _Trials,
) -> TestedResult | None:
    told = f"{format_count(count, 'added test')} {'passes' if count == 1 else 'pass'}"
    survived: list[Mutation] = []
    if "returns nothing" in mutants:
        if await trials.notice(mutants["returns nothing"]):
            return _meet(f"{told}, and not where {name} returns nothing")
        survived.append("returns nothing")
    notice = f"the added tests of {name} pass where it returns nothing, too" if survived else ""
    without = await trials.notice(before) if before else None
    if without:
        return _meet(f"{told}, and not without the change", notice)
    if "raises" in mutants:
        noticed = await trials.notice(mutants["raises"])
        if noticed:
            return _meet(f"{told}, and not where {name} raises", notice)
        # Tests of what is installed elsewhere never see the copy.
        if noticed is None or not await trials.notice(dict.fromkeys(mutants["raises"], UNLOADABLE)):
            return None
        return TestedResult(result=_miss(f"{told} also where {name} raises at once: they do not test it"))
    if without is False:
        return _meet(told, "the added tests pass without the change, too")
    return _meet(told)


def _meet(detail: str, notice: str = "") -> TestedResult:
    return TestedResult(result=Result(state="met", evidence="executed", detail=detail), notice=notice)


def _miss(detail: str) -> Result:
    return Result(state="not met", evidence="executed", detail=detail)


def _read(at: Workspace, path: str) -> str | None:
    content = read_current_content(at, path)
    return None if content is None else content.decode("utf-8", "replace")


def _encode(texts: Mapping[str, str | None]) -> States:
    return {path: (None if text is None else text.encode(), None) for path, text in texts.items()}
