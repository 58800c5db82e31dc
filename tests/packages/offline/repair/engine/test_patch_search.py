"""The search for one patch, with a worker whose answers are written down: their order makes no difference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from packages.offline.repair.engine import patch_search, validator
from packages.offline.repair.engine.candidates import plausible_patches
from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.candidates.plausible_patches import ALTERNATIVES
from packages.offline.repair.engine.candidates.ranking import SURE, PlausiblePatch
from packages.offline.repair.engine.patch_search import PatchSearch
from packages.offline.repair.engine.time_shares import compute_suite_reserve
from packages.offline.repair.engine.validation.budget_clock import BudgetClock
from packages.offline.repair.engine.validation.suite_baseline import Baseline
from packages.offline.repair.engine.validation.worker_process import Message, Replies
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import Suspect, rank_statements
from packages.offline.repair.templates import OPERATORS, Hints, Source

pytestmark = pytest.mark.slow


TEXT = """\
def middle(first, second, third, limit):
    total = first + second * third
    if total > limit and first < second:
        total = total - limit
    return max(total, first, second) + 1
"""
OPERATOR_NAMES = {each.name for each in OPERATORS}
SOURCES = {"a.py": Source("a.py", TEXT)}
FAILING = Test(index=0, id="t.py::0", file="t.py", standing="failed", lines={"a.py": frozenset(range(1, 6))})
OTHERS = [Test(index=index, id=f"t.py::{index}", file="t.py", standing="passed") for index in (1, 2, 3)]
SPECTRUM = Spectrum(tests=[FAILING, *OTHERS], imported={}, complete=True)


class Answers(Replies):
    """A worker and what it says: changes at `good` pass, all others fail. Answers the newest or the oldest first."""

    def __init__(self, good: Sequence[Candidate], *, newest_first: bool) -> None:
        super().__init__()
        self._good = [(each.change.start, each.change.end, each.change.text) for each in good]
        self._waiting: list[Message] = []
        self._newest_first = newest_first
        self.pairs: list[object] = []

    async def send(self, message: Message) -> None:
        if "screen" in message:
            every = message["candidates"]
            self.pairs += [edits for edits in every if len(edits) == 2]
            verdicts = ["passed" if self._passes(edits) else "failed" for edits in every]
            self._waiting.append(
                {
                    "kind": "screened",
                    "verdicts": verdicts,
                    "said": [""] * len(every),
                    "steady": True,
                    "id": message["id"],
                }
            )
        elif "id" in message:
            verdict = "passed" if self._passes(message["edits"]) else "failed"
            self._waiting.append(
                {
                    "kind": "tried",
                    "verdict": verdict,
                    "passed": [0],
                    "failed": [],
                    "skipped": [],
                    "stage": 1,
                    "id": message["id"],
                }
            )

    def _passes(self, edits: Any) -> bool:
        return any(tuple(edit[1:]) in self._good for edit in edits)

    async def next(self, seconds: float) -> Message | None:
        assert seconds > 0
        return {**self._waiting.pop(-1 if self._newest_first else 0), "from": "warm"}


def every() -> list[Candidate]:
    suspects: list[Suspect] = rank_statements(SOURCES, [FAILING], SPECTRUM)
    return list(generate_candidates(suspects, SOURCES, Hints()))


def searching(answers: Answers) -> PatchSearch:
    worker = cast(Any, answers)
    return PatchSearch(
        name="0",
        root=Path("/nowhere"),
        workers={"warm": worker, "cold": worker},
        replies=answers,
        spectrum=SPECTRUM,
        sources=SOURCES,
        wanted=[FAILING],
        deadline=1e6,
        latest=1e6,
        cold_start=20.0,
        on_progress=lambda line: None,
    )


@pytest.fixture(autouse=True)
def _four_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "AHEAD", 4)


def test_what_is_found_does_not_depend_on_which_trial_ends_first() -> None:
    """A second change that passes lies beyond what is looked at after the first: one quick worker may meet it."""
    all_of_them = every()
    sure = [each for each in all_of_them if each.precision > 0.9]
    good = [sure[1], next(each for each in sure if each.rank > sure[1].rank + ALTERNATIVES + 5)]
    found = []
    for newest_first in (False, True):
        looking = searching(Answers(good, newest_first=newest_first))
        best = asyncio.run(looking.try_single_changes(iter(all_of_them)))
        assert best is not None
        found.append((best.candidate.rank, [each.candidate.rank for each in looking.others]))
    assert found[0] == found[1] == (sure[1].rank, [])


def test_where_many_statements_are_suspicious_a_smaller_change_that_comes_much_later_is_met() -> None:
    every_one = every()
    sure = [each for each in every_one if each.precision > 0.9]
    later = next(each for each in sure if each.size == 1 and each.rank > 2 * ALTERNATIVES)
    longest = max(sure[:ALTERNATIVES], key=lambda each: each.size)
    first = replace(longest, rank=later.rank - ALTERNATIVES - 1, priority=later.priority * 1.5)
    met = []
    for many in (False, True):
        good = plausible_patches.PlausiblePatches(1, many)
        good.found += [
            PlausiblePatch(candidate=each, helped=frozenset([0]), trust=0.95, near=4)
            for each in (first, later)
        ]
        assert good.best is not None
        met.append(good.best.candidate)
    assert met == [first, later]


def test_where_many_statements_are_suspicious_a_doubtful_change_is_not_taken_before_thousands_more() -> None:
    first, *rest = every()
    doubtful = PlausiblePatch(candidate=first, helped=frozenset({0}), trust=SURE - 0.2, near=4)
    later = replace(rest[0], rank=first.rank + 5000, priority=first.priority / 1000)
    for many in (False, True):
        good = plausible_patches.PlausiblePatches(1, many, [doubtful])
        assert good.is_worth_trying(later) is many
    sure = replace(doubtful, trust=SURE)
    assert not plausible_patches.PlausiblePatches(1, True, [sure]).is_worth_trying(later)
    better = replace(sure, candidate=later)
    assert plausible_patches.PlausiblePatches(1, True, [doubtful, better]).best is better


def test_other_operators_of_the_statement_of_a_patch_are_tried_however_unlikely() -> None:
    """A rare change of a condition, as its negation, may be the right one where another change of it passes."""
    all_of_them = every()
    first = next(
        each for each in all_of_them if each.suspect.line == 3 and each.template not in OPERATOR_NAMES
    )
    other = next(
        each for each in all_of_them if each.suspect.line == 3 and each.template == "boolean_operator"
    )
    elsewhere = next(
        each for each in all_of_them if each.suspect.line == 2 and each.template == "arithmetic_operator"
    )
    found = []
    for newest_first in (False, True):
        looking = searching(Answers([first, other, elsewhere], newest_first=newest_first))
        looking._many = True
        best = asyncio.run(looking.try_single_changes(iter([first])))
        assert best is not None
        passing = [best, *looking.others]
        found.append({each.candidate.change.text for each in passing})
        assert len({each.candidate.rank for each in passing}) == len(passing)
    assert found == [{first.change.text, other.change.text}] * 2


def test_the_same_changes_are_paired_whichever_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "MOST_SINGLES", 12)
    paired = []
    for newest_first in (False, True):
        answers = Answers([], newest_first=newest_first)
        looking = searching(answers)
        assert asyncio.run(looking.try_single_changes(iter(every()))) is None
        assert asyncio.run(looking.try_pairs()) is None
        paired.append(answers.pairs)
    assert paired[0]
    assert paired[0] == paired[1]


def test_the_search_for_a_better_one_goes_on_after_the_first_singles(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at hand is of a kind that passes tests without being right; a better one comes later."""
    all_of_them = every()
    doubtful = next(each for each in all_of_them if each.precision < 0.7)
    better = next(each for each in all_of_them if each.precision > 0.9 and each.rank > doubtful.rank + 20)
    monkeypatch.setattr(patch_search, "FIRST_SINGLES", doubtful.rank + 2)
    monkeypatch.setattr(plausible_patches, "LESS_ALIKE", 0.0)
    found = []
    for newest_first in (False, True):
        looking = searching(Answers([doubtful, better], newest_first=newest_first))
        best = asyncio.run(looking.find_patch(iter(all_of_them)))
        assert best is not None
        found.append(best.candidate.rank)
    assert found == [better.rank, better.rank]


