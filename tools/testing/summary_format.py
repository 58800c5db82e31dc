"""How a runner sums up its tests, and the reader of such a summary."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.lazy_dataclass import dataclass
from tools.testing.report import NOTHING, Findings, make_failure
from tools.testing.selection import INSIDE

CUT_SHORT = "the test run ended before all tests had run"
"""Said of a run that has begun and does not announce its end: a test has ended the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryFormat:
    """How a runner sums up its tests.

    summary: pattern of the summary. Its groups are counts by their names; where none matches, the text is pairs of a
      number and a word
    is_word_first: in these pairs the word precedes the number
    rest: the kind that is the total without what is stated of other kinds, if it is not stated itself
    failing: pattern of the names of failing tests: its first group, or those called name and file
    place: pattern of a line that names the file of the tests after it, whose names then begin with it
    passing: pattern of the names of tests that passed, counted where a summary of failures leaves them out
    unrun: pattern of a test that is counted in the total and did not run
    start, end: patterns of what is printed before a run and after it, "" where the start shows nothing; a run that has
      an end for each start is complete. The end is the summary if it is not given
    has_many_starts: the start is printed more than once in a run, as for each test
    lost: pattern of what is printed where a test file has ended the process
    """

    name: str
    summary: str
    is_word_first: bool = False
    rest: str = "passed"
    failing: str = ""
    place: str = ""
    passing: str = ""
    unrun: str = ""
    start: str = ""
    end: str = ""
    has_many_starts: bool = False
    lost: str = ""

    def is_cut_short(self, text: str) -> bool:
        """Return whether a run in the output has no end."""
        if self.lost and re.search(self.lost, text, re.M):
            return True
        if not self.start:
            return False
        starts = len(re.findall(self.start, text, re.M))
        return (min(starts, 1) if self.has_many_starts else starts) > len(
            list(re.finditer(self.end or self.summary, text, re.M))
        )

    def parse(self, text: str) -> Findings:
        """Return the sum of all summaries in the output, NOTHING if there is none."""
        total = NOTHING
        for match in re.finditer(self.summary, text, re.M):
            total += self._count_kinds(match)
        if not total.counted:
            return NOTHING
        unrun = len(re.findall(self.unrun, text, re.M)) if self.unrun else 0
        unrun = min(unrun, total.passed)
        passed = len(re.findall(self.passing, text, re.M)) if self.passing and not total.passed else 0
        return total + Findings(
            passed=passed - unrun,
            skipped=unrun,
            failures=tuple(make_failure(name) for name in self._list_failing(text)),
        )

    def _list_failing(self, text: str) -> dict[str, None]:
        """Return the names of failing tests, after their file where the output names it."""
        if not self.failing:
            return {}
        places = (
            [(each.start(), each[1]) for each in re.finditer(self.place, text, re.M)] if self.place else []
        )
        found: dict[str, None] = {}
        for match in re.finditer(self.failing, text, re.M):
            file = next((name for start, name in reversed(places) if start < match.start()), "")
            file = match.groupdict().get("file") or file
            name = match.groupdict().get("name") or match[1]
            found[_join_name(file, name) if file else name] = None
        return found

    def _count_kinds(self, match: re.Match[str]) -> Findings:
        numbers: dict[str, int] = {}
        for word, number in self._list_pairs(match):
            kind = _KINDS.get(word.lower())
            if kind is not None:
                numbers[kind] = numbers.get(kind, 0) + int(number)
        total = numbers.pop("total", None)
        if total is not None and self.rest not in numbers:
            stated = sum(
                numbers.get(kind, 0) for kind in _EXCLUSIVE if self.rest == "passed" or kind == "passed"
            )
            numbers[self.rest] = max(total - stated, 0)
        if not numbers:
            return NOTHING
        return Findings(
            passed=numbers.get("passed", 0),
            failed=numbers.get("failed", 0),
            errors=numbers.get("errors", 0),
            skipped=numbers.get("skipped", 0),
        )

    def _list_pairs(self, match: re.Match[str]) -> list[tuple[str, str]]:
        if named := [(word, number) for word, number in match.groupdict().items() if number]:
            return named
        if self.is_word_first:
            return re.findall(r"([A-Za-z]+):?[ \t]+(\d+)", match[0])
        return [(word, number) for number, word in re.findall(r"(\d+) ([A-Za-z]+)", match[0])]


def _join_name(file: str, name: str) -> str:
    """Return the target for a test in a file; runners that name it by its path as well are not repeated."""
    parts = re.split(" [>›] ", name)
    folders = file.split("/")
    folders[-1] = re.sub(r"(?:\.(?:test|spec))?\.\w+$", "", folders[-1])
    while len(parts) > 1 and parts[0] in folders:
        del parts[0]
    if "(unnamed)" in parts:  # bun: of a hook for all of the file
        return file
    return INSIDE.join((file, *parts))


_EXCLUSIVE = ("passed", "failed", "errors", "skipped")

_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("passed", "pass", "passing", "passes", "success", "successes", "ok", "flaky"), "passed"),
    **dict.fromkeys(("failed", "fail", "failing", "failure", "failures", "undefined"), "failed"),
    **dict.fromkeys(("error", "errors", "cancelled"), "errors"),
    **dict.fromkeys(
        (
            "skipped",
            "untested",
            "skip",
            "skips",
            "pending",
            "pendings",
            "ignored",
            "todo",
            "incomplete",
            "omissions",
            "excluded",
        ),
        "skipped",
    ),
    **dict.fromkeys(
        ("total", "tests", "test", "examples", "example", "runs", "run", "spec", "specs"), "total"
    ),
}
"""Kind of a test's result by the words of runners."""
