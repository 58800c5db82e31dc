"""Choices from the recorded runs of a pool: the selector beside its baselines."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from packages.search.programs.input_generation import measure_unread
from packages.search.select.agreement import BehaviourTable, GeneratedTest
from packages.search.select.levels import BehaviourLevel
from packages.search.select.selection import Choice, choose_candidate

Record = dict[str, Any]

WEAK = 0.9
"""Models that are right more often leave a selection little to do."""


def list_members(record: Record) -> list[int]:
    """Return the numbers of all candidates."""
    return list(range(len(record["sources"])))


def build_tests(record: Record, kind: str) -> list[GeneratedTest]:
    """Return the "given" or "suggested" checks of a task with what each candidate makes of them."""
    places = {call: place for place, call in enumerate(record["calls"])}
    raw = 0 if kind == "given" else sum(not call for _, call, _, _ in record["given"])
    tests = []
    for text, call, expected, count in record[kind]:
        if call:
            passed = [row[places[call]] == expected for row in record["keys"]]
        else:
            passed = [row[raw] for row in record["raw"]]
            raw += 1
        tests.append(GeneratedTest(text=text, passed=passed, count=count))
    return tests


def choose_by_codet(record: Record, members: Sequence[int]) -> Sequence[int]:
    """Return CodeT's best consensus set: programs that pass the same tests; |programs| × |tests|."""
    tests = build_tests(record, "suggested")
    groups: dict[tuple[bool, ...], list[int]] = defaultdict(list)
    for member in members:
        groups[tuple(each.passed[member] for each in tests)].append(member)
    usable = [row for row in groups if any(row)]
    if not usable:
        return members
    return groups[max(usable, key=lambda row: len(groups[row]) * sum(row))]


def choose_by_most_tests(record: Record, members: Sequence[int]) -> Sequence[int]:
    """Return the programs that pass the most generated tests."""
    tests = build_tests(record, "suggested")
    counts = {member: sum(each.passed[member] for each in tests) for member in members}
    return [member for member in members if counts[member] == max(counts.values())]


def keep_passing(record: Record, members: Sequence[int]) -> Sequence[int]:
    """Return the programs for which all given checks hold, all of them if none does."""
    tests = build_tests(record, "given")
    passing = [member for member in members if all(each.passed[member] for each in tests)]
    return passing or members


def keep_suite(record: Record, members: Sequence[int]) -> Sequence[int]:
    """Return the programs that pass the suite, all of them if none does."""
    return [member for member in members if record["suite"][member]] or members


def choose_by_evidence(record: Record, members: Sequence[int], *, use_tests: bool = True) -> Choice:
    """Return the selector's choice among members, without sizes and opinions.

    The members are renumbered: place i of the ranking is members[i].
    """
    rows = [record["keys"][member] for member in members]
    tests = [
        GeneratedTest(text=each.text, passed=[each.passed[member] for member in members], count=each.count)
        for each in (build_tests(record, "suggested") if use_tests else ())
    ]
    unread = [measure_unread(record["sources"][member], record["function"]) for member in members]
    level = BehaviourLevel(table=BehaviourTable(calls=record["calls"], keys=rows), tests=tests, unread=unread)
    return asyncio.run(choose_candidate(len(members), [level], least_confidence=0.0))


def list_best(record: Record, members: Sequence[int]) -> Sequence[int]:
    """Return the candidates among which the selector makes no difference by evidence."""
    choice = choose_by_evidence(record, members)
    return [members[place] for place in choice.levels[0].left] if choice.levels else members


def rate(record: Record, chosen: Sequence[int]) -> float:
    """Return the share of right ones among chosen candidates: the probability that a draw among them is right."""
    return sum(record["right"][each] for each in chosen) / len(chosen)


def list_weak_models(records: Sequence[Record]) -> set[str]:
    """Return the models that are right in less than `WEAK` of the recorded tasks."""
    found: dict[str, list[bool]] = {}
    for each in records:
        for name, right in zip(each["names"], each["right"], strict=True):
            found.setdefault(name, []).append(right)
    return {name for name, right in found.items() if sum(right) / len(right) < WEAK}


def bootstrap(values: Sequence[float], seed: int = 0, draws: int = 2000) -> tuple[float, float]:
    """Return the 95 % interval of the mean over tasks."""
    draw = random.Random(seed)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]