def test_two_changes_are_not_tried_when_so_few_tests_would_pass_by_chance() -> None:
    answers = Answers([], newest_first=False)
    looking = searching(answers)
    looking.spectrum = Spectrum(tests=[FAILING, *OTHERS[:2]], imported={}, complete=True)
    assert asyncio.run(looking.find_patch(iter(every()))) is None
    assert looking.tried == len(every())
    assert answers.pairs == []


def test_what_mends_half_is_kept_when_nothing_better_is_met_in_half_of_the_time() -> None:
    all_of_them = every()
    part = PlausiblePatch(candidate=all_of_them[3], helped=frozenset([0]), trust=0.9, near=2)
    answers = Answers([], newest_first=False)
    looking = searching(answers)
    kept = looking.others = [part]
    assert asyncio.run(looking._improve_partial(part, iter(all_of_them[:10]))) is part
    assert answers.pairs  # two changes at once were tried as well
    assert looking.tried == 10 + len(answers.pairs)
    assert (looking.others, looking.deadline) == (kept, 1e6)


class Stuck(Answers):
    """After the first change that passes, only the last word is ever answered; time goes by."""

    def __init__(self, good: Sequence[Candidate]) -> None:
        super().__init__(good, newest_first=True)
        self.time = 0.0
        self.clock = BudgetClock(time=lambda: self.time, own=lambda: 0.0, crowded=lambda: False)

    async def next(self, seconds: float) -> Message | None:
        assert seconds > 0
        tried = [each for each in self._waiting if each["kind"] == "tried"]
        if not tried and self.time == 0.0 and self._waiting:
            return {**self._waiting.pop(0), "from": "warm"}
        if tried:
            self._waiting.remove(tried[0])
            self.time += 1.0
            return {**tried[0], "from": "warm"}
        self.time += seconds
        return None


