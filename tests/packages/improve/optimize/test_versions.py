"""Versions that an author writes: what they are, how two are crossed, and how islands breed them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent.model.infill.fill_forms import Filling, Gap
from packages.improve.optimize.measurement import PairedRuns
from packages.improve.optimize.model_proposals import fill_hot_lines
from packages.improve.optimize.search import Author, Claim, Search
from packages.improve.optimize.versions import cross_versions, describe_version
from packages.improve.rewrites.rewrite import Rewrite

TEXT = "import math\n\n\ndef f(xs):\n    a = 1\n    b = 1\n    c = 1\n    return a, b, c\n"


def count_twos(text: str) -> int:
    return text.count("= 2")


def search(author: Author | None, fill: AsyncIterator[str] | None = None) -> tuple[Search, Claim | None]:
    """Search where each `= 2` halves the value and a 3 is refused."""

    async def propose(text: str) -> list[Rewrite]:
        return []

    async def judge(text: str) -> str:
        return "it is wrong" if "= 3" in text else ""

    async def measure(text: str, runs: PairedRuns, pairs: int) -> None:
        runs.pairs += [(8.0, 8.0 / 2 ** count_twos(text))] * max(pairs, 1)

    made = Search(
        propose=propose, inspect=judge, judge=judge, approve=judge, measure=measure, author=author,
        fill=(lambda text: fill) if fill is not None else None,
        create_runs=lambda: PairedRuns(goal="min"), seconds=600,
    )  # fmt: skip
    return made, asyncio.run(made.run(TEXT))


def test_changes_of_different_lines_are_crossed() -> None:
    one, other = TEXT.replace("a = 1", "a = 2"), TEXT.replace("c = 1", "c = 2")
    assert cross_versions(TEXT, one, other) == TEXT.replace("a = 1", "a = 2").replace("c = 1", "c = 2")


def test_imports_of_two_versions_stand_beside_each_other() -> None:
    one = TEXT.replace("import math\n", "import math\nimport heapq\n").replace("a = 1", "a = 2")
    other = TEXT.replace("import math\n", "import math\nimport bisect\n").replace("c = 1", "c = 2")
    crossed = cross_versions(TEXT, one, other)
    assert crossed is not None
    assert "import bisect\nimport heapq\n" in crossed
    assert count_twos(crossed) == 2


@pytest.mark.parametrize(
    "other", [TEXT.replace("a = 1", "a = 3"), TEXT.replace("a = 1\n    b = 1", "a = b = 1"), TEXT]
)
def test_versions_that_do_not_fit_together_are_not_crossed(other: str) -> None:
    assert cross_versions(TEXT, TEXT.replace("a = 1", "a = 2"), other) is None


def test_a_version_is_described_by_what_it_uses() -> None:
    after = "import math, heapq\n\n\ndef f(xs):\n    return heapq.nsmallest(3, [x for x in xs])\n"
    assert describe_version(TEXT, after) == "heapq, more loops"
    assert describe_version(TEXT, TEXT) == "same parts"


def test_islands_go_on_from_their_best_and_are_crossed() -> None:
    told: list[tuple[int, str]] = []
    loops = "    for _ in ():\n        pass\n"

    async def write(island: int, parent: str, feedback: str) -> str | None:
        told.append((island, feedback))
        if island == 0:
            return parent.replace("a = 1", "a = 2") if "a = 1" in parent else parent.replace("b = 1", "b = 3")
        if island == 1 and "c = 1" in parent:
            return parent.replace("c = 1\n", f"c = 2\n{loops}")
        return None

    made, claim = search(write)
    assert claim is not None
    assert "a = 2" in claim.candidate.text
    assert "c = 2" in claim.candidate.text
    assert "= 3" not in claim.candidate.text
    assert claim.runs.gain == 4
    assert (0, "2.00 times as fast as the original") in told
    assert any("it is wrong" in feedback for _, feedback in told)
    assert len(made.archive) >= 2, "the best of each kind stays"


def test_an_author_without_an_answer_is_not_asked_again() -> None:
    asked = []

    async def write(island: int, parent: str, feedback: str) -> str | None:
        asked.append(island)
        return None

    assert search(write)[1] is None
    assert asked == [0, 1, 2]


def test_another_layout_is_no_version() -> None:
    async def write(island: int, parent: str, feedback: str) -> str | None:
        return f"{parent}# {island}\n"

    made, claim = search(write)
    assert (made.tried, claim) == ([], None)


async def fill(gap: Gap) -> Filling | None:
    """Write a 2 in the gap, and nonsense where it is drawn."""
    assert gap.prefix.endswith("    ")
    assert gap.suffix.startswith("\n    ")
    return Filling(text="b = 2" if not gap.temperature else "b = (")


def test_hot_lines_are_filled_in_anew() -> None:
    versions = fill_hot_lines(fill, TEXT, [6, 999])
    made, claim = search(None, versions)
    assert claim is not None
    assert claim.candidate.text == TEXT.replace("b = 1", "b = 2")
    assert [each.rewrites for each in made.tried] == [("filled (same parts)",)], (
        "what does not parse is no candidate"
    )
