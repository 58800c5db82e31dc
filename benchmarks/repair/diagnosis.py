"""Why a bug is found or not, from the real fix: `python -m benchmarks.repair.projects explain BUGS.jsonl` (no search).

For each change that the fix makes: where its statement stands among the suspicious ones, and which template says it
at which place in the order of trial. Nothing is tried, so it costs one traced run of the failing tests' files.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import itertools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.repair.measure import tested_with, workspace
from benchmarks.repair.mining import Bug, blob, plain, unpack
from tools.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from tools.repair.engine.repair_engine import MOST_SUSPECTS, RepairRun
from tools.repair.engine.repair_findings import Findings
from tools.repair.engine.validation.suite_baseline import run_baseline
from tools.repair.engine.validation.worker_process import Replies
from tools.repair.localize.failure_analysis import extract_hints, group_by_fault
from tools.repair.localize.statement_ranking import Suspect, get_own_lines
from tools.repair.templates import Hints, Source

# Candidates that are counted at most, and made at the changed lines at most.
MOST, MOST_HERE = 20_000, 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One change of the real fix, or all of it at once.

    suspect: the place of the first of its statements among the suspicious ones, None if none of them is
    template: what makes it when the place is known, None if nothing does
    place: the candidate's place in the order of trial; None when it is not among the first
    """

    suspect: int | None
    template: str | None
    place: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What the engine knows of a bug before it tries anything.

    parts: of the fix, each change on its own; the last one is the whole of it when there are several
    """

    name: str
    outcome: str
    failing: int
    passing: int
    suspects: int
    parts: Sequence[Part]
    diff: str
    messages: Sequence[str]

    def __str__(self) -> str:
        parts = ", ".join(
            f"{'not a suspect' if part.suspect is None else f'suspect {part.suspect}'}, "
            + (f"{part.template} at {part.place}" if part.template else "no template")
            for part in self.parts
        )
        head = f"{self.name}: {self.failing} failing, {self.passing} passing, {self.suspects} suspects; "
        said = "".join(f"\n    | {each[:300]!r}" for each in self.messages[:2])
        return f"{head}{parts or self.outcome}{said}\n{self.diff}"


def explain(bug: Bug, python: Path, seconds: float = 120.0) -> Diagnosis:
    """Trace the failing tests and look the real fix up among the candidates."""
    with tempfile.TemporaryDirectory() as name:
        at = workspace(Path(name), {})
        unpack(bug, at.root)
        tested_with(python, at.root)
        findings = Findings(targets=bug.failing, deadline=seconds)
        return asyncio.run(_explain(bug, RepairRun(at=at, findings=findings, on_progress=lambda line: None)))


async def _explain(bug: Bug, repair: RepairRun) -> Diagnosis:
    async with AsyncExitStack() as stack:
        job = await repair.prepare_job()
        base, _ = await run_baseline(repair.at, stack, job, Replies(), repair.unsteady)
    spectrum, ended = base.spectrum, repair.findings.find_early_result(base)
    wanted = next(iter(group_by_fault(repair.findings.list_failing_tests(spectrum))), [])
    suspects: list[Suspect] = []
    parts: list[Part] = []
    if ended is None:
        sources = repair.load_sources(spectrum, wanted)
        suspects = repair.rank_suspects(sources, wanted, spectrum)
        looking = _Look(ranked=suspects, sources=sources, hints=extract_hints(wanted))
        parts = [looking.up(path, lines, text) for path, lines, text in _wants(bug, sources)]
    return Diagnosis(
        name=bug.name, outcome=str(ended.outcome) if ended else "", failing=len(wanted),
        passing=len(spectrum.select_tests("passed")), suspects=len(suspects), parts=parts,
        diff=_diff(bug), messages=[f"{test.error}: {test.message}" for test in wanted],
    )  # fmt: skip


def _wants(bug: Bug, sources: Mapping[str, Source]) -> Iterator[tuple[str, set[int], str]]:
    """(path, old lines, the plain program that results) of each change of the fix, then of all in a file."""
    for path in bug.sources:
        clone = Path(bug.clone)
        old, new = (blob(clone, commit, path).decode() for commit in (f"{bug.commit}^", bug.commit))
        before, after = plain(old).split("\n"), plain(new).split("\n")
        matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
        codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        lines = _changed_lines(old, new)
        if not codes:
            continue
        for _, a, b, c, d in codes:
            alone = before[:a] + after[c:d] + before[b:]
            yield path, lines, "\n".join(alone)
        if len(codes) > 1:
            yield path, lines, "\n".join(after)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    ranked: Sequence[Suspect]
    sources: Mapping[str, Source]
    hints: Hints

    def up(self, path: str, lines: set[int], text: str) -> Part:
        """The change of a file, at its lines, that comes to a plain program."""
        here = [
            (place, each)
            for place, each in enumerate(self.ranked)
            if each.path == path and lines & _lines_meant(each.statement)
        ]
        squashed = _squashed(text)
        alike = (
            each
            for each in self._first([each for _, each in here], MOST_HERE)
            if lines & _lines(each) and _squashed(each.change.text) in squashed  # cheap, and true of few
        )
        found = next((each for each in alike if _makes(each, text)), None)
        place = None
        if found is not None:
            same = (
                each.rank
                for each in self._first(self.ranked[:MOST_SUSPECTS], MOST)
                if each.change == found.change
            )
            place = next(same, None)
        return Part(suspect=here[0][0] if here else None, template=found and found.template, place=place)

    def _first(self, suspects: Sequence[Suspect], most: int) -> Iterator[Candidate]:
        return itertools.islice(generate_candidates(suspects, self.sources, self.hints), most)


def _lines_meant(statement: ast.stmt) -> set[int]:
    """Lines that templates change when they are asked about a statement: of a `try` its handlers' too."""
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    return {*get_own_lines(statement), *(each.lineno for each in handlers)}


def _makes(candidate: Candidate, wanted: str) -> bool:
    text, change = candidate.source.text, candidate.change
    return plain(text[: change.start] + change.text + text[change.end :]) == wanted


def _squashed(text: str) -> str:
    """Without what `plain` may write otherwise: blanks, parentheses, commas and quotes."""
    return re.sub(r"""[\s(),"'\\]|#.*""", "", text)


def _lines(candidate: Candidate) -> set[int]:
    text, change = candidate.source.text, candidate.change
    first = text.count("\n", 0, change.start) + 1
    return set(range(first, first + text.count("\n", change.start, change.end) + 1))


def _changed_lines(old: str, new: str) -> set[int]:
    """Lines of the old text that are changed, or that stand beside what comes or goes."""
    found: set[int] = set()
    matcher = difflib.SequenceMatcher(None, old.split("\n"), new.split("\n"), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            found.update(range(start if start == end else start + 1, end + 2))
    return found


def _diff(bug: Bug) -> str:
    clone = Path(bug.clone)
    lines: list[str] = []
    for path in bug.sources:
        pair = [blob(clone, commit, path).decode().split("\n") for commit in (f"{bug.commit}^", bug.commit)]
        lines += difflib.unified_diff(*pair, path, path, lineterm="", n=2)
    return "\n".join(f"    {line}" for line in lines)