def test_what_is_at_hand_is_judged_before_the_time_is_over() -> None:
    all_of_them = every()
    stuck = Stuck([all_of_them[0]])
    looking = searching(stuck)
    looking.deadline = 100.0
    best = asyncio.run(looking.try_single_changes(iter(all_of_them)))
    assert best is not None
    assert best.candidate.rank == 0
    assert stuck.time < 100.0


class SlowSuite(Stuck):
    """Everything is answered at once, but for the whole suite, which takes 150 seconds."""

    def __init__(self, good: Sequence[Candidate]) -> None:
        super().__init__(good)
        self._whole: set[str] = set()

    async def send(self, message: Message) -> None:
        await super().send(message)
        if message.get("stages", [{}])[0].get("stop") == "whole":
            self._whole.add(message["id"])

    async def next(self, seconds: float) -> Message | None:
        slow = bool(self._waiting) and self._waiting[0]["id"] in self._whole
        self.time += min(seconds, 150.0 if slow else 1.0)
        if not self._waiting or (slow and seconds < 150):
            return None
        return {**self._waiting.pop(0), "from": "warm"}


def test_the_suite_has_its_word_even_when_the_time_for_one_of_several_faults_is_over() -> None:
    all_of_them = every()
    for latest, expected in ((100.0, False), (400.0, True)):
        slow = SlowSuite([all_of_them[0]])
        looking = searching(slow)
        looking.deadline, looking.latest = 100.0, latest
        best = asyncio.run(looking.try_single_changes(iter(all_of_them[:50])))
        assert (best is not None) is expected


