"""Search for two changes of which neither is enough: the second on top of a first that made progress.

A program with two faults mostly shows when one of them is fixed, though tests still fail: one more test
passes, an exception is gone or comes later, a value differs. Such first changes are bases; each is run once
more with line coverage, and the search restarts from its text, its coverage and its messages (cf. the partial
repairs of multi-hunk search: ARJA, Yuan & Banzhaf 2018; Hercules, Saha et al. 2019).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.candidates.composed_edits import Edit
from packages.offline.repair.engine.validation.worker_process import Message
from packages.offline.repair.localize.coverage_spectrum import Frame, Spectrum, Test, is_test_file
from packages.offline.repair.localize.failure_analysis import extract_hints
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import Source
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

# Number of bases that are probed, and of those with which a test fails with the same message.
MOST_BASES, ALIKE = 40, 3
# Failing tests that a second change is judged by; one that passes is enough.
MOST_JUDGES = 3
# Statements on top of each base for which candidates are generated.
MOST_SUSPECTS = 60
# Typical priority of the best candidate on top of a base.
USUAL = 0.4
# Factors on the likelihood that a base is one of two needed changes: more tests pass with it, exceptions are
# gone or differ, or only computed values change. Set by the effect of one right change on forty programs with
# two faults.
GAINED, FURTHER, OTHERWISE = 10.0, 10.0, 0.3
# A test that passed fails now: the other change must fix that as well.
BROKEN = 4.0
# Failures of tests that run to their end: all others are exceptions that stop them before.
_UNSTOPPED = ("AssertionError", "")
_ADDRESS = compile_lazily(r"0[xX][0-9a-fA-F]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPatch:
    """A change that was not enough, and the failing test's message with it ("" when it passed)."""

    candidate: Candidate
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBase:
    """A change to search on top of, with the outcomes of its tests.

    sources: the files with the change applied
    failing: tests that fail with it, the primary judge first
    weight: relative likelihood of being one of the needed changes
    """

    candidate: Candidate
    sources: Mapping[str, Source]
    spectrum: Spectrum
    failing: Sequence[Test]
    weight: float


def select_promising(halves: Sequence[PartialPatch]) -> list[Candidate]:
    """Return the changes to probe: those that made a test pass, then by order of trial, few of equal failures."""
    found: list[Candidate] = []
    words: dict[str, int] = {}
    for half in sorted(halves, key=lambda each: (each.message != "", each.candidate.rank)):
        words[half.message] = words.get(half.message, 0) + 1
        if not half.message or words[half.message] <= ALIKE:
            found.append(half.candidate)
    return found[:MOST_BASES]


def build_base(
    candidate: Candidate,
    probed: Message,
    sources: Mapping[str, Source],
    spectrum: Spectrum,
    wanted: Sequence[Test],
) -> SearchBase | None:
    """Return a base with its weight from the tests' outcomes; None when it cannot be built on.

    wanted: outcomes of the failing tests without it, or without the last of its changes
    """
    records: dict[int, Message] = {int(index): record for index, record in probed["tests"].items()}
    now = {
        test.index: _apply_record(test, records[test.index])
        for test in spectrum.tests
        if test.index in records
    }
    mended = _apply_candidate(candidate, sources)
    first = next((now[t.index] for t in wanted if t.index in now and now[t.index].standing == "failed"), None)
    broken = [
        t for t in now.values() if t.standing == "failed" and spectrum.tests[t.index].standing == "passed"
    ]
    # no change on top of it compensates for that
    skipped = any(t.standing == "skipped" != spectrum.tests[t.index].standing for t in now.values())
    if mended is None or skipped or (first is None and not broken):
        return None
    failing = [t for t in now.values() if t.standing == "failed"]
    chance = candidate.priority * candidate.precision
    first = first or broken[0]
    failing.sort(key=lambda test: test is not first)
    return SearchBase(
        candidate=candidate,
        sources=mended,
        spectrum=replace(spectrum, tests=list(now.values())),
        failing=failing,
        weight=chance * _weigh_evidence([t for t in wanted if t.index in now], now, len(broken)),
    )


def select_different_tests(failing: Sequence[Test], most: int = MOST_JUDGES) -> list[Test]:
    """Return the first test and others that run other lines: a second change may fix these, a third one the first."""
    found: list[Test] = []
    for test in failing:
        if len(found) < most and all(test.lines != other.lines for other in found):
            found.append(test)
    return found


def removes_exception(said: str, base: SearchBase | None) -> bool:
    """Return whether a change on top of a base removed the exception that ended its first test.

    said: that test's message with both, as the screening reports it ("Type: message", truncated)
    """
    if base is None:
        return False
    test = base.failing[0]
    stopped = test.error not in _UNSTOPPED and not test.is_endless
    before = _ADDRESS.sub("0x", f"{test.error}: {test.message}")
    return stopped and not before.startswith(said)


