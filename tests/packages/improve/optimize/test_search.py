"""What a search claims is confirmed by fresh pairs: without a gain it claims nothing, however many it tries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from xml.etree import ElementTree

from packages.evaluation.statistics.sequential import compute_sign_evidence
from packages.improve.optimize.measurement import PairedRuns
from packages.improve.optimize.report import (
    draw_bars,
    draw_svg,
    format_table,
    list_best_gains,
    plot_in_terminal,
)
from packages.improve.optimize.search import ALPHA, Claim, Search
from packages.improve.rewrites.rewrite import Rewrite, TextEdit

TEXT = "a = 1\nb = 1\nc = 1\n"


def propose_digits(text: str) -> list[Rewrite]:
    """Each 1 may become a 2."""
    places = [place for place, letter in enumerate(text) if letter == "1"]
    return [
        Rewrite(kind=text[place - 4], function="f", line=1, edits=(TextEdit(place, place + 1, "2"),))
        for place in places
    ]


def search(
    gains: dict[str, float], noise: float, seed: int, refused: Sequence[str] = ()
) -> tuple[Search, Claim | None]:
    """Search where each line with a 2 divides the time by its gain, and each run has noise."""
    draw = random.Random(seed)

    async def propose(text: str) -> list[Rewrite]:
        return propose_digits(text)

    async def accept(text: str) -> str:
        return ""

    async def judge(text: str) -> str:
        return next((f"{each} is wrong" for each in refused if f"{each} = 2" in text), "")

    async def measure(text: str, runs: PairedRuns, pairs: int) -> None:
        for _ in range(max(pairs, 1)):
            time = 1.0
            for name, gain in gains.items():
                time /= gain if f"{name} = 2" in text else 1.0
            runs.pairs.append((draw.gauss(1, noise), time * draw.gauss(1, noise)))

    made = Search(
        propose=propose, inspect=accept, judge=judge, approve=judge, measure=measure,
        create_runs=lambda: PairedRuns(goal="min"), seconds=60,
    )  # fmt: skip
    return made, asyncio.run(made.run(TEXT))


def test_noise_claims_nothing() -> None:
    claims = sum(search({}, 0.1, seed)[1] is not None for seed in range(200))
    assert claims <= 200 * ALPHA


def test_what_helps_alone_is_put_together() -> None:
    _, claim = search({"a": 2.0, "b": 1.5, "c": 0.5}, 0.02, 0)
    assert claim is not None
    assert claim.candidate.text == "a = 2\nb = 2\nc = 1\n"
    assert abs(claim.runs.gain - 3.0) < 0.3
    assert len(claim.runs.pairs) < 12, "it ends as soon as the evidence is enough"


def test_what_is_refused_is_never_claimed() -> None:
    made, claim = search({"a": 9.0, "b": 1.5}, 0.02, 0, refused=["a"])
    assert claim is not None
    assert "a = 2" not in claim.candidate.text
    assert {each.refused for each in made.tried if "a = 2" in each.text} == {"a is wrong"}


def test_what_looks_slower_is_measured_no_further_and_not_judged() -> None:
    measured: list[int] = []
    judged: list[str] = []

    async def propose(text: str) -> list[Rewrite]:
        return propose_digits(text)[:1]

    async def accept(text: str) -> str:
        return ""

    async def judge(text: str) -> str:
        judged.append(text)
        return ""

    for gain, looks in ((0.2, [0]), (0.9, [0, 1]), (1.2, [0, 1, 1]), (9.0, [0])):

        async def measure(text: str, runs: PairedRuns, pairs: int, gain: float = gain) -> None:
            measured.append(pairs)
            runs.pairs.append((gain, 1.0))

        made = Search(
            propose=propose, inspect=accept, judge=judge, approve=accept, measure=measure,
            create_runs=lambda: PairedRuns(goal="min"), seconds=60,
        )  # fmt: skip
        measured.clear()
        judged.clear()
        candidate = asyncio.run(made._measure_text("a = 2\n", ("a",)))
        assert (candidate.gain, measured, bool(judged)) == (gain, looks, gain > 1)


def test_a_gain_too_small_for_a_change_is_not_claimed() -> None:
    assert search({"a": 1.005}, 0.0001, 0)[1] is None


def test_evidence_grows_by_wins_only() -> None:
    assert compute_sign_evidence(0, 0) == 1
    assert compute_sign_evidence(5, 5) < 1
    assert compute_sign_evidence(7, 0) > 1 / ALPHA > compute_sign_evidence(6, 0)


def test_evidence_seldom_misleads() -> None:
    draw = random.Random(0)
    misled = 0
    for _ in range(1000):
        won = lost = 0
        for _ in range(60):
            is_won = draw.random() < 0.5
            won, lost = won + is_won, lost + (not is_won)
            if compute_sign_evidence(won, lost) >= 1 / ALPHA:
                misled += 1
                break
    assert misled <= 1000 * ALPHA


def test_ties_are_no_pairs() -> None:
    runs = PairedRuns(goal="max", pairs=[(1.0, 1.0)] * 20 + [(1.0, 2.0)])
    assert (runs.won, runs.lost, runs.gain) == (1, 0, 1.0)


def test_the_report_shows_all_candidates() -> None:
    made, claim = search({"a": 2.0, "b": 1.5}, 0.02, 0, refused=["c"])
    rows = format_table(made.tried)
    assert any(row.startswith("refused") and "c is wrong" in row for row in rows)
    gains = list_best_gains(made.tried)
    assert gains == sorted(gains)
    assert plot_in_terminal(made.tried).startswith("▁") or gains[0] > 1
    assert draw_bars([1.0, 2.0, 3.0], 1.0) == "▁▅█"
    assert draw_bars([1.0, 1.0], 1.0) == "▁▁"
    picture = draw_svg(made.tried, claim, "a<b")
    ElementTree.fromstring(draw_svg(made.tried, claim, "a\x1b[1m\0"))  # XML has no control characters
    assert picture.count("<circle") == len(made.tried)
    assert "a&lt;b: confirmed" in picture
