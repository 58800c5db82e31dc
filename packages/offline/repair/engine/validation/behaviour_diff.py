"""Share of the behaviour of passing tests that a change preserves.

A right change seldom alters the behaviour of tests that passed before; a wrong one that still passes them
often changes their course without a check that notices (PATCH-SIM, Xiong et al. 2018). Behaviour is here the
set of lines run, and the results of the changed function for the tests' inputs and for others near them (the
worker's `inputs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.candidates.composed_edits import Edit
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch
from packages.offline.repair.engine.validation.worker_client import WorkerClient
from packages.offline.repair.engine.validation.worker_process import Message
from sandbox.lazy_dataclass import dataclass

# Changes that are compared in one search, each by so many passing tests that are quick enough, those most
# similar to a failing one first: a comparison costs as much as some dozen screenings. Of tests up to the
# first step of slowness, some hundredths of a second.
MOST_COMPARED, MOST_TESTS, SLOWEST = 40, 8, 1

Lines = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult:
    """Measurements of a change from one reply, as fields of `ranking.PlausiblePatch`; None if not included."""

    candidate: Candidate
    disturbed: float | None = None
    altered: float | None = None

    def apply_to(self, found: PlausiblePatch) -> PlausiblePatch:
        if found.candidate is not self.candidate:
            return found
        disturbed = found.disturbed if self.disturbed is None else self.disturbed
        altered = found.altered if self.altered is None else self.altered
        return replace(found, disturbed=disturbed, altered=altered)


@dataclass(slots=True, kw_only=True)
class BehaviourComparison:
    """Compares the behaviour of passing tests and their inputs with and without good changes."""

    ask: WorkerClient
    _plain: dict[tuple[int, ...], Mapping[int, Lines]] = field(default_factory=dict)
    _asked: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _about: dict[str, tuple[Candidate, tuple[int, ...]]] = field(default_factory=dict)
    _inputs: dict[str, Candidate] = field(default_factory=dict)
    _waiting: list[tuple[Candidate, tuple[int, ...], Mapping[int, Lines]]] = field(default_factory=list)
    _compared: int = 0

    async def request_comparison(self, candidate: Candidate) -> None:
        """Request the comparison of a change, unless no quick passing test runs its place or enough were compared."""
        tests = tuple(sorted(self.ask.find_similar_tests(candidate, MOST_TESTS, SLOWEST)))
        if not tests or self._compared == MOST_COMPARED:
            return
        self._compared += 1
        if tests not in self._plain and tests not in self._asked.values():
            self._asked[await self.ask.request_lines(None, tests)] = tests
        self._about[await self.ask.request_lines(candidate, tests)] = candidate, tests
        self._inputs[await self.ask.request_lines(candidate, tests, inputs=True)] = candidate

    def handle_reply(self, reply: Message) -> list[ComparisonResult]:
        """Return the results that the reply completes."""
        if reply["id"] in self._inputs:
            return [
                ComparisonResult(candidate=self._inputs.pop(reply["id"]), altered=_measure_alteration(reply))
            ]
        lines = _parse_lines(reply)
        if reply["id"] in self._asked:
            self._plain[self._asked[reply["id"]]] = lines
        else:
            self._waiting.append((*self._about.pop(reply["id"]), lines))
        ready = [each for each in self._waiting if each[1] in self._plain]
        self._waiting = [each for each in self._waiting if each[1] not in self._plain]
        return [
            ComparisonResult(
                candidate=candidate, disturbed=self._measure_disturbance(candidate, self._plain[tests], after)
            )
            for candidate, tests, after in ready
        ]

    def clear_requests(self) -> None:
        """Drop the open requests."""
        self._asked.clear()
        self._about.clear()
        self._inputs.clear()
        self._waiting.clear()

    def _measure_disturbance(
        self, candidate: Candidate, before: Mapping[int, Lines], after: Mapping[int, Lines]
    ) -> float:
        """Return the share of tests with other lines; 0 if the change cannot be tried in a running process."""
        both = sorted(before.keys() & after.keys())
        texts = {path: source.text for path, source in self.ask.sources.items()}
        other = sum(
            not runs_same_lines(before[index], after[index], candidate.edits, texts) for index in both
        )
        return other / len(both) if both else 0.0


def runs_same_lines(before: Lines, after: Lines, edits: Sequence[Edit], texts: Mapping[str, str]) -> bool:
    """Return whether the same lines run before and after, except for changed ones.

    edits: the changes, all offsets in the text before them
    texts: files before the change
    """
    paths = before.keys() | after.keys()
    for path in paths:
        old, new = before.get(path, frozenset()), after.get(path, frozenset())
        own = [edit for edit in edits if edit.path == path]
        if own:
            old, new = _map_unchanged_lines(old, new, own, texts[path])
        if old != new:
            return False
    return True


def _map_unchanged_lines(
    old: Iterable[int], new: Iterable[int], edits: Sequence[Edit], text: str
) -> tuple[frozenset[int], frozenset[int]]:
    """Return both sets without changed lines, the new ones in the old numbering; moved lines count."""
    lines = text.split("\n")
    known: dict[int, int] = {}  # new → old
    line, shift = 1, 0
    for edit in sorted(edits, key=lambda each: each.start):
        first = text.count("\n", 0, edit.start) + 1
        within = text.count("\n", edit.start, edit.end)
        begins = edit.start == 0 or text[edit.start - 1] == "\n"
        # Where whole lines are added or removed, the one after them is unchanged.
        whole = begins and (edit.text or text[edit.start : edit.end])[-1:] == "\n"
        final = first + within - whole
        known.update({each + shift: each for each in range(line, first)})
        before = lines[first - 1 : final]
        after = edit.text.split("\n")[: -1 if whole else None]
        for text_of, place in _find_single_lines(after).items():
            if text_of in _find_single_lines(before):
                known[first + shift + place] = first + _find_single_lines(before)[text_of]
        shift += edit.text.count("\n") - within
        line = final + 1
    known.update({each + shift: each for each in range(line, len(lines) + 1)})
    kept = set(known.values())
    return frozenset(each for each in old if each in kept), frozenset(
        known[each] for each in new if each in known
    )


def _find_single_lines(lines: Sequence[str]) -> dict[str, int]:
    """Return the line numbers of lines that occur once, regardless of indentation."""
    bare = [each.strip() for each in lines]
    return {each: place for place, each in enumerate(bare) if each and bare.count(each) == 1}


def _measure_alteration(reply: Message) -> float:
    """Return the share of the inputs with which the function worked before and now behaves differently."""
    counts = [record["inputs"] for record in reply["tests"].values() if "inputs" in record]
    worked, other = (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0)
    return other / worked if worked else 0.0


def _parse_lines(reply: Message) -> dict[int, Lines]:
    records: Mapping[str, Message] = reply["tests"]
    return {
        int(index): {path: frozenset(lines) for path, lines in record.get("lines", {}).items()}
        for index, record in records.items()
        if record["outcome"] == "passed"
    }