def get_base_outcomes(
    candidate: Candidate, wanted: Sequence[Test], bases: Mapping[int, SearchBase | None]
) -> list[Test]:
    """Return the outcomes of the wanted tests with a candidate's base, as far as known."""
    base = bases.get(candidate.base.rank) if candidate.base else None
    known = {test.index: test for test in base.spectrum.tests} if base else {}
    return [known.get(test.index, test) for test in wanted]


def generate_second_changes(
    bases: Sequence[SearchBase],
    first_rank: int,
    most: int,
    seen: set[tuple[Edit, ...]],
    suspects: int = MOST_SUSPECTS,
) -> Iterator[Candidate]:
    """Yield second changes on all bases, by falling likelihood of both; the first of each base is exempt.

    Each outcome is yielded once and added to `seen`; ranks start at `first_rank`, `most` of them.
    suspects: statements for which changes are generated on top of each base
    """
    number = 0
    for candidate in _merge_by_priority(bases, suspects):
        meaning = tuple(candidate.edits)
        if meaning in seen:
            continue
        seen.add(meaning)
        yield replace(candidate, rank=first_rank + number)
        number += 1
        if number == most:
            return


def _merge_by_priority(bases: Sequence[SearchBase], suspects: int) -> Iterator[Candidate]:
    """Yield the bases' candidates, likeliest first. A base is evaluated at its turn only: its candidates cost time."""
    streams = [_generate_on_base(base, suspects) for base in bases]
    heads: list[Candidate | None] = [None] * len(bases)
    heap = [(-base.weight * USUAL, number) for number, base in enumerate(bases)]
    heapq.heapify(heap)
    while heap:
        number = heap[0][1]
        head = heads[number]
        if head is not None:
            yield head
        following = heads[number] = next(streams[number], None)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (-following.priority, number))


def _generate_on_base(base: SearchBase, most: int) -> Iterator[Candidate]:
    suspects = rank_statements(base.sources, base.failing, base.spectrum)[:most]
    for each in generate_candidates(suspects, base.sources, extract_hints(base.failing)):
        priority, size = each.priority * base.weight, each.size + base.candidate.size
        yield replace(each, base=base.candidate, priority=priority, size=size)


def _apply_record(test: Test, record: Message) -> Test:
    outcome = record["outcome"]
    return replace(
        test,
        standing=outcome if outcome in ("passed", "skipped") else "failed",
        is_endless=outcome == "timeout",
        error=record.get("type", ""),
        message=record.get("message", ""),
        frames=tuple(Frame(path=p, line=line, function=name) for p, line, name in record.get("frames", ())),
        lines={path: frozenset(lines) for path, lines in record.get("lines", {}).items()},
    )


def _apply_candidate(candidate: Candidate, sources: Mapping[str, Source]) -> dict[str, Source] | None:
    texts = {path: source.text for path, source in sources.items()}
    for part in candidate.parts:
        text = texts[part.path]
        texts[part.path] = text[: part.change.start] + part.change.text + text[part.change.end :]
    with suppress(SyntaxError, ValueError, RecursionError):
        return {
            path: sources[path] if text == sources[path].text else Source(path, text)
            for path, text in texts.items()
        }
    return None


def _weigh_evidence(wanted: Sequence[Test], now: Mapping[int, Test], broken: int) -> float:
    pairs = [(before, now[before.index]) for before in wanted]
    gained = sum(b.standing == "failed" and a.standing == "passed" for b, a in pairs) / len(pairs)
    further = sum(map(_is_further, *zip(*pairs, strict=True))) / len(pairs)
    found = max(OTHERWISE, FURTHER * further)
    if gained:
        found = max(found, GAINED * (1 + gained))
    return found / (1 + BROKEN * broken / max(1, len(now) - len(pairs)))


def _is_further(before: Test, after: Test) -> bool:
    """Return whether an exception or endless loop is gone, or differs and is at a later place.

    Another exception at the same place, before anything else is run, is mostly another error, as `a[max]` for
    `a[x]`.
    """
    if before.standing != "failed" or after.standing != "failed" or after.is_endless:
        return False
    if before.is_endless:
        return True
    if before.error in _UNSTOPPED or (before.error, before.message) == (after.error, after.message):
        return False
    return after.error in _UNSTOPPED or _runs_more_lines(before, after)


def _runs_more_lines(before: Test, after: Test) -> bool:
    """Compare lines of the program only: for tests' own lines the earlier coverage is unknown."""
    return any(
        lines - before.lines.get(path, frozenset())
        for path, lines in after.lines.items()
        if path != before.file and not is_test_file(path)
    )
