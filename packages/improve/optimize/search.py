"""Population of candidates: rewrites alone, those that helped put together, further ones on the best, and versions.

Each candidate is measured by a few pairs, judged if it looks faster, and archived by its kinds of change: the best of
each kind stays a parent (MAP-Elites: Mouret and Clune, arXiv 1504.04909). Versions of an author are bred on islands,
whose best are crossed. Which one is claimed is decided by fresh pairs alone, whose evidence was not used to choose it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import field

from packages.improve.optimize.measurement import CLEAR, PairedRuns
from packages.improve.optimize.versions import cross_versions, describe_version, normalize_code, parse_code
from packages.improve.rewrites.rewrite import Rewrite, apply_rewrites
from sandbox.lazy_dataclass import dataclass

ALPHA = 0.05
"""Probability of a claim without a gain, at most, for the whole search."""

SCREEN_PAIRS = 3
CONFIRM_PAIRS = 40
"""Pairs of the screening of a candidate, and at most of a confirmation: a gain in 3 of 4 pairs is then found."""

LEAST_GAIN = 1.02
"""A smaller gain is not worth a change of the code."""

MOST_CONFIRMED = 3
"""Candidates that are confirmed, each at half the level of the one before."""

MOST_GENERATIONS = 4

ISLANDS, MOST_ROUNDS = 3, 8
"""Islands, each with a parent and a conversation of its own, and versions that an author writes for each."""

CROSSED = 4
"""Best candidates of the archive that are crossed with each other after each round."""

Author = Callable[[int, str, str], Awaitable[str | None]]
"""Writes a version, None for none. Its arguments: number of the island, parent's text, what its last version gained."""

