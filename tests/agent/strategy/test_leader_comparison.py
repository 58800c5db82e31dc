"""Attempts that their tests leave equal are told apart by more evidence, or honestly not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import ChoiceEvent, End
from agent.session.log import read_events
from agent.session_settings import StrategySettings, VerifySettings
from agent.strategy.strategy_table import choose_work
from agent.team.attach import attach_person, attach_team
from agent.team.person import UserQuestion
from agent.turn.runtime import Runtime
from tests.support.child_sessions import settings_for
from tests.support.cli import call, script
from tests.support.repo import Repo
from tests.support.sessions import play_session

pytestmark = pytest.mark.slow

CART = "def total(prices):\n    return -sum(prices)\n"
WORDS = "def slug(title):\n    return title.split()\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("words.py", WORDS)
    repo.write("test_cart.py", "from cart import total\n\n\ndef test_none():\n    assert total([]) == 0\n")
    repo.commit_all()
    return repo


class Answering:
    """A person who gives one answer. asked: the questions"""

    def __init__(self, says: str) -> None:
        self.says = says
        self.asked: list[UserQuestion] = []

    async def answer(self, question: UserQuestion) -> str:
        self.asked.append(question)
        return self.says


def attempt(
    shop: Repo,
    changes: list[dict[str, str]],
    prompt: str = "mend it",
    person: Answering | None = None,
    **verify: Any,
) -> tuple[End, ChoiceEvent]:
    """Make one attempt per change (contents by path), and let the strategy choose."""
    models = []
    for number, files in enumerate(changes):
        reads = [call("read", path=name) for name in files]
        writes = [call("write", path=name, content=text) for name, text in files.items()]
        turns = [{"calls": reads}, {"calls": writes}, {"text": "It adds up."}]
        models.append(script(shop.root.parent, turns, f"{number}.json"))
    given = StrategySettings(name="sample", attempts=len(models), models=models)
    settings = settings_for(models[0], sandbox="auto")
    tests = replace(settings.tools.tests, command="true") if not verify else settings.tools.tests
    settings = replace(settings, verify=VerifySettings(**verify), tools=replace(settings.tools, tests=tests))

    async def story(runtime: Runtime) -> tuple[End, ChoiceEvent]:
        if person is not None:
            attach_team(runtime, Home.from_environment())
            attach_person(runtime, person)
        end = await runtime.run_turn(prompt, choose_work(runtime, given, prompt))
        (choice,) = [each for each in read_events(runtime.session.folder) if isinstance(each, ChoiceEvent)]
        return end, choice

    return play_session(shop.root, settings, story)  # type: ignore[no-any-return]


def test_behavior_decides_between_attempts_that_the_tests_leave_equal(shop: Repo) -> None:
    bodies = (
        "    return sum(prices) + 1\n",
        "    return sum(prices)\n",
        "    amount = 0\n    for each in prices:\n        amount += each\n    return amount\n",
    )
    changes = [{"cart.py": f"def total(prices):\n{body}"} for body in bodies]
    end, choice = attempt(shop, changes)
    assert end.outcome == "done"
    assert choice.attempt == 2, choice
    assert choice.order == [2, 3, 1]
    said = "equal by the tests; behaviour: 2 of 3 behave alike; size: 8 lines; to be told: total([]): 0 or 1?"
    assert choice.reason == said
    assert choice.confidence is not None
    assert shop.read("cart.py") == "def total(prices):\n    return sum(prices)\n"


ONE_MORE = [
    {"cart.py": "def total(prices):\n    return sum(prices)\n"},
    {"cart.py": "def total(prices):\n    return sum(prices) + 1\n"},
]


@pytest.mark.parametrize(("says", "wanted"), [("1", 2), ("0", 1)])
def test_a_person_is_asked_one_question_where_nothing_else_tells(shop: Repo, says: str, wanted: int) -> None:
    person = Answering(says)
    _, choice = attempt(shop, ONE_MORE, person=person)
    (question,) = person.asked
    assert "total([]): " in question.question
    assert sorted(question.options) == ["0", "1"]
    assert choice.attempt == wanted
    assert choice.reason.endswith(f"; as a test: assert total([]) == {says}")
    assert shop.read("cart.py") == ONE_MORE[wanted - 1]["cart.py"]


def test_without_an_answer_the_evidence_chooses(shop: Repo) -> None:
    _, choice = attempt(shop, ONE_MORE, person=Answering(""))
    assert "; to be told: total([])" in choice.reason


def test_nobody_is_asked_what_the_prompt_tells(shop: Repo) -> None:
    person = Answering("1")
    _, choice = attempt(shop, ONE_MORE, "mend cart.py: total([]) must return 0", person)
    assert (person.asked, choice.attempt) == ([], 1)


def test_a_result_that_the_prompt_tells_decides_against_the_majority(shop: Repo) -> None:
    bodies = ("    return sum(prices)\n", "    return sum(prices) or 0\n", "    return max(0, sum(prices))\n")
    changes = [{"cart.py": f"def total(prices):\n{body}"} for body in bodies]
    _, choice = attempt(shop, changes, "mend cart.py: total([-5]) must return 0")
    assert choice.attempt == 3, choice
    assert choice.reason == "equal by the tests; checks: 1 of 1 checks hold"


def test_an_example_of_a_sketched_function_decides_against_the_majority(shop: Repo) -> None:
    bodies = ("    return sum(prices)\n", "    return sum(prices) or 0\n", "    return max(0, sum(prices))\n")
    changes = [{"cart.py": f"def total(prices):\n{body}"} for body in bodies]
    sketch = 'mend cart.py:\n\ndef total(prices):\n    """Add up.\n\n    total([-5]) ==> 0\n    """\n'
    _, choice = attempt(shop, changes, sketch)
    assert (choice.attempt, choice.reason) == (3, "equal by the tests; checks: 1 of 1 checks hold")


def test_inputs_are_made_from_a_signature_where_no_test_calls(shop: Repo) -> None:
    head = "def slug(title: str) -> list[str]:\n"
    bodies = ("title.split()", "list(title.split())", "title.split(' ')")
    changes = [{"words.py": f"{head}    return {body}\n"} for body in bodies]
    _, choice = attempt(shop, changes)
    assert "behaviour: 2 of 3 behave alike" in choice.reason
    assert "; to be told: slug(''): [] or ['']?" in choice.reason


def test_an_attempt_that_leaves_the_reproduced_bug_loses(shop: Repo) -> None:
    report = (
        "total is wrong:\n\n```python\n>>> from cart import total\n>>> total([2, 3])\n-5\n```\n\n"
        "It should be 5. Fix this bug."
    )
    changes = [
        {"cart.py": CART.replace("-sum", "-1 * sum")},
        {"cart.py": "def total(prices):\n    amount = sum(prices)\n    return amount\n"},
    ]
    end, choice = attempt(shop, changes, report, reproduce=True)
    assert choice.attempt == 2
    assert (choice.reason, end.outcome) == ("its tests came out best", "done"), "each ran the script"


def test_the_same_change_is_not_compared(shop: Repo) -> None:
    _, choice = attempt(shop, [{"cart.py": CART.replace("-", "")}] * 2)
    assert (choice.attempt, choice.reason) == (1, "2 attempts made the same change")
    assert (choice.confidence, choice.abstained) == (None, "")


def test_it_says_when_the_evidence_is_too_weak(shop: Repo) -> None:
    changes = [
        {"words.py": "import re\n\n\ndef slug(title):\n    return re.split(' ', title)\n"},
        {"cart.py": CART.replace("-", "")},
    ]
    end, choice = attempt(shop, changes)
    assert end.outcome == "done", "the tests pass, so it is applied"
    assert choice.confidence == 0.45
    assert "too weak" in choice.abstained
