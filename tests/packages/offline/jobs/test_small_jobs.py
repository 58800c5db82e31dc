"""Jobs of a small model over the wire: each with a right answer, and with a wrong one that ends honestly."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.context.system_prompt import read_prompt
from agent.events import End, Event, MessageEvent
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.session_request import SessionRequest
from agent.session_settings import JobPrompt, SessionSettings
from agent.turn.lead_monitors import attach_lead
from packages.offline.jobs.desk import DATA
from sandbox.access_settings import AccessSettings
from sandbox.policy.decision import Approval
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

SHOP = '''\
"""Prices."""

LIMIT = 50


def clamp(value, low, high):
    return max(low, min(value, high))


def discount(prices):
    if len(prices) > 2:
        return 0.1
    return 0


class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        return sum(self.prices) * (1 - discount(self.prices))
'''
TESTS = """\
from shop import Cart, clamp


def test_total():
    assert Cart([10, 20]).total() == 30


def test_clamp():
    assert clamp(5, 0, 3) == 3
"""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("shop.py", SHOP)
    repo.write("test_shop.py", TESTS)
    repo.commit_all()
    return repo


def play(
    shop: Repo,
    prompt: str,
    replies: Sequence[str],
    window: int = 8_192,
    prompts: dict[JobPrompt, str] | None = None,
) -> tuple[End, list[Event], list[str]]:
    """Return the end of a turn, its events, and the questions that the server got; the last reply is repeated.

    prompts: those of the settings; with them the questions have the system prompt before them
    """
    turns = [{"text": each} for each in replies[:-1]]
    last = [{"text": replies[-1], "repeat": 20}] if replies else [{"text": "ok", "repeat": 20}]
    with Loopback([*turns, *last]) as server:
        settings = SessionSettings(
            model="openai/small",
            api_base=server.url,
            models=ModelSettings(catalog={"openai/small": CatalogSettings(window=window)}),
            access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined"),
            commit="never",
            prompts=prompts or {},
        )

        async def run() -> tuple[End, list[Event]]:
            runtime = assemble_runtime(
                settings, SessionRequest(working=shop.root, env={}), Home.from_environment()
            )
            attach_lead(runtime)
            events: list[Event] = []
            runtime.session.subscribe(events.append)
            end = await runtime.run_turn(prompt)
            await runtime.close()
            return end, events

        end, events = asyncio.run(run())
        sent = [[str(one["content"]) for one in each.body["messages"]] for each in server.requests]
        asked = ["\n".join(each[0:2] if prompts else each[-1:]) for each in sent]
    return end, events, asked


def run_tests(shop: Repo, *arguments: str) -> int:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *arguments], cwd=shop.root, capture_output=True, check=False
    )
    return ran.returncode


def test_a_prompt_of_the_settings_takes_the_place_of_the_built_in_one(shop: Repo) -> None:
    question = "How is the discount of a cart computed?"
    _, _, asked = play(shop, question, ["More than two prices get 0.1 [1]."], prompts={"answer": " Answer. "})
    assert asked[0].startswith(f"Answer. {DATA}\n")
    _, _, asked = play(shop, question, ["More than two prices get 0.1 [1]."], prompts={"test": "Write."})
    assert asked[0].startswith(f"{read_prompt('jobs/answer.md')}\n")


# ── questions ──────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_names_the_place_that_its_excerpt_is_from(shop: Repo) -> None:
    end, events, asked = play(
        shop, "How is the discount of a cart computed?", ["More than two prices get 0.1 [1]."]
    )
    assert end.outcome == "done"
    assert len(asked) == 1
    assert "[1] shop.py — discount\ndef discount(prices):" in asked[0]
    assert end.summary.startswith("More than two prices get 0.1 (shop.py:10).")
    assert [each.text for each in events if isinstance(each, MessageEvent)] == [end.summary]


@pytest.mark.parametrize(
    "invented",
    [
        "It is in `compute_rebate` [1].",
        "See pricing/rebate.py for it.",
        "It is in shop.py:900 [1].",
        "It is told in [8].",
        "It is on line 14.",
        "The Cart calls apply_discount() [1].",
    ],
)
def test_a_place_that_does_not_exist_is_never_shown(shop: Repo, invented: str) -> None:
    end, _, _ = play(
        shop, "How is the discount of a cart computed?", [f"Some prices get 0.1 [1]. {invented}"]
    )
    assert "Some prices get 0.1 (shop.py:10)." in end.summary
    assert invented not in end.summary
    assert "(Left out: 1 sentence that names a place which does not exist.)" in end.summary
    end, _, asked = play(shop, "How is the discount of a cart computed?", [invented])
    assert end.outcome != "done"
    assert len(asked) == 2
    assert "Not answered: the model named places that do not exist" in end.summary
    assert "- shop.py:10: `discount`" in end.summary


def test_a_reply_of_a_place_alone_is_no_answer(shop: Repo) -> None:
    end, _, asked = play(shop, "How is the discount of a cart computed?", ["[1]"])
    assert end.outcome != "done"
    assert len(asked) == 2


def test_where_a_name_is_defined_is_looked_up(shop: Repo) -> None:
    end, _, asked = play(shop, "Where is `Cart.total` defined?", [])
    assert (end.outcome, asked) == ("done", [])
    assert "shop.py:20" in end.summary


# ── docstrings ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_docstring_is_put_in_its_place_and_nothing_else_changes(shop: Repo) -> None:
    end, _, asked = play(
        shop, "add a docstring to `Cart.total`", ["Return the sum of the `prices` less the discount."]
    )
    assert end.outcome == "done"
    assert len(asked) == 1
    text = shop.read("shop.py")
    assert '    def total(self):\n        """Return the sum of the `prices` less the discount."""\n' in text
    assert [line for line in text.splitlines() if '"""Return' not in line] == SHOP.splitlines()