Propose = Callable[[str], Awaitable[Sequence[Rewrite]]]
Judge = Callable[[str], Awaitable[str]]
Measure = Callable[[str, PairedRuns, int], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A version of the target. rewrites: kind and line of each; refused: why, or ""; gain: of a few pairs"""

    text: str
    rewrites: tuple[str, ...]
    gain: float = 1.0
    refused: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A confirmed candidate with the fresh pairs."""

    candidate: Candidate
    runs: PairedRuns


@dataclass(slots=True, kw_only=True)
class Search:
    """A search.

    propose: rewrites of a text; author: writes versions; fill: yields versions of the original
    inspect, judge: why a text is refused, "" if it is not, by its code and by runs; approve: by all, for a claim
    measure: adds pairs of runs to those that are there, or for 0 a first look; create_runs: empty pairs
    seconds: after which no further candidate is begun
    archive: the best candidate by its kinds; tried: all of them, in order
    """

    propose: Propose
    inspect: Judge
    judge: Judge
    approve: Judge
    measure: Measure
    create_runs: Callable[[], PairedRuns]
    seconds: float
    author: Author | None = None
    fill: Callable[[str], AsyncIterator[str]] | None = None
    tell: Callable[[str], None] = lambda line: None
    archive: dict[frozenset[str], Candidate] = field(default_factory=dict)
    tried: list[Candidate] = field(default_factory=list)
    _known: dict[str, Candidate] = field(default_factory=dict)
    _begun: float = field(default_factory=time.monotonic)
    _share: float = 1.0

    async def run(self, text: str) -> Claim | None:
        """Search from the original's text; return what is confirmed, None if nothing is."""
        original = parent = Candidate(text=text, rewrites=())
        self._known[normalize_code(text)] = parent
        if self.author is not None:
            self._share = 0.5  # the other half of the time is for versions
        for _ in range(MOST_GENERATIONS):
            best = await self._breed_candidate(parent)
            if best is parent or self._is_late:
                break
            parent = best
        self._share = 1.0
        if self.fill is not None:
            async for version in self.fill(text):
                await self._try_version(original, version, "filled")
        if self.author is not None:
            await self._breed_versions(self.author, original)
        return await self._confirm()

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._begun > self.seconds * self._share

    async def _breed_candidate(self, parent: Candidate) -> Candidate:
        """Measure the parent's rewrites, and combinations of those that helped; return the best."""
        rewrites = await self.propose(parent.text)
        helped: list[tuple[Candidate, tuple[Rewrite, ...]]] = []
        for each in rewrites:
            child = await self._try(parent, (each,))
            if child is not None and not child.refused and child.gain > max(parent.gain, 1.0) * LEAST_GAIN:
                helped.append((child, (each,)))
        helped.sort(key=lambda pair: -pair[0].gain)
        joined: tuple[Rewrite, ...] = ()
        best = helped[0][0] if helped else parent
        for _, parts in helped:  # the union, as far as its parts fit together and it keeps gaining
            if apply_rewrites(parent.text, (*joined, *parts)) is None:
                continue
            child = await self._try(parent, (*joined, *parts)) if joined else helped[0][0]
            if child is not None and not child.refused and child.gain >= best.gain:
                joined, best = (*joined, *parts), child
        for (_, left), (_, right) in itertools.combinations(helped[:3], 2):
            child = await self._try(parent, (*left, *right))
            if child is not None and not child.refused and child.gain > best.gain:
                best = child
        return best

    async def _try(self, parent: Candidate, rewrites: tuple[Rewrite, ...]) -> Candidate | None:
        """Judge and measure a parent with rewrites; None where they do not fit, or the time is over."""
        text = apply_rewrites(parent.text, rewrites)
        if text is None or self._is_late:
            return None
        names = (*parent.rewrites, *(f"{each.kind}:{each.line}" for each in rewrites))
        return await self._measure_text(text, names)

    async def _breed_versions(self, author: Author, original: Candidate) -> None:
        """Let an author write versions on islands, and cross the best of the archive, until the time is over."""
        best = [original] * ISLANDS
        told = [""] * ISLANDS
        for _ in range(MOST_ROUNDS):
            known = len(self.tried)
            for island in range(ISLANDS):
                if self._is_late:
                    return
                elites = self._rank_archive()
                # The first island goes on from the best of all, the others from their own or from another kind.
                parent = elites[0] if elites and not island else best[island]
                if parent is original and island < len(elites):
                    parent = elites[island]
                version = await author(island, parent.text, told[island])
                if version is None or not (child := await self._try_version(parent, version, "model")):
                    continue
                told[island] = child.refused or f"{child.gain:.2f} times as fast as the original"
                if not child.refused and child.gain > best[island].gain:
                    best[island] = child
            if len(self.tried) == known:  # it has no new idea
                return
            await self._cross_best(original)

    async def _cross_best(self, original: Candidate) -> None:
        """Measure the best candidates of different kinds put together, pair by pair."""
        for one, other in itertools.combinations(self._rank_archive()[:CROSSED], 2):
            text = cross_versions(original.text, one.text, other.text)
            if text is not None and not self._is_late:
                await self._measure_text(text, tuple(dict.fromkeys((*one.rewrites, *other.rewrites))))

    async def _try_version(self, parent: Candidate, version: str, by: str) -> Candidate | None:
        """Judge and measure a version; None where it does not parse, or the time is over."""
        if self._is_late or parse_code(version) is None:
            return None
        kind = f"{by} ({describe_version(parent.text, version)})"
        return await self._measure_text(version, (*parent.rewrites, kind))

    def _rank_archive(self) -> list[Candidate]:
        return sorted(self.archive.values(), key=lambda each: (-each.gain, len(each.rewrites)))

    async def _measure_text(self, text: str, names: tuple[str, ...]) -> Candidate:
        """Judge and measure code, unless that was done before, and keep it in the archive if it is the best there."""
        if (form := normalize_code(text)) in self._known:
            return self._known[form]
        refused, runs = await self.inspect(text), self.create_runs()
        if not refused:
            await self._screen(text, runs)
            # What is no faster is never a parent, nor claimed: whether it is right need not be known.
            refused = runs.reason or (await self.judge(text) if runs.gain > 1 else "")
        made = Candidate(
            text=text,
            rewrites=names,
            gain=1.0 if refused else runs.gain,
            refused=refused,
            seconds=time.monotonic() - self._begun,
        )
        self._known[form] = made
        self.tried.append(made)
        self.tell(f"{', '.join(names)}: {refused or f'{made.gain:.2f} times'}")
        kinds = frozenset(each.partition(":")[0] for each in names)
        if not refused and made.gain > self.archive.get(kinds, Candidate(text="", rewrites=())).gain:
            self.archive[kinds] = made
        return made

    async def _screen(self, text: str, runs: PairedRuns) -> None:
        """Look at a text, and measure it by pairs where that says little, as long as it may be faster."""
        await self.measure(text, runs, 0)
        while not runs.reason and 1 / CLEAR < runs.gain < CLEAR and len(runs.pairs) < SCREEN_PAIRS:
            await self.measure(text, runs, 1)
            if len(runs.pairs) > 1 and runs.gain < 1:
                break

    async def _confirm(self) -> Claim | None:
        """Measure the best of the archive by fresh pairs, until the evidence is enough for one of them."""
        level = ALPHA / 2
        for candidate in [each for each in self._rank_archive() if each.gain >= LEAST_GAIN][:MOST_CONFIRMED]:
            if reason := await self.approve(candidate.text):
                self.tell(f"{', '.join(candidate.rewrites)}: {reason}")
                continue
            runs = self.create_runs()
            while len(runs.pairs) < CONFIRM_PAIRS and not runs.reason and runs.evidence < 1 / level:
                await self.measure(candidate.text, runs, 1)
                if len(runs.pairs) >= 12 and runs.evidence < level:  # as unlikely as the claim itself
                    break
            if runs.evidence >= 1 / level and runs.gain >= LEAST_GAIN and not runs.reason:
                return Claim(candidate=candidate, runs=runs)
            level /= 2
        return None
