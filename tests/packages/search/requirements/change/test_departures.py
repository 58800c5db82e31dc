"""What a change lacks of a prompt, and has beside it, is told by names and words; a right one is told nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.search.requirements.change.departures import find_departures
from packages.search.requirements.turn_changes import TurnChanges
from tests.support.repo import Repo, agent_writes

CART = """\
def total(items):
    return sum(items) + 1


def average(items, digits):
    return round(sum(items) / len(items), digits)


def discount(price):
    return price * 2
"""
RIGHT = CART.replace("sum(items) + 1", "sum(items)")
MAIL = "def send(address):\n    return bool(address)\n"
PROMPT = "fix `total`, it adds one too much to the sum"

CASES: dict[str, tuple[str, dict[str, str], str]] = {
    "right": (PROMPT, {"cart.py": RIGHT}, ""),
    "right, with a helper": (
        PROMPT,
        {
            "cart.py": RIGHT.replace("sum(items)\n", "_sum(items)\n", 1)
            + "\n\ndef _sum(items):\n    return sum(items)\n"
        },
        "",
    ),
    "a comment": (PROMPT, {"cart.py": f"# The cart.\n{CART}"}, "only comments, docstrings or layout"),
    "another one": (
        PROMPT,
        {"cart.py": CART.replace("price * 2", "price")},
        "total was not changed, which the prompt names",
    ),
    "another one than the sketched one": (
        'Write what this says:\n\ndef average(items, digits):\n    """Return the mean of the price."""\n',
        {"cart.py": CART.replace("price * 2", "price")},
        "average was not changed, which the prompt names",
    ),
    "one word of many": (
        "make the prompt of the command line keep its history between runs of the editor (see https://mail.org/send)",
        {"mail.py": MAIL.replace("bool(address)", "address")},
        "nothing that the prompt speaks of",
    ),
    "another file": (
        PROMPT,
        {"mail.py": MAIL.replace("bool(address)", "address")},
        "nothing that the prompt speaks of",
    ),
    "one more": (
        PROMPT,
        {"cart.py": RIGHT.replace("price * 2", "price / 2")},
        "changed, and not asked for: discount (cart.py)",
    ),
    "one more file": (
        PROMPT,
        {"cart.py": RIGHT, "mail.py": MAIL.replace("bool(address)", "None")},
        "changed, and not asked for: send (mail.py)",
    ),
    "one less": (
        PROMPT,
        {"cart.py": RIGHT.partition("\n\n\ndef discount")[0] + "\n"},
        "removed, and not asked for: discount",
    ),
    "another signature": (
        PROMPT,
        {"cart.py": RIGHT.replace("(items, digits)", "(items)").replace(", digits)", ")")},
        "takes other arguments, and was not asked for: average",
    ),
    "only tests": (
        PROMPT,
        {"test_cart.py": "def test_total():\n    assert True\n"},
        "only tests were changed",
    ),
    "a name of nothing": (
        PROMPT,
        {"cart.py": RIGHT.replace("sum(items)\n", "add_all(items)\n", 1)},
        "add_all is used in cart.py",
    ),
    "an idle helper": (
        PROMPT,
        {"cart.py": RIGHT + "\n\ndef _sum_all(items):\n    return sum(items)\n"},
        "_sum_all was added to cart.py and is used nowhere",
    ),
    "an idle parameter": (
        PROMPT,
        {"cart.py": RIGHT.replace("def total(items)", "def total(items, tax=0)")},
        "the parameter tax of total in cart.py is not used",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_departures_are_told(tmp_path: Path, name: str) -> None:
    prompt, files, told = CASES[name]
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("mail.py", MAIL)
    repo.write("test_cart.py", "def test_total():\n    pass\n")
    repo.commit_all()
    at = repo.workspace()
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    for path, text in files.items():
        agent_writes(at, path, text)
    found = find_departures(prompt, changes)
    rows = [*found.lacking, *found.beside]
    assert any(told in each for each in rows) if told else not rows, rows