@pytest.mark.parametrize(
    "wrong",
    [
        "Clamp a value.\n\nArgs:\n    value: the value\n    step: its step",
        "Clamp a value by `bounded_value`.",
        "Clamp.",
        "def clamp(value, low, high):\n    return value",
    ],
)
def test_a_docstring_that_speaks_of_what_is_not_there_is_not_written(shop: Repo, wrong: str) -> None:
    end, _, asked = play(shop, "write a docstring for clamp", [wrong])
    assert end.outcome == "not-achieved"
    assert len(asked) == 3
    assert end.summary.startswith("Not done: the model wrote no docstring that holds")
    assert shop.read("shop.py") == SHOP


# ── tests ──────────────────────────────────────────────────────────────────────────────────────────────

GOOD_TEST = """```python
import pytest
from shop import clamp

def test_it():
    assert clamp(5, 0, 3) == 3
    assert clamp(-1, 0, 3) == 0
    assert clamp(1, 0, 3) == 2
```"""


def test_a_test_keeps_the_assertions_that_hold(shop: Repo) -> None:
    end, _, _ = play(shop, "write a test for clamp", [GOOD_TEST])
    assert end.outcome == "done"
    assert "1 of the model's assertions did not hold" in end.summary
    text = shop.read("test_shop.py")
    assert text.startswith(TESTS.rstrip())
    assert "def test_clamp_2():\n    assert clamp(5, 0, 3) == 3\n    assert clamp(-1, 0, 3) == 0\n" in text
    assert "== 2" not in text
    assert run_tests(shop) == 0


def test_a_test_of_another_module_gets_a_file_that_imports_it(shop: Repo) -> None:
    shop.write("bill.py", "def add_tax(price):\n    return price * 2\n")
    shop.commit_all()
    end, _, _ = play(
        shop, "add a test for add_tax", ["```python\ndef test_x():\n    assert add_tax(2) == 4\n```"]
    )
    assert end.outcome == "done"
    assert run_tests(shop, "test_bill.py") == 0
    assert shop.read("test_bill.py").startswith("from bill import add_tax\n")


@pytest.mark.parametrize(
    "wrong",
    [
        "```python\ndef test_clamp():\n    assert clamp(1, 0, 3) == 7\n```",
        "```python\ndef test_clamp():\n    assert callable(clamp)\n```",
        "```python\ndef test_clamp():\n    assert 1 == 1\n```",
        "You could test its bounds.",
    ],
)
def test_a_test_that_proves_nothing_is_not_written(shop: Repo, wrong: str) -> None:
    end, _, asked = play(shop, "write a test for clamp", [wrong])
    assert end.outcome == "not-achieved"
    assert len(asked) == 3
    assert "Not done: the model wrote no test that holds" in end.summary
    assert shop.read("test_shop.py") == TESTS


# ── changes ────────────────────────────────────────────────────────────────────────────────────────────

CHANGE = "change clamp so that it raises ValueError if low is above high"
CHANGED = """```python
def clamp(value, low, high):
    if low > high:
        raise ValueError("low is above high")
    return max(low, min(value, high))
```"""


