"""Parsers of plain test output, for runners that write no report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from tools.core.text import join_names, strip_terminal_codes
from tools.testing.junit import find_innermost_place, keep_project_frames
from tools.testing.launch import FinishedRun, read_report
from tools.testing.report import (
    MAX_FAILURES,
    NOTHING,
    Findings,
    Kind,
    TestFailure,
    describe_unloadable,
    make_failure,
    tally_findings,
)
from tools.testing.summary_format import CUT_SHORT, SummaryFormat
from tools.testing.summary_formats import FORMATS, NOTHING_RAN
from tools.testing.task_output import strip_prefixes

_RULE = compile_lazily(r"^(?:={50,}|-{50,})$", re.M)
_UNITTEST_HEAD = compile_lazily(r"^(FAIL|ERROR): (?P<name>\S+)(?: \((?P<where>[^)\n]*)\))?(?P<sub>.*)$", re.M)
_UNITTEST_RAN = compile_lazily(r"^Ran (\d+) tests? in (?![\d.]+ seconds)", re.M)
_UNITTEST_OK = compile_lazily(r"^\S.* \.\.\. ok$", re.M)
_UNITTEST_LINE = compile_lazily(
    r"^(?P<name>\w+) \((?P<where>[\w.]+)\)(?:\n[^\n]*?)? \.\.\. (?P<verdict>ok|skipped|expected failure)\b",
    re.M,
)
_UNITTEST_END = compile_lazily(r"^(?:OK|FAILED)(?: \((?P<counts>[^)]*)\))?\s*$", re.M)


def parse_unittest(evidence: FinishedRun) -> Findings:
    """Parse the output of `python -m unittest`, with or without -v, and of Django's test command."""
    text = _read_whole_output(evidence)
    ran = [int(match[1]) for match in _UNITTEST_RAN.finditer(text)]
    if not ran:
        return NOTHING
    counts: dict[str, int] = {}
    for end in _UNITTEST_END.finditer(text):
        for word, number in re.findall(r"([\w ]+)=(\d+)", end["counts"] or ""):
            counts[word.strip()] = counts.get(word.strip(), 0) + int(number)
    failures = _parse_unittest_failures(text, evidence)
    failed = counts.get("failures", 0) + counts.get("unexpected successes", 0)
    errors, skipped = (
        counts.get("errors", 0),
        counts.get("skipped", 0) + counts.get("skips", 0),
    )  # skips: of green
    xfailed = counts.get("expected failures", 0)
    broken = [each.id for each, unloadable in failures if unloadable]
    names = [each.id.partition(" ")[0] for each, _ in failures]
    repeated = len(names) - len(set(names))  # several failed subtests are one test that ran
    # Tests skipped or broken before they began are not always counted as run (never in Python 3.12.1).
    left = sum(ran) - failed - errors - skipped - xfailed + repeated
    said = min(len(_UNITTEST_OK.findall(text)), sum(ran))
    ended = [(_join_unittest_name(each), each["verdict"] == "ok") for each in _UNITTEST_LINE.finditer(text)]
    return Findings(
        passed=max(left, said),
        passed_tests=tuple(name for name, is_ok in ended if is_ok),
        skipped_tests=tuple(name for name, is_ok in ended if not is_ok),
        failed=failed,
        errors=errors,
        skipped=skipped,
        xfailed=xfailed,
        failures=tuple(each for each, _ in failures),
        repeated=repeated,
        broken=describe_unloadable(broken),
    )


def _join_unittest_name(line: re.Match[str]) -> str:
    """Return the dotted name: before Python 3.11 the parentheses hold only the class, since then also the method."""
    where, name = line["where"] or "", line["name"]
    return where if where.endswith(f".{name}") else f"{where}.{name}".strip(".")


