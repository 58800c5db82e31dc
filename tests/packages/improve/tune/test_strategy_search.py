"""The search for a strategy finds a known best one, in far fewer runs of tasks than drawing strategies needs."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Mapping, Sequence
from statistics import median

import pytest

from agent.session_settings import SessionSettings
from packages.improve.tune.strategy_parts import (
    PARTS,
    TABLES,
    add_lines,
    leave_out_known,
    parse_parts,
    read_lines,
)
from packages.improve.tune.strategy_search import StrategySearch
from sandbox.errors import UserError
from tests.support.cli import CHECKOUT

TASKS = [f"task {number}" for number in range(24)]
WORTH = {
    "strategy.name": '"tree"',
    "strategy.attempts": "5",
    "discipline.phases": '"guide"',
    "verify.review": "true",
}
"""What the best strategy of the scripted world has; attempts count only in a tree."""
HARM = {
    "lead.when": '"never"',
    "verify.requirements": '"model"',
    "actions": '"code"',
    "discipline.rules": '"off"',
}
RUNS = 11


def count_helpful(found: Mapping[str, str]) -> int:
    """Return how many parts of a strategy help, less those that harm."""
    good = {key for key, value in WORTH.items() if found.get(key) == value}
    if "strategy.name" not in good:
        good.discard("strategy.attempts")
    return len(good) - sum(found.get(key) == value for key, value in HARM.items())


def solves(lines: Sequence[str], task: str) -> float:
    """Return whether a strategy solves a task: each part that helps adds a fifth of the tasks."""
    helpful = count_helpful(dict(each.split(" = ", 1) for each in lines))
    return float(random.Random(task).random() < 0.2 * (1 + helpful))


def search(seed: int, most: int = 200, start: Sequence[str] = ()) -> tuple[Mapping[str, str], StrategySearch]:
    async def evaluate(lines: tuple[str, ...], tasks: Sequence[str]) -> Sequence[float]:
        return [solves(lines, each) for each in tasks]

    made = StrategySearch(parts=PARTS, name='"single"', tasks=TASKS, evaluate=evaluate, most=most, seed=seed)
    best = asyncio.run(made.run(start))
    return dict(each.split(" = ", 1) for each in best.rules), made


def count_random_draws(seed: int) -> int:
    """Return how many strategies are drawn until one is as good as the best; each part is drawn or left out."""
    draw = random.Random(seed)
    for count in range(1, 20_000):
        found = {key: draw.choice(values) for key, values in PARTS.items() if draw.random() < 0.5}
        if count_helpful(found) == len(WORTH):
            return count
    raise AssertionError("the best one was not drawn")


def test_the_best_strategy_is_found_in_a_fraction_of_the_evaluations_of_random_search() -> None:
    found = [search(seed) for seed in range(RUNS)]
    assert [best for best, _ in found].count(WORTH) >= 8, "where few tasks tell, screening may miss a part"
    assert all(best.items() <= WORTH.items() and len(best) >= 3 for best, _ in found)
    spent = median(made.spent for _, made in found)
    drawn = median(count_random_draws(seed) for seed in range(RUNS))
    assert spent <= 0.05 * drawn, (spent, drawn)
    assert all(made.screened > len(made.tried) for _, made in found), "most are seen on some tasks only"


def test_what_harms_leaves_a_strategy_and_what_nothing_reads_is_never_in_one() -> None:
    best, made = search(3, start=['actions = "code"', "strategy.attempts = 8"])
    assert best == WORTH
    assert made.tried[0].rules == ('actions = "code"',)
    assert all("strategy.attempts = 5" not in each.rules or len(each.rules) > 1 for each in made.tried)


def test_a_search_is_repeatable_and_its_limit_holds() -> None:
    assert [each.rules for each in search(1, most=9)[1].tried] == [
        each.rules for each in search(1, most=9)[1].tried
    ]
    assert search(1, most=9)[1].spent <= 12, "a generation is finished"
    ran = [each.rules for each in search(1)[1].tried]
    assert len(set(ran)) == len(ran)


def test_of_equal_strategies_the_simpler_one_is_kept() -> None:
    async def evaluate(lines: tuple[str, ...], tasks: Sequence[str]) -> Sequence[float]:
        return [1.0] * len(tasks)

    made = StrategySearch(parts=PARTS, name='"single"', tasks=TASKS, evaluate=evaluate)
    assert asyncio.run(made.run(['actions = "code"'])).rules == ()


def test_every_part_is_a_setting_and_a_strategy_adds_its_lines_to_those_of_a_session() -> None:
    for key, values in PARTS.items():
        read_lines([f"{key} = {each}" for each in values[:1]])
        assert len(set(values)) == len(values)
    session = add_lines(
        SessionSettings(), ['strategy.name = "tree"', "strategy.attempts = 5", 'actions = "code"']
    )
    assert (session.strategy.name, session.strategy.attempts, session.actions) == ("tree", 5, "code")
    parts, name = leave_out_known(PARTS, session)
    assert name == '"tree"'
    assert "5" not in parts["strategy.attempts"]
    assert '"hybrid"' in parts["actions"]


def test_parts_of_a_file() -> None:
    found = parse_parts(
        'actions = ["tools"]\n[strategy]\nname = ["tree", "team"]\nmodels = [["a/b", "c/d"]]\n'
    )
    assert found == {
        "actions": ['"tools"'],
        "strategy.name": ['"tree"', '"team"'],
        "strategy.models": ['["a/b", "c/d"]'],
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('mode = ["full"]', "no part: 'mode'"),
        ('strategy.name = "tree"', "no part: 'strategy.name'"),
        ('strategy.name = ["forest"]', "forest"),
        ("strategy.attempt = [1]", "unknown setting"),
        ("strategy", "no TOML"),
        ('descriptions.edit = ["Edit."]', "no part: 'descriptions.edit'"),
    ],
)
def test_what_is_no_part_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_parts(text)


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ('strategy.name = ["tree"]', "prompts", "no part: 'strategy.name'"),
        ('prompts.commit = ["Hi."]', "prompts", "commit"),
        ("prompts.name = [1]", "prompts", "string"),
        ('prompts.name = ["Hi."]', "descriptions", "no part: 'prompts.name'"),
    ],
)
def test_what_is_none_of_a_kind_is_refused(text: str, kind: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_parts(text, kind)


def test_words_are_added_by_their_names() -> None:
    session = add_lines(SessionSettings(), ['prompts.name = "One."', 'descriptions.edit = "A \\"b\\"."'])
    session = add_lines(session, ['prompts.test = "Two."'])
    assert session.prompts == {"name": "One.", "test": "Two."}
    assert session.descriptions == {"edit": 'A "b".'}
    left, _ = leave_out_known({"prompts.name": ['"One."', '"Three."']}, session)
    assert left == {"prompts.name": ['"Three."']}


def test_the_examples_of_the_page_are_a_strategy_and_parts() -> None:
    text = (CHECKOUT / "docs/tune.md").read_text("utf-8")
    strategy, parts, words = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert add_lines(SessionSettings(), strategy.splitlines()).strategy.name == "tree"
    assert set(parse_parts(parts)) == {"strategy.name", "strategy.models", "lead.after", "models.effort"}
    first, second = words.split("\n\n")
    prompts, descriptions = parse_parts(first, "prompts"), parse_parts(second, "descriptions")
    assert (list(prompts), list(descriptions)) == (["prompts.name"], ["descriptions.edit"])
    assert all(each in text for tables in TABLES.values() for each in tables)
    assert {key.partition(".")[0] for key in PARTS} <= TABLES["strategy"]
