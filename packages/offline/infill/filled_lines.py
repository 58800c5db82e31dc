"""Candidates of a repair in other languages than Python that a local model fills in: lines of suspicious functions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count

from agent.model.infill.fill_forms import Gap
from agent.model.infill.filler import Filler
from agent.model.infill.logical_line import measure_logical_line
from packages.offline.repair.languages.call_reach import SuspectFunction
from packages.offline.repair.languages.function_scope import Change, Rule
from packages.offline.repair.languages.parsed_source import ParsedFile, is_test_file
from packages.offline.repair.languages.tree_candidates import Candidate
from packages.offline.repair.templates import FILLED
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.syntax.tree_syntax import find_tree_problems
from tools.testing.report import TestFailure

MOST_FUNCTIONS, MOST_PLACES = 4, 12
"""Functions, and lines in all of them, at which the model is asked, the most suspicious ones."""

WARM = 0.8
"""Temperature of a later round: the likeliest filling was tried in the first."""

STEP = 4
"""A filling is as late in the order of candidates as so many of the templates: it takes seconds, these a test run."""

RULE = Rule(name=FILLED.name, prior=FILLED.prior, precision=FILLED.precision, changes=lambda scope: iter(()))

_VALUE = compile_lazily(
    r"\s*+(?:(?:return|throw|yield)\b\s*|(?:\}\s*else\s+)?(?:if|while|for|switch|match)\b\s*\(?|[^=!<>(]*[^=!<>]=(?![=>])\s*)"
)
"""The beginning of a line up to its value: of a return, a condition, an assignment."""

_SEPARATOR = compile_lazily(r"::| > | › |/")
"""Between the names of suites and tests in an id."""

TEST_LINES = 30
"""Lines of a failing test, from its name on, that the model is shown."""

_WORD = compile_lazily(r"\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineGap:
    """A gap in one line of a function. start, end: characters of the file; after: what follows a filling"""

    doubt: SuspectFunction
    line: int
    start: int
    end: int
    after: str = ""


async def iterate_filled_candidates(
    filler: Filler,
    doubts: Sequence[SuspectFunction],
    beside: Sequence[tuple[str, str]],
    seconds_left: Callable[[], float],
) -> AsyncIterator[Candidate]:
    """Yield what the model fills in, round by round, each text once and none with syntax errors.

    beside: the failing tests; seconds_left: returns the time for fillings
    """
    places = list(list_places(doubts))
    seen = {(doubt.code.path, doubt.code.text) for doubt in doubts}
    numbers = count()
    for find, temperature, seed in (
        (find_line_gap, 0.0, 0),
        (find_value_gap, 0.0, 0),
        (find_line_gap, WARM, 1),
        (find_gap_before, 0.0, 0),
        (find_value_gap, WARM, 2),
    ):
        for doubt, line in places:
            if seconds_left() <= 0 or filler.is_resting:
                return
            gap = find(doubt, line)
            if gap is None:
                continue
            text = doubt.code.text
            filling = await filler.fill(
                Gap(
                    prefix=text[: gap.start], suffix=gap.after + text[gap.end :],
                    beside=beside, temperature=temperature, seed=seed, seconds=seconds_left(),
                )
            )  # fmt: skip
            if filling is None:
                continue
            new = filling.text[: measure_logical_line(filling.text)].strip()
            after = text[: gap.start] + new + gap.after + text[gap.end :]
            key = (doubt.code.path, after)
            if not new or key in seen:
                continue
            seen.add(key)
            if not find_tree_problems([doubt.code.language], text, after):
                yield _build_candidate(gap, new, after, STEP * next(numbers))


def read_failing_test(codes: Sequence[ParsedFile], failure: TestFailure) -> list[tuple[str, str]]:
    """Return path and text of a failing test, as far as it is found by its file or its name; nothing else."""
    name = _SEPARATOR.split(failure.id)[-1].strip()
    for code in codes:
        place = code.text.find(name) if name else -1
        if failure.file == code.path or (place >= 0 and is_test_file(code.path)):
            start = code.text.rfind("\n", 0, place) + 1 if place >= 0 else 0
            return [(code.path, "\n".join(code.text[start:].split("\n")[:TEST_LINES]))]
    return []


def list_places(doubts: Sequence[SuspectFunction]) -> Iterator[tuple[SuspectFunction, int]]:
    """Yield functions and lines: those that the failure names first, then the others of each function in turn."""
    lines = [(doubt, line) for doubt in doubts[:MOST_FUNCTIONS] for line in sorted(doubt.lines)]
    inner = [iter(_list_inner_lines(doubt)) for doubt in doubts[:MOST_FUNCTIONS]]
    for doubt, rest in zip(doubts, inner, strict=False):
        lines += [(doubt, line) for line in rest]
    unique = dict.fromkeys((id(doubt), line) for doubt, line in lines)
    by_key = {(id(doubt), line): (doubt, line) for doubt, line in lines}
    yield from (by_key[key] for key in list(unique)[:MOST_PLACES])


def find_line_gap(doubt: SuspectFunction, line: int) -> LineGap | None:
    """Return a whole line without its indentation as the gap."""
    start, text = _read_line(doubt, line)
    if line == doubt.function.own_first or not _WORD.search(text):
        return None
    return LineGap(doubt=doubt, line=line, start=start + _measure_indentation(text), end=start + len(text))


def find_value_gap(doubt: SuspectFunction, line: int) -> LineGap | None:
    """Return the line after its first keyword or assignment as the gap."""
    start, text = _read_line(doubt, line)
    found = _VALUE.match(text)
    if found is None or found.end() == len(text):
        return None
    return LineGap(doubt=doubt, line=line, start=start + found.end(), end=start + len(text))


def find_gap_before(doubt: SuspectFunction, line: int) -> LineGap | None:
    """Return the empty gap for one more line before a line."""
    start, text = _read_line(doubt, line)
    if line == doubt.function.own_first:
        return None
    place = start + _measure_indentation(text)
    return LineGap(doubt=doubt, line=line, start=place, end=place, after=f"\n{text[: place - start]}")


def _list_inner_lines(doubt: SuspectFunction) -> list[int]:
    lines = doubt.code.text.split("\n")
    function = doubt.function
    numbers = range(function.own_first, function.last + 1)
    return [
        number for number in numbers if _WORD.search(lines[number - 1]) and not _is_comment(lines[number - 1])
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("//", "/*", "*"))


def _read_line(doubt: SuspectFunction, line: int) -> tuple[int, str]:
    """Return the offset of a line, in characters, and its text."""
    lines = doubt.code.text.split("\n")
    return sum(len(each) + 1 for each in lines[: line - 1]), lines[line - 1].rstrip()


def _measure_indentation(text: str) -> int:
    return len(text) - len(text.lstrip())


def _build_candidate(gap: LineGap, new: str, after: str, rank: int) -> Candidate:
    code = gap.doubt.code
    start = len(code.text[: gap.start].encode())
    change = Change(
        start=start,
        end=start + len(code.text[gap.start : gap.end].encode()),
        text=new + gap.after,
        why=f"`{new}` is what the model writes",
        line=gap.line,
    )
    return Candidate(
        rank=rank,
        doubt=gap.doubt,
        rule=RULE,
        change=change,
        priority=gap.doubt.score * RULE.prior,
        after=after,
    )
