"""Adaptive sampling against a fixed number of samples, with the same selector, on CodeT's pool.

An author of 40 programs a task (CodeGen-16B) hands them out in an order drawn with a seed. Their reward is the tests
that the same model wrote, some of them wrong; the truth, which no rule sees, is HumanEval's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean

from agent.strategy.sampling.stopping import STABLE, StabilityRule
from benchmarks.search.fast_selector import FastSelector
from benchmarks.verification.evaluate import Record, bootstrap, build_tests, rate
from packages.search.programs.input_generation import measure_unread
from packages.search.select.agreement import BehaviourTable, GeneratedTest, Group, form_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The programs of one task. examples: whether each passes the examples of the prompt"""

    record: Record
    examples: Sequence[bool]
    suggested: Sequence[GeneratedTest]
    table: BehaviourTable
    unread: dict[int, float]
    selector: FastSelector

    @classmethod
    def from_record(cls, record: Record) -> Pool:
        number = len(record["sources"])
        given, suggested = build_tests(record, "given"), build_tests(record, "suggested")
        table = BehaviourTable(calls=record["calls"], keys=record["keys"])
        unread = {
            place: measure_unread(record["sources"][place], record["function"]) for place in range(number)
        }
        return cls(
            record=record,
            examples=[all(each.passed[place] for each in given) for place in range(number)],
            suggested=suggested,
            table=table,
            unread=unread,
            selector=FastSelector.build(table, suggested, unread),
        )

    def keep_members(self, members: Sequence[int], *, by_examples: bool) -> Sequence[int]:
        """Return the members that pass the examples, if any does and these count; else all."""
        return [each for each in members if by_examples and self.examples[each]] or members

    def form_groups(self, members: Sequence[int], *, by_examples: bool) -> list[Group]:
        """Return the selector's groups of members, the best first; of those that pass the examples, if any does."""
        kept = self.keep_members(members, by_examples=by_examples)
        return form_groups(self.table, self.suggested, kept, self.unread)

    def rate_choice(self, groups: Sequence[Group]) -> float:
        """Return the probability that the choice among the groups that are equally good is right."""
        best = [member for each in groups if each.score == groups[0].score for member in each.members]
        return rate(self.record, best)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One task in one order. right: of the adaptive choice; samples: that it took; why: it stopped, "" at the end"""

    right: float
    samples: int
    why: str


def draw_adaptive(pool: Pool, order: Sequence[int], rule: StabilityRule, *, by_examples: bool) -> Draw:
    """Take samples in an order until the rule says that they are enough."""

    def choose(sets: Sequence[Sequence[int]]) -> list[int]:
        """Choose among those that pass the examples, where these count; none is a choice of its own."""
        chosen = [[order[place] for place in each] for each in sets]
        kept = [pool.keep_members(each, by_examples=by_examples) for each in chosen]
        found = pool.selector.choose(kept)
        return [
            group if not by_examples or any(pool.examples[each] for each in members) else -1
            for group, members in zip(found, kept, strict=True)
        ]

    made, why = 0, ""
    while not why and made < len(order):
        made += 1
        if not by_examples or any(pool.examples[each] for each in order[:made]):
            why = rule.explain_stop(made, choose)
    groups = pool.form_groups(order[:made], by_examples=by_examples)
    return Draw(right=pool.rate_choice(groups), samples=made, why=why)


def report_sampling(
    records: Sequence[Record], seeds: int, *, by_examples: bool, rule: StabilityRule = STABLE
) -> None:
    """Print accuracy and samples of both, the mean over seeds, and how often the choice was settled."""
    pools = [Pool.from_record(each) for each in records]
    everything = [
        pool.rate_choice(pool.form_groups(range(len(pool.examples)), by_examples=by_examples))
        for pool in pools
    ]
    draws: list[list[Draw]] = []
    for place, pool in enumerate(pools):
        found = []
        for seed in range(seeds):
            order = list(range(len(pool.examples)))
            Random(f"{seed} {place}").shuffle(order)
            found.append(draw_adaptive(pool, order, rule, by_examples=by_examples))
        draws.append(found)
    adaptive = [mean(each.right for each in found) for found in draws]
    samples = [mean(each.samples for each in found) for found in draws]
    number = len(pools[0].examples)
    print(
        "examples, then the selector" if by_examples else "the selector",
        f"({len(pools)} tasks, {seeds} seeds)",
    )
    print(f"  fixed, {number} samples     {100 * mean(everything):5.1f} %  {number:5.1f} samples")
    low, high = bootstrap([one - other for one, other in zip(adaptive, everything, strict=True)])
    print(
        f"  adaptive              {100 * mean(adaptive):5.1f} %  {mean(samples):5.1f} samples"
        f"   difference {100 * (mean(adaptive) - mean(everything)):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
    )
    for label, is_early in (("settled", True), ("all samples", False)):
        of = [each for found in draws for each in found if bool(each.why) is is_early]
        if of:
            print(
                f"    {label:12} {len(of) / len(draws) / seeds:4.0%} "
                f"{mean(each.samples for each in of):5.1f} samples, {mean(each.right for each in of):4.0%} right"
            )