def _parse_unittest_failures(text: str, evidence: FinishedRun) -> list[tuple[TestFailure, bool]]:
    """Return the failures, each with whether it is a module that could not be loaded."""
    found: list[tuple[TestFailure, bool]] = []
    parts = _RULE.split(text)
    for head, body in pairwise(parts):
        match = _UNITTEST_HEAD.match(head.strip())
        if not match or len(found) == MAX_FAILURES:
            continue
        where = match["where"] or ""
        unloadable = "_FailedTest" in where
        name = _join_unittest_name(match)
        if unloadable:
            name = where.partition("_FailedTest.")[2] or match["name"]
        lines = body.strip().splitlines()
        raised = next((line for line in reversed(lines) if line and not line.startswith(" ")), "")
        file, line = find_innermost_place(body, evidence.root)
        one = make_failure(
            f"{name}{match['sub']}",
            file=file,
            line=line,
            message=raised,
            detail=keep_project_frames(body.strip(), evidence.root),
        )
        found.append((one, unloadable))
    return found


def parse_pytest(evidence: FinishedRun) -> Findings:
    """Parse pytest's closing line and short summary, for a run without a report."""
    text = _read_whole_output(evidence)
    counts = parse_pytest_counts(evidence)
    if not counts and not re.search(r"^=* ?no tests ran in ", text, re.M):
        return NOTHING
    named = re.findall(r"^(?:FAILED|ERROR) (\S+?(?:::.+?)?)(?: - (.*))?$", text, re.M)
    return Findings(
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0),
        errors=counts.get("error", 0) + counts.get("errors", 0),
        skipped=counts.get("skipped", 0),
        xfailed=counts.get("xfailed", 0),
        xpassed=counts.get("xpassed", 0),
        deselected=counts.get("deselected", 0),
        failures=tuple(make_failure(name, message=message) for name, message in named[:MAX_FAILURES]),
    )


def parse_pytest_counts(evidence: FinishedRun) -> Mapping[str, int]:
    """Return the counts of pytest's closing line by outcome, as pytest names it; {} without such a line."""
    found = re.findall(
        r"^=* ?((?:\d+ (?:subtests )?[a-z]+(?:, )?)+) in [\d.]+s.*$", _read_whole_output(evidence), re.M
    )
    return (
        {word: int(number) for number, word in re.findall(r"(\d+) ((?:subtests )?[a-z]+)", found[-1])}
        if found
        else {}
    )


_TAP = compile_lazily(
    r"^(?P<bad>not )?ok(?= |$)(?: +\d+)?(?: +-)? ?(?P<name>.*?)(?P<directive> *# *(?:SKIP|TODO)\b.*)?(?: # time=.*)?$",
    re.M | re.I,
)
_TAP_PLAN = compile_lazily(r"^1\.\.(\d+)(?= *(?:#.*)?$)", re.M)
_TAP_START = compile_lazily(r"^(?:TAP version \d+$|1\.\.\d+ *(?:#.*)?$)", re.M)
_TAP_STOP = compile_lazily(r"^Bail out!.*", re.M)
_PROVE = compile_lazily(r"^Files=\d+, Tests=(?P<total>\d+), .*\nResult: \w+$", re.M)
_PROVE_FAILED = compile_lazily(r"^(?P<file>\S+) +\(Wstat: .* Tests: \d+ Failed: (?P<failed>\d+)\)$", re.M)
_GO = compile_lazily(r"^--- (?P<verdict>PASS|FAIL|SKIP): (?P<name>\S+)", re.M)
_GO_PACKAGE = compile_lazily(r"^(?P<verdict>ok  |FAIL)\t(?P<name>\S+)(?!.*\[no tests to run\])", re.M)
_PYTEST_EXIT = compile_lazily(r"^!+ _pytest\.outcomes\.Exit: (.*?) !+$", re.M)