def test_a_function_is_changed_as_a_sentence_says(shop: Repo) -> None:
    end, _, asked = play(shop, CHANGE, [CHANGED])
    assert end.outcome == "done"
    assert len(asked) == 1
    assert "    if low > high:\n        raise ValueError" in shop.read("shop.py")
    assert run_tests(shop) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        "```python\ndef clamp(value, low, high):\n    return max(low, min(value, high))\n```",
        "```python\ndef clamp(value, low, high):\n    raise ValueError\n```",
        "```python\ndef clamp(value, low, high)\n    return 1\n```",
        "You should add a check.",
    ],
)
def test_a_change_that_breaks_a_test_or_is_none_is_not_written(shop: Repo, wrong: str) -> None:
    end, _, asked = play(shop, CHANGE, [wrong])
    assert end.outcome == "not-achieved"
    assert len(asked) == 3
    assert "Not done: the model wrote no clamp that holds" in end.summary
    assert shop.read("shop.py") == SHOP


def test_a_change_of_a_file_of_windows_is_tested_too(shop: Repo) -> None:
    (shop.root / "shop.py").write_bytes(SHOP.replace("\n", "\r\n").encode())
    end, _, _ = play(shop, CHANGE, ["```python\ndef clamp(value, low, high):\n    raise ValueError\n```"])
    assert end.outcome == "not-achieved"
    end, _, _ = play(shop, CHANGE, [CHANGED])
    assert end.outcome == "done"
    content = (shop.root / "shop.py").read_bytes()
    assert b"    if low > high:\r\n" in content
    assert content.count(b"\n") == content.count(b"\r\n")


# ── names and symbols ──────────────────────────────────────────────────────────────────────────────────


def test_a_rename_needs_no_model(shop: Repo) -> None:
    end, _, asked = play(shop, "rename discount to find_rate", [])
    assert (end.outcome, asked) == ("done", [])
    assert "find_rate(self.prices)" in shop.read("shop.py")
    assert "def find_rate(prices):" in shop.read("shop.py")
    assert run_tests(shop) == 0


def test_the_model_only_names(shop: Repo) -> None:
    end, _, asked = play(shop, "give clamp a better name", ["`limit_value`"])
    assert end.outcome == "done"
    assert len(asked) == 1
    assert "import Cart, limit_value" in shop.read("test_shop.py")
    assert run_tests(shop) == 0


def test_a_name_that_means_something_else_is_not_taken(shop: Repo) -> None:
    end, _, _ = play(shop, "rename clamp to discount", [])
    assert end.outcome == "not-achieved"
    assert "discount is defined already, at shop.py:10" in end.summary
    end, _, asked = play(shop, "give clamp a better name", ["I would call it something that tells more."])
    assert end.outcome == "not-achieved"
    assert len(asked) == 3
    shop.write("other.py", "def clamp():\n    return 1\n")
    end, _, _ = play(shop, "rename clamp to limit_value", [])
    assert "defined several times" in end.summary
    assert shop.read("shop.py") == SHOP


def test_a_parameter_is_added_without_the_model(shop: Repo) -> None:
    end, _, asked = play(shop, "add a parameter strict=False to clamp", [])
    assert (end.outcome, asked) == ("done", [])
    assert "def clamp(value, low, high, strict=False):" in shop.read("shop.py")
    end, _, _ = play(shop, "add a parameter low=1 to clamp", [])
    assert "clamp has a parameter low" in end.summary


# ── commit messages ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "first"),
    [
        ("Raise the limit of prices to 60", "Raise the limit of prices to 60"),
        ("Sure! Here is what I would do for you.", None),
    ],
)
def test_a_message_fits_the_change(shop: Repo, reply: str, first: str | None) -> None:
    shop.write("shop.py", SHOP.replace("LIMIT = 50", "LIMIT = 60"))
    end, _, asked = play(shop, "write a commit message", [reply])
    assert "+LIMIT = 60" in asked[0]
    assert end.outcome == "done"
    subject = end.summary.partition("\n")[0]
    assert subject == first if first else ("LIMIT" in subject or "shop" in subject)
    assert shop.git("log", "--oneline").count("\n") <= 1, "nothing is committed"


def test_without_a_change_there_is_no_message(shop: Repo) -> None:
    end, _, asked = play(shop, "write a commit message", ["Change things"])
    assert (end.outcome != "done", asked) == (True, [])
    assert "nothing is changed since the last commit" in end.summary


# ── who is asked ───────────────────────────────────────────────────────────────────────────────────────


def test_a_strong_model_gets_its_prompt_as_before(shop: Repo) -> None:
    end, events, asked = play(
        shop, "How is the discount of a cart computed?", ["In discount."], window=200_000
    )
    assert end.summary == "In discount."
    assert len(asked) == 1
    assert "[1]" not in asked[0]
    assert sum(isinstance(each, MessageEvent) for each in events) == 1
