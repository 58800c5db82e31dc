"""Streams of candidates for the search: the first ones, and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from packages.offline.repair.engine.candidates.candidate_generation import Candidate


class FirstCandidates:
    """The first `number` items of an iterator, and the rest if `more` returns True."""

    def __init__(self, candidates: Iterator[Candidate], number: int, more: Callable[[], bool]) -> None:
        self._candidates, self._left, self._more = candidates, number, more

    def __iter__(self) -> Iterator[Candidate]:
        return self

    def __next__(self) -> Candidate:
        if self._left <= 0 and not self._more():
            raise StopIteration
        self._left -= 1
        return next(self._candidates)


class CandidateFeed:
    """Candidates in batches; one that is not wanted yet is kept for later."""

    def __init__(self, candidates: Iterator[Candidate]) -> None:
        self._candidates = candidates
        self._held: Candidate | None = None

    def next_batch(self, size: int, wanted: Callable[[Candidate], bool]) -> list[Candidate]:
        found: list[Candidate] = []
        while len(found) < size:
            self._held = self._held or next(self._candidates, None)
            if self._held is None or not wanted(self._held):
                break
            found.append(self._held)
            self._held = None
        return found