def parse_any(evidence: FinishedRun) -> Findings:
    """Parse the output of one or more unknown runners: the sum of all results in known formats."""
    found = NOTHING
    text = strip_prefixes(_read_whole_output(evidence))
    evidence = replace(evidence, text=text, full_output=None)
    for reader in (parse_pytest, parse_unittest):
        found += reader(evidence)
    for each in FORMATS:
        one = each.parse(text)
        if one.counted and each.name == "node":
            named = leave_out_node_files(_name_node_files(one, text, evidence.root), evidence.root)
            one = replace(named, passed_tests=())
        found += one
        if one.counted:  # several formats have the same words
            text = re.sub(each.summary, "", text, flags=re.M)
    if not found.counted:
        found = next((one for read in _BY_LINE if (one := read(text)).counted), NOTHING)
    if not found.counted and NOTHING_RAN.search(text):
        found = Findings()
    return replace(found, lost=found.lost or find_pytest_exit(evidence) or find_loss(evidence))


def find_loss(evidence: FinishedRun, *names: str) -> str:
    """Return a sentence if a run in the output has a start and no end, "" if not. names: of formats, none for all"""
    text = _read_whole_output(evidence)
    known = (each for each in (*_FULL_RUNS, *FORMATS) if not names or each.name in names)
    if any(each.is_cut_short(text) for each in known):
        return CUT_SHORT
    tcl = _TCL_FILES.search(text)  # a file that ended the process has no test in the sum
    return CUT_SHORT if tcl and int(tcl["tests"]) < int(tcl["files"]) else ""


_TCL_FILES = compile_lazily(r"^\S+:\tTotal\t(?P<tests>\d+)\t.*\nSourced (?P<files>\d+) Test Files\.", re.M)


def find_pytest_exit(evidence: FinishedRun) -> str:
    """Return a sentence if a test has called `pytest.exit`, which can end with status 0, "" if not."""
    stopped = _PYTEST_EXIT.search(_read_whole_output(evidence))
    return f"{CUT_SHORT}: {stopped[1]}" if stopped else ""


_FULL_RUNS = (
    SummaryFormat(
        name="pytest",
        summary="(?!)",
        start=r"^=+ test session starts =+$",
        end=r"^=+ (?:\d+ \w+|no tests ran).* in [\d.]+s\b.*=+$",
    ),
    SummaryFormat(
        name="unittest",
        summary="(?!)",
        start=r"^\w+ \([\w.]+\)(?:\n[^\n]*?)? \.\.\. ",
        end=r"^Ran \d+ tests? in ",
        has_many_starts=True,
    ),
)
"""Runners whose results have a parser of their own."""


def leave_out_node_files(found: Findings, root: Path) -> Findings:
    """Remove the files that node counts as a passed test: they ran no test, or ended before all of theirs had run."""
    files = [name for name in found.passed_tests if _SCRIPT_NAME.search(name) and (root / name).is_file()]
    lost = [name for name in files if _has_node_tests(root, name)]
    return replace(
        found,
        passed=max(found.passed - len(files), 0),
        passed_tests=tuple(name for name in found.passed_tests if name not in files),
        lost=f"{CUT_SHORT}: {join_names(lost, 5)}" if lost else found.lost,
    )


_SCRIPT_NAME = compile_lazily(r"\.[cm]?[jt]sx?$")
_NODE_TEST_NAME = compile_lazily(r"(^|/)(test|test-[^/]*|[^/]*[.\-_]test)\.\w+$")
_NODE_TESTS = compile_lazily(r"""["'](?:node:test|test)["']""")
_TEST_CALL = compile_lazily(r"^\s*(?:await )?(?:test|it|describe|suite)\s*(?:\.\w+\s*)?\(", re.M)
_EXPORTS = compile_lazily(r"^\s*(?:export\b|module\.exports\b|exports\.)", re.M)


def _has_node_tests(root: Path, name: str) -> bool:
    """Return whether a script has tests for node's runner: a helper, or a script that only asserts, has none."""
    text = read_report(root / name).decode("utf-8", "replace")
    if _NODE_TESTS.search(text) and not _EXPORTS.search(text):
        return True
    return bool(_NODE_TEST_NAME.search(name) and _TEST_CALL.search(text))


