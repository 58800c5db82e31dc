"""Parsers of the reports of jest, vitest, mocha and node's own runner."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

from sandbox.parsed_data import parse_json
from tools.core.text import join_names, strip_terminal_codes
from tools.testing import junit, output_parsers
from tools.testing.launch import FinishedRun
from tools.testing.report import (
    MAX_FAILURES,
    Findings,
    TestFailure,
    describe_unloadable,
    make_failure,
)
from tools.testing.selection import INSIDE
from tools.testing.summary_format import CUT_SHORT


def parse_jest(evidence: FinishedRun) -> Findings:
    """Parse the JSON report of jest, which vitest writes as well."""
    report = _parse_json(evidence.read_report_file("report"))
    if "numTotalTests" not in report:
        return output_parsers.parse_any(evidence)
    failures: list[TestFailure] = []
    unloadable: list[str] = []
    passed: list[str] = []
    skipped: list[str] = []
    errors = 0
    for suite in report.get("testResults", []):
        file = junit.make_project_relative(str(suite.get("name", "")), evidence.root)
        cases = suite.get("assertionResults", [])
        failed = [case for case in cases if case.get("status") == "failed"]
        if (
            suite.get("status") == "failed" and not failed
        ):  # it cannot be loaded, or a hook for all of it failed
            errors += 1
            failures.append(_build_file_failure(suite, file, evidence))
            if not cases:
                unloadable.append(file)
        for case in cases:
            if case.get("status") != "failed":
                names = passed if case.get("status") == "passed" else skipped
                names.append(_name_jest_case(case, file))
        failures += [_build_jest_failure(case, file, evidence) for case in failed]
    return Findings(
        passed=int(report.get("numPassedTests", 0)),
        failed=int(report.get("numFailedTests", 0)),
        errors=errors,
        skipped=int(report.get("numPendingTests", 0)) + int(report.get("numTodoTests", 0)),
        failures=tuple(failures[:MAX_FAILURES]),
        passed_tests=tuple(passed),
        skipped_tests=tuple(skipped),
        broken=describe_unloadable(unloadable),
    )


def _build_file_failure(suite: Mapping[str, Any], file: str, evidence: FinishedRun) -> TestFailure:
    text = strip_terminal_codes(str(suite.get("message", "")))
    return make_failure(
        file, file=file, line=junit.find_innermost_place(text, evidence.root)[1], message=text
    )


def _name_jest_case(case: Mapping[str, Any], file: str) -> str:
    names = [
        str(each) for each in (*case.get("ancestorTitles", ()), case.get("title") or case.get("fullName", ""))
    ]
    return INSIDE.join((file, *names))


def _build_jest_failure(case: Mapping[str, Any], file: str, evidence: FinishedRun) -> TestFailure:
    text = strip_terminal_codes("\n".join(str(each) for each in case.get("failureMessages", [])))
    message, _, _ = text.partition("\n    at ")
    place = junit.find_innermost_place(text, evidence.root)
    return make_failure(
        _name_jest_case(case, file),
        file=place[0] or file,
        line=place[1],
        message=message,
        detail=junit.keep_project_frames(text, evidence.root),
    )


_DONE_TWICE = "ERR_MOCHA_MULTIPLE_DONE"


def parse_mocha(evidence: FinishedRun) -> Findings:
    """Parse mocha's JSON report."""
    report = _parse_json(evidence.read_report_file("report"))
    stats = report.get("stats")
    if not isinstance(stats, dict):
        return output_parsers.parse_any(evidence)
    failures = []
    for case in report.get("failures", [])[:MAX_FAILURES]:
        error = case.get("err") or {}
        stack = str(error.get("stack", ""))
        file = junit.make_project_relative(str(case.get("file") or ""), evidence.root)
        place = junit.find_innermost_place(stack, evidence.root)
        name = str(case.get("fullTitle", ""))
        failures.append(
            make_failure(
                f"{file}{INSIDE}{name}" if file else name,
                file=place[0] or file,
                line=place[1],
                message=str(error.get("message", "")),
                detail=junit.keep_project_frames(stack, evidence.root),
            )
        )
    # A test that called `done` once more had passed before, and counts as both.
    late = sum((case.get("err") or {}).get("code") == _DONE_TWICE for case in report.get("passes", []))
    return Findings(
        passed=int(stats.get("passes", 0)) - late,
        failed=int(stats.get("failures", 0)),
        skipped=int(stats.get("pending", 0)),
        failures=tuple(failures),
    )


NODE_REPORTER = """\
export default async function* report(source) {
  for await (const { type, data } of source) {
    const error = data.details?.error, cause = error?.cause ?? error;
    yield JSON.stringify({
      type, name: data.name, nesting: data.nesting, file: data.file, line: data.line, skip: data.skip, todo: data.todo,
      kind: data.details?.type, failure: error?.failureType, error: cause?.message ?? (cause && String(cause)),
      stack: cause?.stack, said: type === 'test:diagnostic' ? data.message : undefined,
    }) + '\\n';
  }
}
"""
"""Reporter of node's events, of which its JUnit report leaves out files, suites and tests that never ended."""

_NODE_COUNT = r"(tests|pass|fail|cancelled|skipped|todo) (\d+)"
_BY_SUBTESTS = "subtestsFailed"


