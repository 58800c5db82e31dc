"""`patchwright attempts use`: another attempt is taken, and the first one again, whichever strategy made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.session_settings import StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from cli.commands.attempts.session_attempts import load_session_attempts
from cli.commands.attempts.take import take_attempt_in_session
from sandbox.errors import UserError
from tests.support.cli import call, script
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tests.support.strategy_stories import TEST, Story, tell_story
from tests.support.strategy_team import TASK, Team

pytestmark = pytest.mark.slow

STOP = {"text": "I see no more.", "repeat": 3}
TWO_TESTS = TEST + "\n    def test_count(self):\n        self.assertEqual(cart.count([1, 2]), 2)\n"
TWO_FAULTS = (
    "def count(prices):\n    return len(prices) - 1\n\n\ndef total(prices):\n    return -sum(prices)\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A turn that has ended. chosen: the attempt in the files, 0 for the team's own change; other: one to take.

    expected: of each file, its content with the other attempt; fails: whether tests fail with that
    """

    repo: Repo
    chosen: int
    other: int
    expected: dict[str, str]
    fails: bool = True
    command: str = "python3 -m unittest"


def tell_pipeline(folder: Path) -> Told:
    shop = Story.create(folder)
    patch = "cart.py\n<<<<<<< SEARCH\n    return -sum(prices)\n=======\n    return {}\n>>>>>>> REPLACE\n"
    texts = [patch.format(each) for each in ("sum(prices) + 1", "sum(prices)")]
    models = [script(folder, [{"text": text}], f"{place}.json") for place, text in enumerate(texts)]
    tell_story(shop, models[0], StrategySettings(name="pipeline", attempts=2, models=models))
    wrong = "def total(prices):\n    return sum(prices) + 1\n"
    return Told(repo=shop.repo, chosen=2, other=1, expected={"cart.py": wrong})


def tell_evolution(folder: Path) -> Told:
    """The change in the files was put together from two attempts."""
    shop = Story.create(folder, {"cart.py": TWO_FAULTS, "test_cart.py": TWO_TESTS})
    edits = [("len(prices) - 1", "len(prices)"), ("-sum", "sum")]
    turns: list[Sequence[dict[str, Any]]] = [
        [{"calls": [call("edit", path="cart.py", old=old, new=new)]}, STOP] for old, new in edits
    ]
    models = [script(folder, each, f"{place}.json") for place, each in enumerate([*turns, [STOP]])]
    tell_story(shop, models[0], StrategySettings(name="evolve", attempts=4, models=models))
    return Told(repo=shop.repo, chosen=4, other=1, expected={"cart.py": TWO_FAULTS.replace(" - 1", "")})


def tell_team(folder: Path) -> Told:
    """The change in the files is no attempt's: it has those of two steps, and the tests of a role."""
    repo = Repo(folder / "shop")
    total, sender = "def total(prices):\n    return -sum(prices)\n", "def sender():\n    return ''\n"
    repo.write("cart.py", total)
    repo.write("mail.py", sender)
    repo.commit_all()
    strategy = StrategySettings(name="team", attempts=1)

    async def play(runtime: Runtime) -> None:
        await runtime.run_turn(TASK, choose_work(runtime, strategy, TASK))

    settings = Team(folder).build_settings()
    play_session(repo.root, settings, play)
    nodes = load_session_attempts(repo.root, "").tree.nodes
    (cart,) = [number for number, each in nodes.items() if each.begun and each.begun.hint == "cart"]
    expected = {"cart.py": total.replace("-sum", "sum"), "mail.py": sender}
    return Told(
        repo=repo, chosen=0, other=cart, expected=expected, fails=False, command=settings.tools.tests.command
    )


@pytest.mark.parametrize("tell", [tell_pipeline, tell_evolution, tell_team])
def test_another_attempt_is_taken(tmp_path: Path, tell: Callable[[Path], Told]) -> None:
    told = tell(tmp_path)
    repo = told.repo
    before, solved = repo.head(), {path: repo.read(path) for path in told.expected}
    assert repo.git("status", "--porcelain") == "", "the turn was committed"

    def take(number: int) -> int:
        found = load_session_attempts(repo.root, "")
        flags = {"test_command": told.command}
        return take_attempt_in_session(found, number, flags, commit=True, test=True)

    assert load_session_attempts(repo.root, "").tree.applied == told.chosen
    assert take(told.other) == int(told.fails)
    assert {path: repo.read(path) for path in told.expected} == told.expected
    assert (repo.head() == before) is told.fails, "what passes is committed"
    assert load_session_attempts(repo.root, "").tree.applied == told.other
    with pytest.raises(UserError, match="in the files already"):
        take(told.other)
    if told.chosen:
        assert take(told.chosen) == 0
        assert {path: repo.read(path) for path in told.expected} == solved
        assert load_session_attempts(repo.root, "").tree.applied == told.chosen