def _name_node_files(found: Findings, text: str, root: Path) -> Findings:
    """Name the passed tests that are files of the project."""
    lines = re.findall(r"^(?:✔|ok \d+ -) (\S+?)(?: \([\d.]+ms\))?$", text, re.M)
    names = (each.removeprefix(f"{root}/") for each in lines if _SCRIPT_NAME.search(each))
    return replace(found, passed_tests=tuple(names))


_IDLE_MAKE = compile_lazily(
    r"make(?:\[\d+\])?: (?:[`'‘](.+)['’] is up to date|Nothing to be done for [`'‘](.+)['’])\."
)
_MAKE_MOVES = compile_lazily(r"make(?:\[\d+\])?: (?:Entering|Leaving) directory .*")


def explain_idle_make(text: str) -> str:
    """Explain from make's message why it ran no command, so no tests ("" for any other output).

    A folder with the target's name is taken for the target's file unless the target is declared `.PHONY`.
    """
    said = [
        line
        for line in strip_terminal_codes(text).split("\n")
        if line.strip() and not _MAKE_MOVES.fullmatch(line.strip())
    ]
    idle = [_IDLE_MAKE.fullmatch(line.strip()) for line in said]
    if not idle or not all(idle):
        return ""
    why = said[-1].strip()
    target = next((match[1] for match in idle if match and match[1]), "")
    cure = (
        f"; a file or folder is called {target}, so the Makefile needs `.PHONY: {target}`" if target else ""
    )
    return f"make ran no command ({why}){cure}"


def _parse_prove(text: str) -> Findings:
    """Parse the summary of prove, which counts skipped tests as run; with -v, their lines are in the output."""
    ends = list(_PROVE.finditer(text))
    if not ends:
        return NOTHING
    failing = [(match["file"], int(match["failed"])) for match in _PROVE_FAILED.finditer(text)]
    failed = sum(number for _, number in failing)
    skipped = sum(bool(match["directive"]) for match in _TAP.finditer(text))
    return Findings(
        passed=max(sum(int(match["total"]) for match in ends) - failed - skipped, 0),
        failed=failed,
        skipped=skipped,
        failures=tuple(make_failure(file) for file, number in failing if number),
    )


def _parse_tap(text: str) -> Findings:
    """Parse TAP, whose plan says how many results there have to be."""
    if not _TAP_START.search(text):
        return NOTHING
    found = _build_findings(
        ("skipped" if match["directive"] else "failed" if match["bad"] else "passed", match["name"].strip())
        for match in _TAP.finditer(text)
    )
    plans = [int(number) for number in _TAP_PLAN.findall(text)]
    results = found.passed + found.failed + found.skipped
    stopped = _TAP_STOP.search(text)
    is_cut = sum(plans) > results or (results > 0 and not plans)
    return replace(
        found, counted=True, lost=f"{CUT_SHORT}: {stopped[0]}" if stopped else CUT_SHORT if is_cut else ""
    )


def _parse_go(text: str) -> Findings:
    pattern = _GO if _GO.search(text) else _GO_PACKAGE  # without -v only failures are named
    kinds: dict[str, Kind] = {"PASS": "passed", "ok  ": "passed", "FAIL": "failed", "SKIP": "skipped"}
    return _build_findings((kinds[match["verdict"]], match["name"]) for match in pattern.finditer(text))


_BY_LINE: tuple[Callable[[str], Findings], ...] = (_parse_prove, _parse_tap, _parse_go)


def _build_findings(verdicts: Iterable[tuple[Kind, str]]) -> Findings:
    every = list(verdicts)
    if not every:
        return NOTHING
    return tally_findings(
        (kind for kind, _ in every), [make_failure(name) for kind, name in every if kind == "failed"]
    )


def _read_whole_output(evidence: FinishedRun) -> str:
    """Return all of the output as plain text; summaries are at its end."""
    if evidence.full_output is None:
        return strip_terminal_codes(evidence.text)
    return strip_terminal_codes("\n".join(evidence.stream_lines()))
