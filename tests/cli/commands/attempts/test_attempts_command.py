"""`patchwright attempts`: the attempts of a turn that has ended are listed, compared, and another one is taken."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.events import ChoiceEvent, End, Prompt
from agent.session.log import Session, read_events
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.person.attempt_tree import AttemptTree
from agent.strategy.person.taken_attempt import prepare_taken_attempt
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from tests.support.cli import CHECKOUT, Result, call, run, script
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tests.support.strategy_stories import Story, tell_story

pytestmark = pytest.mark.slow

TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""
CART = """def count(prices):
    return len(prices) - 1


def total(prices):
    return -sum(prices)
"""
HALF = CART.replace(" - 1", "")
ONE = {"calls": [call("edit", path="cart.py", old="len(prices) - 1", new="len(prices)")]}
OTHER = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
STOP = {"text": "I see no more.", "repeat": 3}
TESTS = ("--tests", "python3 -m unittest")


def make_turn(folder: Path, name: str, turns: Sequence[Sequence[dict[str, Any]]]) -> Story:
    """Let a strategy make an attempt by each of some scripts; the best is committed."""
    shop = Story.create(folder, {"cart.py": CART, "test_cart.py": TEST, ".gitignore": "__pycache__/\n"})
    models = [script(folder, each, f"{number}.json") for number, each in enumerate(turns)]
    tell_story(shop, models[0], StrategySettings(name=name, attempts=len(models), models=models))
    return shop


def ask(shop: Story, *words: str) -> Result:
    return run("attempts", *words, cwd=shop.repo.root)


def read_json(shop: Story) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask(shop, "--json").out)
    return found


def test_the_tree_is_listed_and_another_attempt_taken_and_taken_back(tmp_path: Path) -> None:
    shop = make_turn(tmp_path, "tree", [[ONE, STOP], [OTHER, STOP], [STOP]])
    solved = shop.repo.read("cart.py")
    listed = ask(shop, shop.log.name[-4:])
    assert listed.code == 0, listed.err
    assert ask(shop, "--session", shop.log.name[-4:]).out == listed.out
    head, *rows = listed.out.splitlines()
    assert head == f"session {shop.log.name}, tree: mend the total"
    assert [row.split(" · ")[0] for row in rows] == ["· 1: failed", "✔   2: passed", "· 3: nothing changed"]
    assert "mends 1, breaks 0 · own way · 2 lines" in rows[0]
    assert "in your files · mends 2, breaks 0 · from 1" in rows[1]
    found = read_json(shop)
    assert (found["chosen"], found["strategy"], found["session"]) == (2, "tree", shop.log.name)
    second = found["attempts"][1]
    assert (second["number"], second["parent"], second["depth"], second["mended"]) == (2, 1, 1, 2)

    shown = ask(shop, "show", "1")
    assert "attempt 2 was chosen" in shown.out
    assert "+    return len(prices)\n" in shown.out
    compared = ask(shop, "diff", "1", "2")
    assert "-    return -sum(prices)\n+    return sum(prices)\n" in compared.out, "only what differs"
    assert "len(prices) - 1" not in compared.out

    taken = ask(shop, "use", "1", *TESTS)
    assert taken.code == 1, "its tests fail, as the turn's would"
    assert shop.repo.read("cart.py") == HALF
    assert shop.repo.show("cart.py") == solved, "what fails is not committed"
    assert read_json(shop)["chosen"] == 1
    choices = [each for each in read_events(shop.log) if isinstance(each, ChoiceEvent)]
    assert [(each.attempt, each.by) for each in choices] == [(2, "strategy"), (1, "person")]
    assert ask(shop, "use", "1").code == 3, "it is there"
    assert ask(shop, "use", "3").err.startswith("patchwright: attempt 3 changed nothing\n")

    assert run("undo", cwd=shop.repo.root).code == 0
    assert shop.repo.read("cart.py") == solved
    assert read_json(shop)["chosen"] == 2
    assert ask(shop, "use", "2").code == 3

    page = (CHECKOUT / "docs/strategies.md").read_text().partition("## Your part")[2]
    documented = re.findall(r"^patchwright (attempts[^#\n]*)", page, re.MULTILINE)
    codes = {"use": 3, "guide": 2, "stop": 2}  # it is in the files, and the turn has ended
    for words in map(shlex.split, documented):
        assert run(*words, cwd=shop.repo.root).code == codes.get(words[1] if words[1:] else "", 0), words
    assert len(documented) == 6


def test_files_that_the_person_changed_are_left_alone(tmp_path: Path) -> None:
    shop = make_turn(tmp_path, "sample", [[ONE, STOP], [ONE, OTHER, STOP]])
    changed = shop.repo.read("cart.py") + "# mine\n"
    shop.repo.write("cart.py", changed)
    events = len(list(read_events(shop.log)))
    refused = ask(shop, "use", "1")
    assert refused.code == 13
    assert refused.err.startswith("patchwright: nothing was changed: cart.py changed since that attempt was")
    assert refused.err.count("\n") == 2
    assert shop.repo.read("cart.py") == changed
    assert len(list(read_events(shop.log))) == events, "and nothing was logged"

    shop.repo.git("checkout", "--", "cart.py")
    held = Session.open(shop.log)
    try:
        busy = ask(shop, "use", "1")
    finally:
        held.close()
    assert busy.code == 2
    assert "is open in another process" in busy.err
    taken = ask(shop, "use", "1", "--no-test")
    assert (taken.code, shop.repo.read("cart.py")) == (0, HALF), taken.err
    last = [each for each in read_events(shop.log) if isinstance(each, End)][-1]
    assert (last.commit, last.verification) == ("", "not-needed: no tests were wanted")
    again = ask(shop, "use", "2", *TESTS)
    assert again.code == 0, again.err
    assert shop.repo.git("status", "--porcelain") == "", "the same as before: nothing is left to commit"


def test_mistakes_are_one_line_and_a_hint(tmp_path: Path) -> None:
    empty = Repo(tmp_path / "empty")
    empty.commit_all()
    none = run("attempts", cwd=empty.root)
    assert (none.code, none.out) == (3, "")
    assert none.err == (
        "patchwright: no session of this project has made attempts\n  Make some: patchwright run PROMPT --attempts 3\n"
    )
    shop = make_turn(tmp_path, "sample", [[ONE, OTHER, STOP]])
    bad = ask(shop, "show", "7")
    assert bad.code == 2
    assert bad.err.splitlines()[0] == "patchwright: no attempt 7: there is 1"
    assert ask(shop, "nowhere").err.splitlines()[0] == "patchwright: no session 'nowhere' in this project"
    assert ask(shop, "diff", "1", "x").code == 2


def test_a_turn_that_takes_an_attempt_goes_on_after_a_kill(tmp_path: Path) -> None:
    """Killed right after its prompt was logged: nothing had changed yet."""
    shop = make_turn(tmp_path, "sample", [[ONE, OTHER, STOP], [ONE, STOP]])
    solved = shop.repo.read("cart.py")

    async def begin(runtime: Runtime) -> None:
        tree = AttemptTree.from_events(runtime.session.replayed)
        work = await prepare_taken_attempt(runtime, tree, 2)
        runtime.session.append(Prompt(text="Use attempt 2 of: mend the total", strategy=dict(work.settings)))

    settings = SessionSettings(model="offline", access=AccessSettings(sandbox="unconfined"))
    play_session(shop.repo.root, settings, begin, session=shop.log.name)
    assert shop.repo.read("cart.py") == solved
    resumed = run("resume", shop.log.name, *TESTS, cwd=shop.repo.root)
    assert resumed.code == 1, resumed.err
    assert shop.repo.read("cart.py") == HALF
    assert read_json(shop)["chosen"] == 2
