"""Parsers of plain test output, for runners that write no report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from tools.core.text import strip_terminal_codes
from tools.testing.junit import find_innermost_place, keep_project_frames
from tools.testing.launch import FinishedRun
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

_RULE = re.compile(r"^(?:={50,}|-{50,})$", re.M)
_UNITTEST_HEAD = re.compile(r"^(FAIL|ERROR): (?P<name>\S+)(?: \((?P<where>[^)\n]*)\))?(?P<sub>.*)$", re.M)
_UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
_UNITTEST_OK = re.compile(r"^\S.* \.\.\. ok$", re.M)
_UNITTEST_LINE = re.compile(
    r"^(?P<name>\w+) \((?P<where>[\w.]+)\)(?:\n[^\n]*?)? \.\.\. (?P<verdict>ok|skipped|expected failure)\b",
    re.M,
)
_UNITTEST_END = re.compile(r"^(?:OK|FAILED)(?: \((?P<counts>[^)]*)\))?\s*$", re.M)


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
    errors, skipped = counts.get("errors", 0), counts.get("skipped", 0)
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
    found = re.findall(r"^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s.*$", _read_whole_output(evidence), re.M)
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", found[-1])} if found else {}


_SUMMARIES: Mapping[str, tuple[str, str]] = {
    # pattern of the summary line, and of failing tests' names elsewhere in the output
    "cargo": (
        r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        r"^test (\S+) \.\.\. FAILED$",
    ),
    "vitest": (
        r"^\s+Tests +(?:(?P<failed>\d+) failed)?(?: \| )?(?:(?P<passed>\d+) passed)?(?: \| )?"
        r"(?:(?P<skipped>\d+) skipped)?(?:(?: \| )?\d+ todo)? \(\d+\)$",
        r"^\s*FAIL +(\S+ > .+)$",
    ),
    "jest": (
        r"^\s*Tests:? +(?:(?P<failed>\d+) failed[,| ]+)?(?:(?P<skipped>\d+) skipped[,| ]+)?"
        r"(?:\d+ todo[,| ]+)?(?:(?P<passed>\d+) passed)?",
        r"^\s+● (.+ › .+)$",
    ),
    "mocha": (
        r"^\s+(?P<passed>\d+) passing \([^)]*\)(?:\n\s+(?P<skipped>\d+) pending)?"
        r"(?:\n\s+(?P<failed>\d+) failing)?",
        r"^\s+\d+\) (.+):?$",
    ),
    "surefire": (
        r"^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+),"
        r" Skipped: (?P<skipped>\d+)\s*$",
        r"^\[ERROR\]\s+(\S+)(?:  <<<|:\d+)",
    ),
    "node": (
        r"^[#ℹ] pass (?P<passed>\d+)\n[#ℹ] fail (?P<failed>\d+)\n"
        r"[#ℹ] cancelled (?P<errors>\d+)\n[#ℹ] skipped (?P<skipped>\d+)",
        r"^not ok \d+ - (.+)$",
    ),
    "rspec": (
        r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?",
        r"^rspec (\S+)",
    ),
    "phpunit": (
        r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?"
        r"(?:, Failures: (?P<failed>\d+))?",
        r"^\d+\) (\S+::\S+)",
    ),
    "phpunit, all passed": (r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)", ""),
    "ctest": (
        r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)",
        r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Subprocess aborted)\)",
    ),
}

_TAP = re.compile(
    r"^(?P<bad>not )?ok\b(?: \d+)?(?: -)? ?(?P<name>[^#\n]*)(?P<directive># (?:SKIP|TODO).*)?$", re.M | re.I
)
_GO = re.compile(r"^--- (?P<verdict>PASS|FAIL|SKIP): (?P<name>\S+)", re.M)
_GO_PACKAGE = re.compile(r"^(?P<verdict>ok  |FAIL)\t(?P<name>\S+)", re.M)


def parse_any(evidence: FinishedRun) -> Findings:
    """Parse the output of an unknown runner by trying known formats."""
    for reader in (parse_pytest, parse_unittest):
        found = reader(evidence)
        if found.counted:
            return found
    text = _read_whole_output(evidence)
    for summary, names in _SUMMARIES.values():
        found = _parse_summary(text, summary, names)
        if found.counted:
            return found
    return next((found for read in _BY_LINE if (found := read(text)).counted), NOTHING)


_IDLE_MAKE = re.compile(
    r"make(?:\[\d+\])?: (?:[`'‘](.+)['’] is up to date|Nothing to be done for [`'‘](.+)['’])\."
)
_MAKE_MOVES = re.compile(r"make(?:\[\d+\])?: (?:Entering|Leaving) directory .*")


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


def _parse_summary(text: str, summary: str, names: str) -> Findings:
    total = NOTHING
    for match in re.finditer(summary, text, re.M):
        numbers = {key: int(value) for key, value in match.groupdict().items() if value}
        if not numbers:
            continue
        everything = numbers.pop("total", None)
        if everything is not None:
            numbers["passed"] = max(everything - sum(numbers.values()), 0)
        total += Findings(
            passed=numbers.get("passed", 0),
            failed=numbers.get("failed", 0),
            errors=numbers.get("errors", 0),
            skipped=numbers.get("skipped", 0),
        )
    if not total.counted:
        return NOTHING
    named = dict.fromkeys(re.findall(names, text, re.M)) if names else {}
    return total + Findings(failures=tuple(make_failure(name) for name in named))


def _parse_tap(text: str) -> Findings:
    if not re.search(r"^(?:TAP version \d+|1\.\.\d+)\s*$", text, re.M):
        return NOTHING
    return _build_findings(
        ("skipped" if match["directive"] else "failed" if match["bad"] else "passed", match["name"].strip())
        for match in _TAP.finditer(text)
    )


def _parse_go(text: str) -> Findings:
    pattern = _GO if _GO.search(text) else _GO_PACKAGE  # without -v only failures are named
    kinds: dict[str, Kind] = {"PASS": "passed", "ok  ": "passed", "FAIL": "failed", "SKIP": "skipped"}
    return _build_findings((kinds[match["verdict"]], match["name"]) for match in pattern.finditer(text))


_BY_LINE: tuple[Callable[[str], Findings], ...] = (_parse_tap, _parse_go)


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