def parse_node(evidence: FinishedRun) -> Findings:
    """Parse the events that our reporter writes; without them the output."""
    events = list(_read_node_events(evidence.read_report_file("report")))
    counts: dict[str, int] = {}
    for event in events:
        if count := re.fullmatch(_NODE_COUNT, str(event.get("said", ""))):
            counts[count[1]] = int(count[2])
    if "pass" not in counts:
        found = output_parsers.parse_any(evidence)
        return replace(found, lost=found.lost or CUT_SHORT) if events else found
    return _build_node_findings(events, counts, evidence)


def _build_node_findings(
    events: list[Mapping[str, Any]], counts: Mapping[str, int], evidence: FinishedRun
) -> Findings:
    passed: list[str] = []
    skipped: list[str] = []
    failures: list[TestFailure] = []
    unloadable: list[str] = []
    extra = 0  # suites that failed by a hook are not in node's counts
    results = list(_name_node_results(events, evidence))
    whole = {name for event, name in results if event.get("kind") != "suite"}
    for event, name in results:
        if event.get("kind") == "suite" and event.get("failure") == _BY_SUBTESTS:
            continue
        if event["type"] == "test:pass" or event.get("todo") not in (None, False):
            names = skipped if event.get("skip", event.get("todo")) not in (None, False) else passed
            if event.get("kind") != "suite":
                names.append(name)
            continue
        extra += event.get("kind") == "suite"
        if event.get("failure") == _BY_SUBTESTS:  # counted, but they say why
            continue
        failure = _build_node_failure(event, _find_whole_test(name, whole), evidence)
        if failure.id not in {each.id for each in failures}:
            failures.append(failure)
        if INSIDE not in name:
            unloadable.append(name)
    found = Findings(
        passed=counts["pass"],
        failed=counts.get("fail", 0) + extra,
        errors=counts.get("cancelled", 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failures=tuple(failures[:MAX_FAILURES]),
        passed_tests=tuple(passed),
        skipped_tests=tuple(skipped),
        broken=describe_unloadable(unloadable),
    )
    lost = _list_unended_files(events, evidence)
    return output_parsers.leave_out_node_files(
        replace(found, lost=f"{CUT_SHORT}: {join_names(lost, 5)}" if lost else ""), evidence.root
    )


def _find_whole_test(name: str, whole: Set[str]) -> str:
    """Return the test that a subtest is in, since node runs none of its subtests without the others."""
    parts = name.split(INSIDE)
    places = (INSIDE.join(parts[:depth]) for depth in range(2, len(parts)))
    return next((each for each in places if each in whole), name)


def _read_node_events(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        try:
            event = parse_json(line)
        except ValueError:  # the run was killed while writing
            continue
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            yield event


def _name_node_results(
    events: list[Mapping[str, Any]], evidence: FinishedRun
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each result with its name: file, suites and test. A file's own result has the file's name alone."""
    open_names: dict[str, list[str]] = {}
    for event in events:
        name = str(event.get("name", ""))
        file = junit.make_project_relative(str(event.get("file") or ""), evidence.root)
        above = open_names.setdefault(file, [])
        depth = int(event.get("nesting") or 0)
        if event["type"] == "test:start":
            above[depth:] = [name]
        elif event["type"] in ("test:pass", "test:fail"):
            is_file = not depth and junit.make_project_relative(name, evidence.root) == file
            yield event, file if is_file else INSIDE.join(filter(None, (file, *above[:depth], name)))


def _list_unended_files(events: list[Mapping[str, Any]], evidence: FinishedRun) -> list[str]:
    """Return the files in which a test was to run and has no result: it, or one before it, ended the process."""
    begun: Counter[tuple[str, int, str]] = Counter()
    ended: Counter[tuple[str, int, str]] = Counter()
    results: Counter[tuple[str, int, str]] = Counter()
    kinds = {"test:enqueue": begun, "test:complete": ended, "test:pass": results, "test:fail": results}
    for event in events:
        if event["type"] in kinds:
            key = (str(event.get("file") or ""), int(event.get("nesting") or 0), str(event.get("name", "")))
            kinds[event["type"]][key] += 1
    lost = {file for (file, *_), count in (begun - (ended | results)).items() if count}
    return sorted(junit.make_project_relative(file, evidence.root) or file for file in lost)


def _build_node_failure(event: Mapping[str, Any], name: str, evidence: FinishedRun) -> TestFailure:
    stack = str(event.get("stack") or "")
    file, line = junit.find_innermost_place(stack, evidence.root)
    own = junit.make_project_relative(str(event.get("file") or ""), evidence.root)
    return make_failure(
        name,
        file=file
        or (own if INSIDE in name else ""),  # where a file cannot be loaded, only the output says why
        line=line or (int(event.get("line") or 0) if not file else 0),
        message=str(event.get("error") or ""),
        detail=junit.keep_project_frames(stack, evidence.root),
    )


def _parse_json(content: bytes) -> Mapping[str, Any]:
    try:
        value = parse_json(content or b"{}")
    except ValueError:  # the run was killed while writing: the output is parsed instead
        return {}
    return value if isinstance(value, dict) else {}
