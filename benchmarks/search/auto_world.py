"""`auto` against each strategy by itself, in repositories whose turns are tasks of CodeT's pool.

A repository has an author who is wrong often, or hardly ever: all tasks of the pool, or those that the author mostly
solves. Its log has as many earlier sessions as `auto` looks at, each with the outcome of one program on the examples of
its task. Before each turn `auto` decides by its own rules; a turn is paid in sessions. Truth is HumanEval's tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

from agent.exit_codes import Exit
from agent.strategy.sampling.stopping import STABLE
from benchmarks.search.sampling import Pool, draw_adaptive
from benchmarks.verification.evaluate import Record
from packages.search.auto_strategy import NEWEST, Situation, choose_strategy

MOSTLY = 0.9
"""Share of right programs from which on a task is an easy one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn: what each strategy comes to, as (chance that it is right, sessions that it takes)."""

    outcomes: Mapping[str, tuple[float, int]]
    passes: bool


def draw_turn(pool: Pool, seed: str) -> Turn:
    """Return a turn with a task of the pool. passes: whether one session by itself passes what it can run"""
    order = list(range(len(pool.examples)))
    Random(seed).shuffle(order)
    drawn = draw_adaptive(pool, order, STABLE, by_examples=False)
    single = float(pool.record["right"][order[0]])
    return Turn(
        outcomes={"single": (single, 1), "sample": (drawn.right, drawn.samples)},
        passes=pool.examples[order[0]],
    )


def report_auto(records: Sequence[Record], seeds: int) -> None:
    """Print what each strategy and `auto` come to in each kind of repository."""
    pools = [Pool.from_record(each) for each in records]
    easy = [each for each in pools if mean(map(float, each.record["right"])) >= MOSTLY]
    for name, members in (("often wrong", pools), ("hardly ever wrong", easy)):
        turns = [
            draw_turn(pool, f"{seed} {place}") for place, pool in enumerate(members) for seed in range(seeds)
        ]
        _report_world(f"an author who is {name}: {len(members)} tasks, {seeds} seeds", turns)


def _report_world(title: str, turns: Sequence[Turn]) -> None:
    draw = Random(title)
    chosen = []
    for _ in turns:
        past = [
            Exit.DONE.label if each.passes else Exit.TESTS_FAIL.label
            for each in draw.choices(turns, k=NEWEST)
        ]
        chosen.append(choose_strategy(Situation(has_tests=True, past=past))[0])
    print(title)
    for name in ("single", "sample"):
        _print_row(name, [each.outcomes[name] for each in turns])
    _print_row("auto", [each.outcomes[name] for each, name in zip(turns, chosen, strict=True)])
    print(f"  auto chose {', '.join(f'{each} {chosen.count(each)}' for each in sorted(set(chosen)))}")


def _print_row(name: str, outcomes: Sequence[tuple[float, int]]) -> None:
    right, sessions = (mean(each) for each in zip(*outcomes, strict=True))
    print(f"  {name:8} {100 * right:5.1f} % right  {sessions:5.1f} sessions")