class Sometimes(Answers):
    """The whole suite fails at a test that passes by itself, so many times; notes what is asked of it."""

    def __init__(self, good: Sequence[Candidate], failures: int) -> None:
        super().__init__(good, newest_first=False)
        self._failures = failures
        self.asked: list[str] = []

    async def send(self, message: Message) -> None:
        await super().send(message)
        stage = message.get("stages", [{}])[0]
        if stage.get("stop") != "whole":
            return
        self.asked.append("those" if "those" in stage else "whole")
        if self.asked[-1] == "those":
            self._waiting[-1].update(passed=stage["those"])
        elif self._failures:
            self._failures -= 1
            self._waiting[-1].update(verdict="failed", failed=["t.py::2"])


@pytest.mark.parametrize(("failures", "taken"), [(0, True), (1, True), (2, False)])
def test_a_test_that_fails_once_in_the_whole_suite_has_a_second_chance(failures: int, taken: bool) -> None:
    answers = Sometimes([every()[0]], failures)
    found = asyncio.run(searching(answers).try_single_changes(iter(every()[:20])))
    assert (found is not None) is taken
    assert answers.asked == (["whole", "those", "whole"] if failures else ["whole"])


class Sessions(Answers):
    """The first thirty changes need a test session of their own. Notes what it is asked, in order."""

    def __init__(self) -> None:
        super().__init__([], newest_first=False)
        self.asked: list[str] = []

    async def send(self, message: Message) -> None:
        await super().send(message)
        if "screen" in message:
            verdicts = self._waiting[-1]["verdicts"]
            for place in range(len(verdicts)):
                if self.asked.count("quick") + place < 30:
                    verdicts[place] = "module"
            self.asked += ["quick"] * len(verdicts)
        elif "start" in message:
            self.asked.append("session")

    async def next(self, seconds: float) -> Message | None:
        message = await super().next(seconds)
        cold = message is not None and message["kind"] == "tried"
        return message and {**message, "from": "cold" if cold else "warm"}


@pytest.mark.parametrize(("suspects", "sessions"), [(51, 1), (50, 30)])
def test_where_many_statements_are_suspicious_sessions_do_not_keep_quick_changes_waiting(
    monkeypatch: pytest.MonkeyPatch, suspects: int, sessions: int
) -> None:
    monkeypatch.setattr(patch_search, "FIRST_IN_PART", 50)
    answers = Sessions()
    looking = searching(answers)
    asyncio.run(looking.find_patch(iter(every()[:100]), suspects))
    hundredth = [place for place, each in enumerate(answers.asked) if each == "quick"][99]
    assert answers.asked[:hundredth].count("session") == sessions
    assert answers.asked.count("session") >= 30


@pytest.mark.parametrize(
    ("budget", "known", "files", "kept"),
    [
        (60.0, 9.0, [], 9.0),  # what the tests took
        (60.0, 40.0, [], 15.0),  # a quarter at most
        (60.0, 1.0, ["t.py"], 6.0),  # a tenth for the other files
        (600.0, 1.0, ["t.py"], 20.0),
    ],
)
def test_time_is_kept_for_the_whole_suite(budget: float, known: float, files: list[str], kept: float) -> None:
    tests = [replace(each, seconds=known / 6) for each in OTHERS]
    base = Baseline(spectrum=replace(SPECTRUM, tests=tests), collecting=known / 2)
    assert compute_suite_reserve(budget, base, files) == pytest.approx(kept)


class LateAnswers(Answers):
    """A worker that says nothing before the deadline of the first search."""

    is_late = True

    async def next(self, seconds: float) -> Message | None:
        if self.is_late:
            await asyncio.sleep(seconds)
            self._waiting.clear()
            return None
        return await super().next(seconds)


def test_what_the_deadline_broke_off_is_tried_when_the_search_goes_on() -> None:
    candidates = every()
    answers = LateAnswers(candidates[:1], newest_first=False)
    search = searching(answers)
    left = iter(candidates)

    async def run() -> PlausiblePatch | None:
        search.deadline = search.replies.clock.now() + 0.5
        assert await search.find_patch(left) is None
        answers.is_late = False
        return await search.find_further(left, 1e6)

    found = asyncio.run(run())
    assert found is not None
    assert found.candidate.change == candidates[0].change
